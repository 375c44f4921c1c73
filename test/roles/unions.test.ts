// What rights of several roles mean together: checked when the file is read, since any of them may apply to one person. D101
import { describe, expect, test } from 'bun:test'
import { parseRoles } from '../../src/roles/roles.ts'
import { entities } from '../support/entities.ts'

const ME = 'me Employees?WorkEmail={email}'
const parse = (...lines: string[]) => parseRoles([ME, ...lines].join('\n'), entities)
const accepts = (lines: string[]) => expect(() => parse(...lines)).not.toThrow()
const refuses = (lines: string[], message: string) => expect(() => parse(...lines)).toThrow(message)

describe('rights of roles to read one collection must have the same fields', () => {
  test.each<[string[], string]>([
    [
      ['role a', '  read Employees?Id={me.Id}', 'role b', '  read Employees?fields=DisplayName'],
      'line 5: it reads other properties of Employees than the right in line 3. All rights of roles to read Employees have the same fields; a second way to see the same rows is a view.',
    ],
    [
      ['role a', '  read Employees?Id={me.Id}&fields=Id,DisplayName', '  read Employees?fields=Id'],
      'line 4: it reads other properties of Employees than the right in line 3.',
    ],
    [
      ['view V Employees?fields=Id,Department', 'role a', '  read V', 'role b', '  read V?Id={me.Id}&fields=Id'],
      'line 6: it reads other properties of V than the right in line 4.',
    ],
  ])('%j is refused', refuses)

  test('rights to read an entity and a view of it may have different fields', () =>
    accepts(['view V Employees?fields=Id,Department', 'role a', '  read V', '  read Employees?Id={me.Id}']))
})

const SETS_EMPLOYEE = '  create Absences?fields=EmployeeId,Reason'
const READS_ABSENCES = '  read Absences'
const READS_EMPLOYEES = '  read Employees'
const LEARNS = 'who sets EmployeeId and sees Employee learns DisplayName of all Employees'

describe('rights of several roles that together could reveal a copied name', () => {
  test.each<[string, string[]]>([
    ['the reference is set by one role and the copy seen by another', ['role a', SETS_EMPLOYEE, 'role b', READS_ABSENCES]],
    ['one role sets the reference and sees the copy', ['role a', SETS_EMPLOYEE, READS_ABSENCES]],
    [
      'employees are read by a third role, which the person may not have',
      ['role a', SETS_EMPLOYEE, READS_ABSENCES, 'role c when {groups} has c', READS_EMPLOYEES],
    ],
    [
      'employees are read by a claim that the person may not have',
      ['role a', SETS_EMPLOYEE, READS_ABSENCES, '  read Employees?CompanyId={company}'],
    ],
    [
      'employees are read by a property of the own row that may be empty',
      ['role a', SETS_EMPLOYEE, READS_ABSENCES, '  read Employees?CompanyId={me.CompanyId}'],
    ],
    ['employees are read without their names', ['role a', SETS_EMPLOYEE, READS_ABSENCES, '  read Employees?fields=Id']],
    [
      'a view shows more employees without their names',
      [
        'view V Employees?fields=Id',
        'role a',
        SETS_EMPLOYEE,
        READS_ABSENCES,
        '  read Employees?Id={me.Id}',
        'role b',
        '  read V',
      ],
    ],
  ])('are refused: %s', (_name, lines) => refuses(lines, LEARNS))

  test.each<[string, string[]]>([
    ['no role sees the copy', ['role a', SETS_EMPLOYEE]],
    ['the same role reads employees', ['role a when {groups} has a', SETS_EMPLOYEE, READS_ABSENCES, READS_EMPLOYEES]],
    ['everybody reads employees', ['role a when {groups} has a', SETS_EMPLOYEE, READS_ABSENCES, 'role all', READS_EMPLOYEES]],
    ['employees are read by the id of the own row', ['role a', SETS_EMPLOYEE, READS_ABSENCES, '  read Employees?Id={me.Id}']],
    [
      'employees are read by a claim that the right to create has, too',
      [
        'role a',
        '  create Absences?EmployeeId.CompanyId={company}&fields=EmployeeId,Reason',
        READS_ABSENCES,
        '  read Employees?CompanyId={company}',
      ],
    ],
    ['the right sets the reference itself', ['role a', '  create Absences?EmployeeId={me.Id}&fields=Reason', READS_ABSENCES]],
  ])('are accepted: %s', (_name, lines) => accepts(lines))
})

describe('a person who may change one of two values that a rule compares must read both, in each row that she may change', () => {
  const CHANGES = '  update Absences?EmployeeId={me.Id}&fields=Start'
  test.each<[string, string[], string]>([
    [
      'nobody reads the values',
      ['role a', CHANGES],
      'End must not be before Start, so who may change one must be able to read both',
    ],
    [
      'only another role reads the values',
      ['role a', CHANGES, 'role b when {groups} has b', READS_ABSENCES],
      'must be able to read both',
    ],
    [
      'only other rows are read',
      ['role a', CHANGES, '  read Absences?Status=Approved'],
      'must be able to read the row: add Status=Approved',
    ],
    [
      'rows are read by another variable',
      ['role a', CHANGES, '  read Absences?EmployeeId={me.ManagerId}'],
      'must be able to read both',
    ],
  ])('the roles file is refused: %s', (_name, lines, message) => refuses(lines, message))

  test.each<[string, string[]]>([
    ['the same role reads the same rows', ['role a', CHANGES, '  read Absences?EmployeeId={me.Id}']],
    [
      'everybody reads the same rows',
      ['role a when {groups} has a', CHANGES, 'role all', '  read Absences?Status=A', '  read Absences?EmployeeId={me.Id}'],
    ],
  ])('the roles file is accepted: %s', (_name, lines) => accepts(lines))
})

test('a person who may set one source of a computed property must read the other sources in each row that she may change', () => {
  const lines = [
    'role a',
    '  update Employees?Id={me.Id}&fields=KnownAs',
    'role b when {groups} has b',
    '  read Absences?fields=Employee,Start',
  ]
  refuses(lines, 'who sets KnownAs and sees Employee learns FirstName and LastName')
  accepts([...lines, 'role all', '  read Employees?Id={me.Id}'])
})
