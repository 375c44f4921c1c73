// Effects of the rights of a key on its forms: fields, preset values, and whether the page knows that a right admits a row.
import { describe, expect, test } from 'bun:test'
import { describeApi } from '../../src/describe/openApi.ts'
import { defineEntity, identity, instant } from '../../src/model/entity.ts'
import { knownStore, type Resource, type Right, type Row, resourcesOf } from '../../src/pages/explore/resources.ts'
import { createVariants, updateVariants, withoutContained } from '../../src/pages/explore/variants.ts'
import { admits, valuesAfter, type Writable, writableOf } from '../../src/pages/explore/writable.ts'
import { respondRights } from '../../src/respond/rights.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import { entities } from '../support/entities.ts'
import { wholeAccess } from '../support/rights.ts'

const FACTS = { baseUrl: 'http://localhost', limits: [], anonymousLimits: [], documentNeedsKey: false }
const ROW: Row = {
  id: 7,
  status: 'Requested',
  employeeId: 2,
  employee: 'Ada',
  type: null,
  reason: '',
  start: '2026-03-02T09:00:00Z',
  end: null,
  period: { prefered: null, days: 2.5, hours: null },
}

/** Shows the page the document and the rights of a key, as the server answers them. */
function know(...lines: string[]): { readonly resource: Resource; readonly writable: Writable } {
  const granted = new RightsReader(entities).read({ rights: '', addresses: lines.join('\n') })
  expect(granted.fault).toBeNull()
  const accesses = entities.map((entity) => granted.accessTo(entity))
  const rights = JSON.parse(respondRights(granted).body as string)
  const document = JSON.parse(JSON.stringify(describeApi(accesses, FACTS)))
  knownStore.value = { sessionId: 'test', rights, document, resources: resourcesOf(document, rights) }
  const writable = writableOf({ plural: 'Absences' }) as Writable
  return { resource: knownStore.value.resources.find(({ plural }) => plural === 'Absences') as Resource, writable }
}
const namesOf = (fields: readonly { readonly name: string }[]) => fields.map(({ name }) => name)

test('a form to create a row has fields for what the key may set, and presets for what the right sets', () => {
  const { writable } = know(
    'read Absences',
    'read Employees',
    'create Absences?EmployeeId=2&Status=Requested&fields=Status,Type,Start,Period.Days',
  )
  const variants = createVariants(writable)
  expect(variants.map(({ fields }) => namesOf(fields))).toEqual([['Type', 'Start', 'Period.Days']])
  expect(variants[0]?.presets.map(({ label, value }) => [label, value])).toEqual([
    ...[
      ['Employee', '2'],
      ['Status', 'Requested'],
    ],
  ])
})

test('a form to create a row offers the values of a property as a choice if the right allows several', () => {
  const { writable } = know('create Absences?Status[]=Requested&Status[]=Draft&fields=Status,Type')
  const [{ fields } = { fields: [] }] = createVariants(writable)
  expect(fields.map(({ name, isListed, values }) => [name, isListed, values])).toEqual([
    ...[
      ['Status', true, ['Draft', 'Requested']],
      ['Type', false, ['Holiday']],
    ],
  ])
})

test('if a right to create filters by a related property, the form has no preset for it, but offers only rows that match', () => {
  const { writable } = know(
    'read Employees',
    'create Absences?EmployeeId.CompanyId=5&EmployeeId=!=2&Status=Requested&fields=EmployeeId,Type',
  )
  const [variant] = createVariants(writable)
  expect(variant?.presets.map(({ label }) => label)).toEqual(['Status'])
  expect(variant?.fields.map(({ name, targets }) => [name, targets])).toEqual([
    [
      'EmployeeId',
      [
        { name: 'CompanyId', sign: '=', values: ['5'] },
        { name: 'Id', sign: '!=', values: ['2'] },
      ],
    ],
    ['Type', []],
  ])
})

