// Fills an empty server as a program of a customer would: over HTTP, with a key.
import { absencesFrom } from './absences.ts'
import { COMPANIES, PEOPLE, type Person } from './people.ts'

const LEVELS = ['Director', 'Manager', 'Employee'] as const
const YEAR_MS = 365.25 * 86_400_000

/** Creates the companies, the people and their absences, each kind with one request. @throws Error that has the server's answer */
export async function seed(url: string, key: string, today: Date): Promise<void> {
  const create = (path: string, rows: readonly object[]) => createRows(`${url}/${path}`, key, rows)

  const companyIds = new Map((await create('Companies', COMPANIES)).map(({ id, name }) => [name, id]))
  // A manager's row comes before the rows of her reports, which refer to it.
  const employeeIds = new Map<string, number>()
  for (const level of LEVELS) {
    const people = PEOPLE.filter(({ jobLevel }) => jobLevel === level)
    const bodies = people.map((person) => ({
      ...bodyOf(person, today),
      CompanyId: companyIds.get(person.company),
      ManagerId: person.manager === null ? null : employeeIds.get(person.manager),
    }))
    const rows = await create('Employees', bodies)
    for (const [index, { account }] of people.entries()) employeeIds.set(account, rows[index]?.id ?? 0)
  }
  await create('Absences', absencesFrom(today, employeeIds))
}

function bodyOf(person: Person, today: Date): object {
  const number = PEOPLE.indexOf(person) + 1
  const started = new Date(today.getTime() - person.years * YEAR_MS - number * 86_400_000)
  return {
    EmployeeNumber: `N${String(number).padStart(3, '0')}`,
    Title: person.title,
    FirstName: person.firstName,
    LastName: person.lastName,
    KnownAs: person.knownAs ?? null,
    WorkEmail: person.workEmail,
    Department: person.department,
    Location: person.location,
    JobTitle: person.jobTitle,
    JobLevel: person.jobLevel,
    Type: person.type,
    Status: 'Current',
    Started: `${started.toISOString().slice(0, 10)}T08:00:00Z`,
  }
}

interface CreatedRow {
  readonly id: number
  readonly name?: string
}

/** Sends the rows as one array: all are created, in this order, or none. */
async function createRows(url: string, key: string, rows: readonly object[]): Promise<CreatedRow[]> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `ApiKey ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(rows),
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${answer}`)
  return JSON.parse(answer)
}
