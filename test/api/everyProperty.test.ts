import { beforeAll, describe, expect, test } from 'bun:test'
import { useServer } from '../support/cases.ts'
import { createRow, listed } from '../support/rows.ts'
import type { Json } from '../support/server.ts'

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
  full.Absences = await createRow(server, '/Absences', {
    ...{
      EmployeeId: full.Employees.id,
      Status: 'Approved',
      Type: 'Holiday',
      Reason: 'Annual Leave',
      Start: at,
      End: at,
    },
    Period: { Prefered: 'Hours', Days: 1.5, Hours: 12 },
  })
})

describe.each(['Companies', 'Employees', 'Absences'])('every property of %s', (plural) => {
  test('has a value in the row that these tests look for', () => {
    expect(propertiesOf(full[plural]).filter(([, value]) => value === null)).toEqual([])
  })

  test('Filtering 1, D21: can be filtered by, parts of an object by a dot', async () => {
    for (const [name, value] of propertiesOf(full[plural])) {
      const operand = encodeURIComponent(value)
      expect({ name, ids: await listed(server, `/${plural}?${name}=${operand}`, 'id') }).toEqual({
        name,
        ids: [full[plural].id],
      })
      expect({ name, ids: await listed(server, `/${plural}?${name}=!=${operand}`, 'id') }).toEqual({
        name,
        ids: [full[plural].id - 1],
      })
    }
  })

  test('Sorting 1, D27: can be sorted by, and no value comes last ascending, first descending', async () => {
    const [other, own] = [full[plural].id - 1, full[plural].id]
    for (const [name] of propertiesOf(full[plural])) {
      const ordered = await listed(server, `/${plural}?sort=-${name}`, 'id')
      const reversed = await listed(server, `/${plural}?sort=%2B${name}`, 'id')
      expect({ name, same: reversed }).toEqual({ name, same: ordered.toReversed() })
      const nullInOther = (await server.get(`/${plural}/${other}`)).body
      const [, otherValue] = propertiesOf(nullInOther).find(([candidate]) => candidate === name) ?? []
      if (otherValue === null || otherValue === undefined) expect({ name, ordered }).toEqual({ name, ordered: [other, own] })
    }
  })
})
