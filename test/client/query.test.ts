import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { bodyText, queryString } from '../../src/client/query.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { KindName } from '../../src/model/kinds.ts'
import type { ListQuery } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { hostileTexts } from '../support/hostile.ts'

type Value = string | number | boolean | Date | null
type Tests = Readonly<Record<string, unknown>>

const write = (filter: Tests) => queryString({ filter })
const parse = (entity: Entity, query: string) => parseList(wholeView(entity), query.slice(1))
const keyOf = ({ path }: Property) => path.join('.')
const said = ({ filters }: ListQuery) => filters.map(({ property, operator, value }) => [keyOf(property), operator.sign, value])

const text = fc
  .oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...'=<>!+& %') }))
  .map((value) => value.replaceAll('\0', ''))
const SECONDS = { min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }
const values: Readonly<Record<KindName, fc.Arbitrary<Value>>> = {
  text,
  oneOf: text,
  uuid: fc.uuid(),
  json: text,
  date: fc.date(SECONDS).map((date) => date.toISOString().slice(0, 10)),
  integer: fc.maxSafeInteger(),
  boolean: fc.boolean(),
  decimal: fc.double({ min: -1e18, max: 1e18, noNaN: true }).filter((value) => value === 0 || Math.abs(value) > 1e-100),
  instant: fc.oneof(
    fc.date(SECONDS),
    fc.date(SECONDS).map((date) => `${date.toISOString().slice(0, 19)}Z`),
  ),
}

/** Returns the value that the server reads from an operand, in any notation. */
function meant(kind: KindName, operand: string | null): unknown {
  if (operand === null) return null
  if (kind === 'integer' || kind === 'decimal') return Number(operand)
  if (kind === 'boolean') return operand === 'true'
  return kind === 'instant' ? Date.parse(operand) : operand
}

function sent(kind: KindName, value: Value): unknown {
  if (value === null || value === '') return null
  if (kind === 'instant') return Math.floor(new Date(value as string).getTime() / 1000) * 1000
  return kind === 'decimal' ? Number(value) + 0 : value
}

