import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { boolean, decimal, defineEntity, group, identity, instant, text } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import { writeEntity } from '../../src/respond/json.ts'

const ABSENCE = [
  ...[
    '7',
    'Approved',
    '3',
    'Ada "Countess" Byron',
    'Holiday',
    'Annual Leave',
    '2024-01-31 09:00:00+00',
    '2024-02-01 17:30:00+00',
  ],
  ...['Hours', '1.00000000', '7.50000000'],
]

test('D3: every property in order, camelCase, types as the spec prints them', () => {
  expect(writeEntity(absence, ABSENCE)).toBe(
    '{"id":7,"status":"Approved","employeeId":3,"employee":"Ada \\"Countess\\" Byron","type":"Holiday",' +
      '"reason":"Annual Leave","start":"2024-01-31T09:00:00Z","end":"2024-02-01T17:30:00Z",' +
      '"period":{"prefered":"Hours","days":1.00000000,"hours":7.50000000}}',
  )
})

test('D14: a period without a value in any part is null, one with a single value is whole', () => {
  const withPeriod = (...period: (string | null)[]) => JSON.parse(writeEntity(absence, [...ABSENCE.slice(0, 8), ...period]))
  expect(withPeriod(null, null, null).period).toBeNull()
  expect(withPeriod(null, '0.00000000', null).period).toEqual({ prefered: null, days: 0, hours: null })
  expect(withPeriod('', null, null).period).toEqual({ prefered: '', days: null, hours: null })
  // The columns of a row may begin behind others.
  expect(JSON.parse(writeEntity(absence, ['99', ...ABSENCE.slice(0, 8), null, null, null], 1)).period).toBeNull()
})

test('text is escaped, so that the JSON reads back as the row', () => {
  for (const text of ['"', '\\', '\n\r\t\b', '\u0001', '</script>', '\u2028', 'Zoë 😀', '{"a":1}'])
    expect(JSON.parse(writeEntity(company, ['1', text, 'f'])).name).toBe(text)
})

describe('wherever its decimals stand', () => {
  const note = group({ by: text(), at: instant(), open: boolean() })
  const cost = group({ net: decimal(2), gross: decimal(2), unit: text() })
  const fields = { id: identity(), name: text(), rate: decimal(8), note, cost }
  type Name = keyof typeof fields
  /** Texts with what must be escaped. */
  const columns: Record<Name, Row> = {
    id: ['7'],
    name: ['a "b"'],
    rate: ['9999999999.99999999'],
    note: ['\\', '2024-01-31 09:00:00+00', 't'],
    cost: ['0.10', null, '"'],
  }
  const printed: Record<Name, string> = {
    id: '"id":7',
    name: '"name":"a \\"b\\""',
    rate: '"rate":9999999999.99999999',
    note: '"note":{"by":"\\\\","at":"2024-01-31T09:00:00Z","open":true}',
    cost: '"cost":{"net":0.10,"gross":null,"unit":"\\""}',
  }
  const orders = [
    ...['id', 'id note name', 'note id', 'rate id note name', 'cost id note rate', 'id name rate', 'id note cost name rate'],
    'cost rate note name id',
  ].map((names) => names.split(' ') as Name[])

  for (const order of orders)
    test(order.join(', '), () => {
      const entity = defineEntity('Thing', Object.fromEntries(order.map((name) => [name, fields[name]])))
      const row = order.flatMap((name) => columns[name])
      const whole = `{${order.map((name) => printed[name]).join(',')}}`
      expect(writeEntity(entity, row)).toBe(whole)

      const emptyRow = order.flatMap((name) => (name === 'id' ? columns.id : columns[name].map(() => null)))
      const empty = `{${order.map((name) => (name === 'id' ? printed.id : `"${name}":null`)).join(',')}}`
      expect(writeEntity(entity, emptyRow)).toBe(empty)

      // Nothing of the row before is left.
      expect(writeEntity(entity, ['1', ...row], 1)).toBe(whole)
    })
})
