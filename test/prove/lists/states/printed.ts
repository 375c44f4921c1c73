import type { Collection, Row } from '../../../support/model.ts'

const ABSENCE = ['Id', 'Status', 'EmployeeId', 'Employee', 'Type', 'Reason', 'Start', 'End']
const PERIOD = ['Prefered', 'Days', 'Hours']
/** Properties in the order in which the API's examples have them. */
const ORDER: Record<Collection, readonly string[]> = {
  Companies: ['Id', 'Name', 'Enabled'],
  Employees: [
    ...['Id', 'EmployeeNumber', 'Title', 'FirstName', 'MiddleName', 'LastName', 'KnownAs', 'DisplayName'],
    ...['WorkEmail', 'WorkPhone', 'WorkMobile', 'CompanyId', 'Company', 'Department', 'Division', 'Location'],
    ...['JobTitle', 'JobLevel', 'ManagerId', 'Manager', 'Type', 'Status', 'Started', 'ContinuousStart'],
    ...['ContractEnd', 'EmploymentEnd'],
  ],
  Absences: ABSENCE,
}

const texts = new WeakMap<Row, string>()

/** The row as the API writes it. Spec 4.1, D13, D14 */
export function printed(collection: Collection, row: Row): string {
  let text = texts.get(row)
  if (text === undefined) texts.set(row, (text = print(collection, row)))
  return text
}

function print(collection: Collection, row: Row): string {
  const parts = ORDER[collection].map((name) => `"${keyOf(name)}":${JSON.stringify(row[name] ?? null)}`)
  if (collection === 'Absences') parts.push(`"period":${printPeriod(row)}`)
  return `{${parts}}`
}

/** Its decimals are numbers with all their places, which JSON.stringify would not keep. */
function printPeriod(row: Row): string {
  const values = PERIOD.map((name) => row[`Period.${name}`] ?? null)
  if (values.every((value) => value === null)) return 'null'
  const parts = PERIOD.map((name, index) => {
    const value = values[index] ?? null
    return `"${keyOf(name)}":${name === 'Prefered' ? JSON.stringify(value) : value}`
  })
  return `{${parts}}`
}

function keyOf(name: string): string {
  return (name[0] as string).toLowerCase() + name.slice(1)
}