describe('what the client writes is what the server parses', () => {
  const anyProperty = fc.constantFrom(
    ...[absence, company, employee].flatMap((entity: Entity) => entity.properties.map((property) => ({ entity, property }))),
  )

  test('a filter with a single value means equality, whatever the value begins with', () => {
    const cases = anyProperty.chain(({ entity, property }) =>
      fc.record({
        entity: fc.constant(entity),
        property: fc.constant(property),
        value: fc.oneof({ weight: 9, arbitrary: values[property.kind.name] }, fc.constant(null)),
      }),
    )
    fc.assert(
      fc.property(cases, ({ entity, property, value }) => {
        const { filters } = parse(entity, write({ [keyOf(property)]: value }))
        expect(filters.map(({ property, operator }) => [property.name, operator.sign])).toEqual([[property.name, '=']])
        const { name } = property.kind
        expect(meant(name, filters[0]?.value ?? null)).toEqual(sent(name, value))
      }),
      { numRuns: 300 },
    )
  })

  test('several operators on a property mean several filters, each with its own value', () => {
    const ordered = anyProperty.filter(({ property }) => property.kind.ordered)
    const cases = ordered.chain(({ entity, property }) => {
      const value = values[property.kind.name].filter((value) => value !== '' && !String(value).startsWith('='))
      return fc.record({
        entity: fc.constant(entity),
        property: fc.constant(property),
        operators: fc.dictionary(fc.constantFrom('=', '!=', '<', '<=', '>', '>='), value, { noNullPrototype: true }),
      })
    })
    fc.assert(
      fc.property(cases, ({ entity, property, operators }) => {
        const { filters } = parse(entity, write({ [keyOf(property)]: operators }))
        const { name } = property.kind
        expect(filters.map(({ operator, value }) => [operator.sign, meant(name, value)])).toEqual(
          Object.entries(operators).map(([operator, value]) => [operator, sent(name, value)]),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('sort keeps the order of its properties and their directions', () => {
    const cases = fc.uniqueArray(fc.record({ property: fc.constantFrom(...absence.properties), descending: fc.boolean() }), {
      selector: ({ property }) => property.name,
    })
    fc.assert(
      fc.property(cases, (sorts) => {
        const query = queryString({
          sort: sorts.map(({ property, descending }) => (descending ? '-' : '') + keyOf(property)),
        })
        expect(parse(absence, query).sorts).toEqual(sorts)
      }),
    )
  })

  test('a query is written with PageSize, page and a single sort', () => {
    const query = queryString({ sort: '-start', pageSize: 7, page: 3 })
    expect(query).toBe('?sort=-start&PageSize=7&page=3')
    expect(parse(absence, query)).toMatchObject({ pageSize: 7, page: 3, sorts: [{ descending: true }] })
    expect([queryString({}), queryString({ filter: {}, sort: [] })]).toEqual(['', ''])
    expect(queryString({ filter: undefined, sort: undefined, pageSize: undefined, page: undefined })).toBe('')
  })

  test('!= with several values excludes all of them', () => {
    const query = write({ status: { '!=': ['Approved', null, '=x'] } })
    expect(said(parse(absence, query))).toEqual([
      ['status', '!=', 'Approved'],
      ['status', '!=', null],
      ['status', '!=', '=x'],
    ])
  })

  test('the operator any matches one of several values, and contains and begins match parts of texts', () => {
    const { filters } = parse(
      absence,
      write({ status: { any: ['Approved', null, 'a,b'] }, reason: { contains: 'é&', begins: 'x' } }),
    )
    expect(filters.map(({ property, operator, value, anyOf }) => [keyOf(property), operator.sign, anyOf ?? value])).toEqual([
      ['status', '[]', ['Approved', 'a,b', null].sort()],
      ['reason', '[contains]', 'é&'],
      ['reason', '[begins]', 'x'],
    ])
    expect(parse(employee, write({ id: { any: [9, 7] } })).filters).toMatchObject([{ anyOf: ['7', '9'] }])
  })

  test('< and > before a text that begins with = are not read as <= and >=', () => {
    for (const operator of ['<', '>'])
      expect(said(parse(company, write({ name: { [operator]: '=x' } })))).toEqual([
        ['name', `${operator}=`, '=x'],
        ['name', '!=', '=x'],
      ])
  })
})

describe('filters that are refused', () => {
  const refused: [string, Tests, string][] = [
    ['undefined', { name: undefined }, 'the filter name is undefined: leave it out for all rows'],
    ['undefined after an operator', { start: { '>=': undefined } }, 'the filter start is undefined'],
    [
      'an unknown operator',
      { name: { like: 'x' } },
      'the filter name has an operator "like"; there are = != < <= > >= any begins contains',
    ],
    ['a list', { status: ['Approved', 'Declined'] }, 'the filter status is a list: write { any: [...] } for one of its values'],
    ['a list after =', { status: { '=': ['Approved'] } }, 'the filter status is an object'],
    ['any without a value', { status: { any: [] } }, 'the filter status has no value in any: leave it out for all rows'],
    ['several texts to contain', { name: { contains: ['a', 'b'] } }, 'the filter name is an object'],
    ['a date without a time', { start: new Date('never') }, 'start is a Date without a time'],
    ['half of a surrogate pair', { name: 'a\ud800' }, 'name has half of a surrogate pair'],
  ]
  test.each(refused)('a filter is refused: %s', (_, filter, message) => {
    expect(() => write(filter)).toThrow(new TypeError(message).message)
    expect(() => write(filter)).toThrow(TypeError)
  })
})

describe('JSON bodies', () => {
  test('dates in a body are written to the second, also within objects', () => {
    const start = new Date('2026-03-02T09:00:00.999Z')
    expect(bodyText({ start, period: { days: 2.5, from: start }, reason: null, type: undefined })).toBe(
      '{"start":"2026-03-02T09:00:00Z","period":{"days":2.5,"from":"2026-03-02T09:00:00Z"},"reason":null}',
    )
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, new Date('never')])(
    'a body with %p, which JSON would turn into null, is refused',
    (value) => {
      expect(() => bodyText({ period: { days: value } })).toThrow(TypeError)
    },
  )
})

describe('may', () => {
  test.each<[may: Parameters<typeof queryString>[0]['may'], query: string]>([
    ['update', '?may=update'],
    ['delete', '?may=delete'],
    [{ update: 'status' }, '?may=update(status)'],
    [{ update: ['status', 'period.days'] }, '?may=update(status%2Cperiod.days)'],
    [undefined, ''],
  ])('the option may: %j is written as "%s"', (may, query) => {
    expect(queryString({ may })).toBe(query)
    const { write } = parse(absence, query || '?may=update').may ?? {}
    expect(write?.properties.map(keyOf)).toEqual(typeof may === 'object' ? [may.update].flat() : [])
  })

  test('may: { update: [] } is refused, since it would mean any update', () => {
    expect(() => queryString({ may: { update: [] } })).toThrow(
      new TypeError("may has no name in update: write may: 'update' for any update"),
    )
  })
})
