// A company whose people sign in: their rows, roles and tokens.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import type { Issuer, PersonClaims } from './issuer.ts'
import { temporaryFolder } from './process.ts'
import { ROLES_FILE } from './rolesFile.ts'

/** The roles of docs/persons.md, but managers decide for all below them, and employees change their phone. */
export const DEEP_ROLES = `${ROLES_FILE.replaceAll('EmployeeId.ManagerId=', 'EmployeeId.ManagerId[under]=')}
role     phones
  update Employees?Id={me.Id}&fields=WorkPhone,WorkMobile
`

/** Employees by id, with the id of the manager. Eve's address is empty, Nil has no address, and two people share an address. */
const EMPLOYEES: readonly (readonly [id: number, name: string, email: string | null, manager: number | null])[] = [
  [1, 'Max', 'max@acme.example', null],
  [2, 'Mia', 'mia@acme.example', 1],
  [3, 'Ann', 'ann@acme.example', 2],
  [4, 'Bob', 'bob@acme.example', 2],
  [5, 'Hanna', 'hanna@acme.example', null],
  [6, 'Eve', '', null],
  [7, 'Nil', null, null],
  [8, 'Tim', 'twin@acme.example', null],
  [9, 'Tom', 'twin@acme.example', null],
  [10, 'Old', 'old@acme.example', null],
]

/** Absences by their id, of an employee. */
const ABSENCES: readonly (readonly [id: number, employee: number, status: string])[] = [
  [1, 3, 'Requested'],
  [2, 4, 'Approved'],
  [3, 2, 'Requested'],
  [4, 1, 'Approved'],
  [5, 3, 'Declined'],
  [6, 6, 'Requested'],
  [7, 4, 'Requested'],
]

/** Replaces all rows by those of the company. */
export async function insertPeople(sql: postgres.Sql): Promise<void> {
  await sql.begin(async (transaction) => {
    // The rows are deleted, not truncated, because a truncate would end copies in memory.
    for (const table of ['absence', 'employee', 'company']) await transaction`delete from ${transaction(table)}`
    for (const [id, name, email] of EMPLOYEES)
      await transaction`
        insert into employee (id, first_name, last_name, work_email, job_title, employment_end) overriding system value
        values (${id}, ${name}, 'Lee', ${email}, 'Clerk', ${name === 'Old' ? '2020-01-31' : null})`
    for (const [id, , , manager] of EMPLOYEES) if (manager !== null) await setManager(transaction, id, manager)
    for (const [id, employee, status] of ABSENCES)
      await transaction`
        insert into absence (id, status, employee_id, employee_key, start, "end") overriding system value
        select ${id}, ${status}, id, display_name_key, '2026-03-01', '2026-03-05' from employee where id = ${employee}`
    for (const table of ['employee', 'absence'])
      await transaction`select setval(pg_get_serial_sequence(${table}, 'id'), 100, false)`
  })
}

/** Changes the manager of an employee directly in the database; null: no manager. */
export async function setManager(sql: postgres.Sql | postgres.TransactionSql, id: number, manager: number | null): Promise<void> {
  await sql`
    update employee set manager_id = ${manager}, manager_key = (select display_name_key from employee where id = ${manager})
    where id = ${id}`
}

/** Writes a roles file, which is deleted at the end of the test file. */
export function rolesFile(text: string): string {
  const path = join(temporaryFolder().path, 'roles')
  writeFileSync(path, text)
  return path
}

/** Returns the request headers of the person with this name. `more`: further claims, such as groups. */
export async function headersOf(issuer: Issuer, name: string, more: Partial<PersonClaims> = {}): Promise<Record<string, string>> {
  const email = `${name.toLowerCase()}@acme.example`
  const token = await issuer.tokenFor({ sub: name, email, email_verified: true, ...more })
  return { authorization: `Bearer ${token}` }
}