test('a form to change a row is left out if another form has all of its fields', () => {
  const { resource, writable } = know('read Absences', 'read Employees', 'update Absences?fields=Type,Reason')
  const [both] = updateVariants(writable, resource, ROW)
  const one = { ...both, fields: both?.fields.slice(0, 1) } as typeof both
  expect(withoutContained([one, both, both] as never).map(({ fields }) => namesOf(fields))).toEqual([['Type', 'Reason']])
})

test.each([
  ['update Absences?fields=Type,Reason', [['Type', 'Reason']]],
  ['update Absences?Status=Requested&fields=Type', [['Type']]],
  ['update Absences?Status=Approved&fields=Type', []],
  // Buttons do this.
  ['update Absences?fields=Status becomes Status[]=Approved&Status[]=Declined', []],
  ['update Absences?fields=Status,Reason becomes Status[]=Approved&Status[]=Declined', [['Status', 'Reason']]],
])('the right %s leads to the expected fields in the form of a requested absence', (right, fields) => {
  const { resource, writable } = know('read Absences', 'read Employees', right)
  expect(updateVariants(writable, resource, ROW).map((variant) => namesOf(variant.fields))).toEqual(fields)
})

describe('the page decides whether a right admits a row (null: unknown):', () => {
  test.each([
    ['Status=Requested', true],
    ['Status=!=Requested', false],
    ['Status[]=Approved&Status[]=Requested', true],
    ['Status[]=Approved&Status[]=Declined', false],
    ['Type=', true],
    ['Type=!=', false],
    ['Reason=', true],
    ['EmployeeId=2', true],
    ['EmployeeId=!=2', false],
    ['Start=2026-03-02T10:00:00%2B01:00', true],
    ['Start=>2026-03-02T09:00:00Z', false],
    ['Start=>=2026-03-02T09:00:00Z', true],
    ['End=<2027-01-01T00:00:00Z', false],
    ['Period.Days=2.50', true],
    ['Period.Days=<2', false],
    ['Period.Days=>2', true],
    // The database orders texts.
    ['Status=<Z', null],
    ['EmployeeId.ManagerId=1', null],
    ['EmployeeId.ManagerId=1&Status=Approved', false],
    ['EmployeeId.ManagerId=1&Status=Requested', null],
  ])('for the condition %s, it decides %p', (filters, admitted) => {
    const { resource, writable } = know('read Absences', 'read Employees', `update Absences?${filters}&fields=Period`)
    expect(writable.updates.map((right) => admits(resource, right, ROW))).toEqual([admitted])
  })

  test('it decides null if the key may not read a property of the condition', () => {
    const { resource, writable } = know('read Absences?fields=Type', 'update Absences?Status=Requested&fields=Type')
    expect(admits(resource, writable.updates[0] as never, { id: 7, type: null })).toBeNull()
  })
})

test('an update may set the values that the right names after `becomes`, or before it if the property is only there', () => {
  const { writable } = know(
    'read Absences',
    'read Employees',
    'update Absences?Status=Requested&Type=Holiday&fields=Status,Type becomes Status[]=Approved&Status[]=Declined',
  )
  const [right] = writable.updates
  expect(['Status', 'Type', 'Reason'].map((name) => valuesAfter(right as never, name))).toEqual([
    ...[['Approved', 'Declined'], ['Holiday'], null],
  ])
})

test('a field that ends one span and begins the next one does not count as an end', () => {
  const trip = defineEntity(
    'Trip',
    { id: identity(), leaves: instant(), arrives: instant(), returns: instant() },
    {
      notBefore: [
        ['arrives', 'leaves'],
        ['returns', 'arrives'],
      ],
    },
  )
  const document = JSON.parse(JSON.stringify(describeApi([wholeAccess(trip)], FACTS)))
  const right: Right = {
    text: 'create Trips',
    template: null,
    verb: 'create',
    collection: 'Trips',
    properties: null,
    filters: [],
    becomes: null,
  }
  knownStore.value = { sessionId: 'test', rights: [right], document, resources: [] }
  const fields = writableOf({ plural: 'Trips' })?.createFields ?? []
  expect(fields.map(({ name, isEnd }) => [name, isEnd])).toEqual([
    ['Leaves', false],
    ['Arrives', false],
    ['Returns', true],
  ])
})
