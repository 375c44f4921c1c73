/** The roles file of docs/persons.md: a directory for all, own absences, those of the people that one manages, and HR. */
export const ROLES_FILE = `me       Employees?WorkEmail={email}          # exactly one row, or the person has no rights

view     Directory  Employees?EmploymentEnd=&fields=Id,DisplayName,JobTitle,Department,Location,WorkEmail,Manager

role     employee                             # everybody with a row
  read   Directory
  read   Employees?Id={me.Id}
  read   Absences?EmployeeId={me.Id}
  create Absences?EmployeeId={me.Id}&Status=Requested&fields=Type,Reason,Start,End,Period
  update Absences?EmployeeId={me.Id}&Status=Requested&fields=Status becomes Status=Cancelled

role     manager   when Employees?ManagerId={me.Id}        # a list that has a row: nobody maintains a group
  read   Absences?EmployeeId.ManagerId={me.Id}
  update Absences?EmployeeId.ManagerId={me.Id}&Status=Requested&fields=Status becomes Status[]=Approved&Status[]=Declined

role     hr        when {groups} has hr
  read   Companies
  read   Employees
  write  Employees

key      payroll
  read   Absences?Status=Approved&fields=EmployeeId,Start,End
  read   Employees?fields=EmployeeNumber,CompanyId
`
