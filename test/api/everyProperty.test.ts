import { beforeAll, describe, expect, test } from 'bun:test'
import { createRow, listed } from '../support/rows.ts'
import type { Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

/** Each primitive property of a row as parameters name it, an object's parts with a dot, and its value. */
function propertiesOf(row: Json, prefix = ''): [string, Json][] {
  return Object.entries(row).flatMap(([key, value]): [string, Json][] => {
    const name = prefix + key.charAt(0).toUpperCase() + key.slice(1)
    return typeof value === 'object' && value !== null ? propertiesOf(value, `${name}.`) : [[name, value]]
  })
}

const at = '2024-05-06T07:08:09Z'
const names = { Title: 'Dr', FirstName: 'Ada', MiddleName: 'M', LastName: 'Byron', KnownAs: 'A', EmployeeNumber: 'E1' }
const contact = { WorkEmail: 'a@b', WorkPhone: '1', WorkMobile: '2', Department: 'd', Division: 'v', Location: 'o' }
const job = { JobTitle: 'j', JobLevel: 'x', Type: 'FullTime', Status: 'Current' }
const dates = { Started: at, ContinuousStart: at, ContractEnd: at, EmploymentEnd: at }

const server = useServer()
/** Two rows of each entity, the second with a value in every property. */
const full: Record<string, Json> = {}

beforeAll(async () => {
  await createRow(server, '/Companies', { Name: 'Other' })
  full.Companies = await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
  const { id: ManagerId } = await createRow(server, '/Employees', { FirstName: 'Boss' })
  const references = { CompanyId: full.Companies.id, ManagerId }
  full.Employees = await createRow(server, '/Employees', { ...names, ...contact, ...job, ...dates, ...references })
  await createRow(server, '/Absences', {})
  const times = { Start: at, End: at, Period: { Prefered: 'Hours', Days: 1.5, Hours: 12 } }
  const texts = { Status: 'Approved', Type: 'Holiday', Reason: 'Annual Leave' }
  full.Absences = await createRow(server, '/Absences', { EmployeeId: full.Employees.id, ...texts, ...times })
})

describe.each(['Companies', 'Employees', 'Absences'])('every property of %s', (plural) => {
  test('has a value in the row of these tests', () => {
    expect(propertiesOf(full[plural]).filter(([, value]) => value === null)).toEqual([])
  })

  test('Filtering 1, Sorting 1, D21, D27: can be used in filters and sorts, where a part of an object is named with a dot', async () => {
    const own = full[plural].id
    const empty = (await server.get(`/${plural}/${own - 1}`)).body
    for (const [name, value] of propertiesOf(full[plural])) {
      const ids = (query: string) => listed(server, `/${plural}?${query}`, 'id')
      const operand = encodeURIComponent(value)
      const other = propertiesOf(empty).find(([candidate]) => candidate === name)?.[1] ?? null
      const descending = await ids(`sort=-${name}`)
      expect([name, await ids(`${name}=${operand}`), await ids(`${name}=!=${operand}`)]).toEqual([name, [own], [own - 1]])
      expect([name, await ids(`sort=%2B${name}`)]).toEqual([name, descending.toReversed()])
      // A row without a value comes last in ascending order, and first in descending order.
      if (other === null) expect([name, descending]).toEqual([name, [own - 1, own]])
    }
  })
})
