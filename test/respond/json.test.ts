import { expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { writeEntity } from '../../src/respond/json.ts'

const ABSENCE = [
  '7',
  'Approved',
  '3',
  'Ada "Countess" Byron',
  'Holiday',
  'Annual Leave',
  '2024-01-31 09:00:00+00',
  '2024-02-01 17:30:00+00',
  'Hours',
  '1.00000000',
  '7.50000000',
]

test('D3: every property in order, camelCase, types as the spec prints them', () => {
  expect(writeEntity(absence, ABSENCE)).toBe(
    '{"id":7,"status":"Approved","employeeId":3,"employee":"Ada \\"Countess\\" Byron","type":"Holiday",' +
      '"reason":"Annual Leave","start":"2024-01-31T09:00:00Z","end":"2024-02-01T17:30:00Z",' +
      '"period":{"prefered":"Hours","days":1.00000000,"hours":7.50000000}}',
  )
})

test('booleans', () => {
  expect(writeEntity(company, ['1', 'A', 't'])).toBe('{"id":1,"name":"A","enabled":true}')
  expect(writeEntity(company, ['1', '', 'f'])).toBe('{"id":1,"name":"","enabled":false}')
})

test('D3: null where there is no value', () => {
  expect(writeEntity(company, ['1', null, 'f'])).toBe('{"id":1,"name":null,"enabled":false}')
})

test('D14: a period without a value in any part is null, one with a single value is whole', () => {
  const withPeriod = (...period: (string | null)[]) =>
    JSON.parse(writeEntity(absence, [...ABSENCE.slice(0, 8), ...period]))
  expect(withPeriod(null, null, null).period).toBeNull()
  expect(withPeriod(null, '0.00000000', null).period).toEqual({ prefered: null, days: 0, hours: null })
  expect(withPeriod('', null, null).period).toEqual({ prefered: '', days: null, hours: null })
})

test('D13: a decimal keeps digits that a float would lose', () => {
  const row = [...ABSENCE.slice(0, 9), '9999999999.99999999', '0.00000001']
  expect(writeEntity(absence, row)).toEndWith('"days":9999999999.99999999,"hours":0.00000001}}')
})

test('text is escaped, so that the JSON reads back as the row', () => {
  for (const text of ['"', '\\', '\n\r\t\b', '\u0001', '</script>', '\u2028', 'Zoë 😀', '{"a":1}'])
    expect(JSON.parse(writeEntity(company, ['1', text, 'f'])).name).toBe(text)
})

test('the columns begin at the offset', () => {
  expect(writeEntity(company, ['99', '1', 'A', 't'], 1)).toBe('{"id":1,"name":"A","enabled":true}')
  const shifted = writeEntity(absence, ['99', ...ABSENCE.slice(0, 8), null, null, null], 1)
  expect(JSON.parse(shifted).period).toBeNull()
})

test('what is written fits the schema of the entity', () => {
  const row = (entity: typeof company) =>
    entity.properties.map(({ kind }) =>
      kind.name === 'text'
        ? null
        : ({ boolean: 't', integer: '1', instant: null, decimal: '1.00000000' }[kind.name] ?? null),
    )
  for (const entity of [company, employee, absence]) {
    const written = JSON.parse(writeEntity(entity, row(entity)))
    expect([...Value.Errors(entity.schema, written)]).toEqual([])
    expect(Object.keys(written)).toHaveLength(entity.members.length)
  }
})
