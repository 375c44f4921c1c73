import { describe, expect, test } from 'bun:test'
import Ajv from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { dateKind, instantKind } from '../../src/model/dateKinds.ts'
import { compareDecimals } from '../../src/model/decimal.ts'
import { jsonKind } from '../../src/model/jsonKind.ts'
import {
  booleanKind,
  decimalKind,
  idKind,
  integerKind,
  JsonNumber,
  KIND_TRAITS,
  type Kind,
  Mismatch,
  oneOfKind,
  textKind,
  uuidKind,
} from '../../src/model/kinds.ts'
import { useDatabase } from '../support/database.ts'

const decimal = decimalKind(8)
const balance = decimalKind(2, { min: -999.99, max: 999.99 })
/** Returns `depth` arrays within each other. */
const nested = (depth: number): unknown => (depth === 0 ? undefined : depth === 1 ? [] : [nested(depth - 1)])
const UUID = '0192e4a8-5c7e-7d3a-9b1f-2f6c8d4e0a17'
const stateKind = oneOfKind(['Asked', 'Given (late)'])
const number = (source: string) => new JsonNumber(source)

const text = textKind(5)
const integer = idKind(true)
const ranged = integerKind({ min: -5, max: 120 })

/** Accepted values, with the texts that are stored or compared for them. */
type Taken = readonly (readonly [value: unknown, kept: string])[]
const same = (...texts: string[]): Taken => texts.map((one) => [one, one])
const numbers = (...pairs: [string, string][]): Taken => pairs.map(([source, kept]) => [number(source), kept])

const INSTANTS: Taken = [
  ...same('2024-01-31T09:00:00Z', '2024-02-29T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'),
  ['2024-01-31t09:00:00z', '2024-01-31T09:00:00Z'],
  ['2024-01-31T09:00:00.999999Z', '2024-01-31T09:00:00Z'],
  ['2024-01-31T09:00:00+02:00', '2024-01-31T07:00:00Z'],
  ['2024-01-01T00:30:00+01:00', '2023-12-31T23:30:00Z'],
  ['2024-01-31T23:59:59-05:30', '2024-02-01T05:29:59Z'],
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00Z'],
  ['2016-12-31t18:59:60.5-05:00', '2017-01-01T00:00:00Z'],
]

const NO_INSTANTS = [
  ...['2023-02-30T00:00:00Z', '2023-02-29T00:00:00Z', '2023-13-01T00:00:00Z', '2023-00-01T00:00:00Z', '2023-01-00T00:00:00Z'],
  ...['2023-01-01T24:00:00Z', '2023-01-01T00:60:00Z', '2023-01-01T00:00:60Z', '2016-12-31T23:59:60+01:00'],
  ...['2016-12-31T23:59:61Z', '2016-02-30T23:59:60Z', '9999-12-31T23:59:60Z', '2023-01-01T00:00:00+24:00'],
  ...['2023-01-01T00:00:00+00:60', '0000-12-31T23:59:59Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00'],
  ...['2024-01-31', '2024-01-31T09:00Z', '2024-01-31T09:00:00', '2024-01-31 09:00:00Z', ' 2024-01-31T09:00:00Z'],
  ...['10000-01-01T00:00:00Z', 'infinity', 'now', '2024-01-31T09:00:00Z\n', '2024-1-31T09:00:00Z', '٢٠٢٤-01-31T09:00:00Z'],
]

const CASES: [what: string, kind: Kind, taken: Taken, refused: unknown[], filters: Taken, refusedFilters: string[]][] = [
  [
    'text, counted in code points (D10, D17)',
    text,
    same('', ' a ', 'Zoë', '👩‍🚀', '😀😀😀😀😀'),
    [number('1'), true, {}, [], ['a'], 'a\0', '\ud83d', 'a\udc00b', 'abcdef', '😀😀😀😀😀😀'],
    // An operand can be longer than the column allows; then the filter matches no row.
    same('abcdefgh'),
    ['a\0b'],
  ],
  [
    'boolean (D7, D25)',
    booleanKind,
    [
      [true, 'true'],
      [false, 'false'],
    ],
    ['true', number('1'), number('0'), null, '', 'yes', [], {}],
    [
      ['TRUE', 'true'],
      ['False', 'false'],
    ],
    ['1', '0', 'yes', 't', ' true', 'truee'],
  ],
  [
    'date (D65)',
    dateKind,
    same('2024-01-31', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'),
    [
      ...['2023-02-29', '1900-02-29', '0000-01-01', '10000-01-01', '2024-1-31', '20240131', '', ' 2024-01-31', '2024-01-31\n'],
      ...['2024-01-31T09:00:00Z', null, 7, true, number('20240131'), {}],
    ],
    same('2024-02-29', '0001-01-01'),
    ['2024', 'today', 'infinity', '2024-01-31Z', '2024-13-01', '2024-01-00', '１９９９-01-01'],
  ],
  [
    'a UUID of any version (D121)',
    uuidKind,
    [
      ...same(UUID, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
      ['0192E4A8-5C7E-7D3A-9B1F-2F6C8D4E0A17', UUID],
    ],
    [
      ...[
        `{${UUID}}`,
        `urn:uuid:${UUID}`,
        UUID.replaceAll('-', ''),
        ` ${UUID}`,
        `${UUID}\n`,
        UUID.replace('0', 'g'),
        UUID.slice(1),
      ],
      ...['', null, number('1'), true, {}, UUID.replace('0', '０'), UUID.replace('-', '')],
    ],
    [['0192E4A8-5c7e-7d3a-9b1f-2f6c8d4e0a17', UUID]],
    [`{${UUID}}`, UUID.replaceAll('-', ''), '0', 'x'.repeat(2_000), `${UUID}0`],
  ],
  [
    'JSON in one form, with its numbers in all their digits (D122)',
    jsonKind(100),
    [
      [[number('1'), true, null, 'a'], '[1,true,null,"a"]'],
      [{ b: number('1.50'), a: {} }, '{"a":{},"b":1.50}'],
      [number('123456789012345678901234567890.12345'), '123456789012345678901234567890.12345'],
      ...numbers(['1e2', '100'], ['-0.00', '0'], ['1E-3', '0.001']),
      ['', '""'],
      ['"', '"\\""'],
      [false, 'false'],
      ['é'.repeat(49), `"${'é'.repeat(49)}"`],
      [JSON.parse('{"__proto__":{"toJSON":[]}}'), '{"__proto__":{"toJSON":[]}}'],
      [nested(32), `${'['.repeat(32)}${']'.repeat(32)}`],
    ],
    [
      ...['é'.repeat(50), 'a\0', { 'a\0': true }, '\ud83d', { '\ud83d': true }, nested(33)],
      ...['1e999', '1e-999', `0.${'1'.repeat(300)}`, '1e100'].map(number),
    ],
    [],
    ['1', 'null', '{}', ' '],
  ],
  [
    'an integer of a range (D65)',
    ranged,
    numbers(['-5', '-5'], ['120', '120'], ['1e1', '10'], ['1.20e2', '120'], ['0', '0'], ['-0', '0'], ['7.0', '7']),
    [...['-6', '121', '1.5', '1e300', '9'.repeat(500)].map(number), '5', null, true],
    [...same('-6', '500'), ['9'.repeat(30), '9223372036854775807']],
    ['1.0', '1e1', '', ' 1', '+1', '0x10', '１'],
  ],
  [
    'one of a list of texts (D65)',
    stateKind,
    same('Asked', 'Given (late)'),
    ['asked', 'Asked ', '', 'Other', null, number('1'), ['Asked']],
    same('Given (late)'),
    ['asked', 'Given', 'x'.repeat(2_000)],
  ],
  [
    // One that no row can have stands for the row that is never there; a filter beyond bigint is compared at its ends.
    'integer (D6, D16, D25)',
    integer,
    [
      ...numbers(['1', '1'], ['9007199254740991', '9007199254740991'], ['1e2', '100'], ['7.0', '7'], ['12.50e1', '125']),
      ...numbers(['0', '0'], ['-1', '0'], ['-0', '0'], ['9007199254740992', '0'], ['99999999999999999999', '0']),
    ],
    ['1', true, {}, number('1.5'), number('1e-1')],
    [
      ...same('-5', '0', '9223372036854775806', '999999999999999999'),
      ...([
        ['007', '7'],
        ['-0', '0'],
        ['9'.repeat(30), '9223372036854775807'],
        [`-${'9'.repeat(30)}`, '-9223372036854775807'],
      ] as const),
    ],
    ['1.0', '0x10', '1_000', ' 12', '12 ', '+1', '1e2', '--1', '-', '١'],
  ],
  [
    'instant, in UTC and seconds (D15)',
    instantKind,
    INSTANTS,
    [number('1706691600'), true, {}, '', ...NO_INSTANTS],
    INSTANTS,
    NO_INSTANTS,
  ],
  [
    'decimal, exact in any spelling (D13)',
    decimal,
    [
      ...numbers(['0', '0'], ['-0', '0'], ['4.00000000', '4'], ['4.000000000e1', '40'], ['1.500000000000', '1.5']),
      ...numbers(['0.1', '0.1'], ['0.000000000', '0'], ['1e2', '100'], ['1E-8', '0.00000001'], ['123.45e1', '1234.5']),
      ...numbers(['9999999999.99999999', '9999999999.99999999']),
    ],
    [
      ...['1', '1e2', null, true, {}, [number('1')], ...['-1', '-0.00000001', '10000000000', '0.000000001'].map(number)],
      ...['4.0000000010', '1e10', '1e-9', '1e400', '9999999999.999999999'].map(number),
    ],
    [...same('0.0000000001'), ['-1.50', '-1.5'], ['1e2', '100']],
    ['', 'a', '1,5', '.5', '5.', '+1', '0x1', 'NaN', 'Infinity', ' 1', '1e300'],
  ],
  [
    // -0 is 0, whatever its digits.
    'a decimal of a range, below 0 too (D121)',
    balance,
    [
      ...numbers(['-999.99', '-999.99'], ['999.99', '999.99'], ['-0', '0'], ['-0.00', '0'], ['-0e5', '0'], ['-1.50', '-1.5']),
      ...numbers(['-2.5e1', '-25'], ['-0.01', '-0.01'], ['-999.990', '-999.99']),
    ],
    [...['-1000', '1000', '-999.991', '-0.001', '999.999', '-1e300'].map(number), '-1', null],
    [...same('-1000', '-0.001'), ['-0', '0'], ['-0.00', '0'], ['-1.50', '-1.5']],
    ['--1', '-', '- 1', '−1', '1-', '(1)'],
  ],
]

test.each(CASES)('%s: accepts and refuses the expected values', (_, kind, taken, refused, filters, refusedFilters) => {
  for (const [value, kept] of taken) expect([value, kind.parseJson(value)]).toEqual([value, kept])
  for (const value of refused) expect(() => [value, kind.parseJson(value)]).toThrow(Mismatch)
  for (const [operand, kept] of filters) expect([operand, kind.parseFilter(operand as string)]).toEqual([operand, kept])
  for (const operand of refusedFilters) expect(() => [operand, kind.parseFilter(operand)]).toThrow(Mismatch)
})

/** Types of JSON values by the type of a JSON Schema; a schema without a type accepts all values. */
const JSON_TYPES: Readonly<Record<string, Kind['jsonType']>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  undefined: 'unknown',
}

test('the cases of these tests cover every kind of property', () => {
  expect(new Set(CASES.map(([, kind]) => kind.name))).toEqual(new Set(Object.keys(KIND_TRAITS) as Kind['name'][]))
})

test.each(CASES.map(([what, kind]) => [what, kind] as const))(
  'the traits of a kind agree with its column type and its JSON Schema: %s',
  (_, kind) => {
    expect(kind).toMatchObject(KIND_TRAITS[kind.name])
    expect(kind.isText).toBe(kind.columnType === 'text')
    expect(kind.hasFraction || kind.scale === 0).toBe(true)
    expect(kind.jsonType).toBe(JSON_TYPES[String(kind.schema.type)] as Kind['jsonType'])
    expect(kind.readText === null).toBe(kind.jsonType === 'number' || kind.jsonType === 'unknown')
    // Copies in memory can compare values only if they have more than their presence.
    expect(kind.isCompared).toBe(kind.memory !== 'presence')
  },
)

test('the error about a refused value names the value that was probably meant', () => {
  expect(() => text.parseJson('abcdef')).toThrow('must be a text of at most 5 characters')
  expect(() => dateKind.parseFilter('2024-01-31T09:00:00Z')).toThrow('for 2024-01-31T09:00:00Z write 2024-01-31')
  expect(() => dateKind.parseFilter('2024-02-31 09:00')).toThrow(/2024-01-31$/)
  for (const other of [`{${UUID}}`, `URN:UUID:${UUID}`, UUID.replaceAll('-', '').toUpperCase()])
    expect(() => uuidKind.parseJson(other)).toThrow(`; write ${UUID}`)
  expect(() => stateKind.parseJson('given late')).toThrow('for given late write Given (late)')
  expect(() => oneOfKind(['A', 'b']).parseJson('')).toThrow(/^must be one of A, b$/)
  expect(() => stateKind.parseJson('Nothing of the kind')).toThrow(/^must be one of Asked, Given \(late\)$/)
})

test.each([[[]], [['']], [['=x']], [['<5']], [['a', 'a']], [["it's"]], [['a\nb']], [[' a']], [['x'.repeat(101)]]])(
  'D65: oneOf(%j) cannot be declared',
  (values) => {
    expect(() => oneOfKind(values as string[])).toThrow('oneOf')
  },
)

test('a number of a million digits is refused in a short time', () => {
  const source = `1${'0'.repeat(1_000_000)}1`
  expect(() => decimal.parseJson(number(source))).toThrow(Mismatch)
  expect(() => decimal.parseFilter(source)).toThrow(Mismatch)
})

describe('kinds compared with PostgreSQL', () => {
  const { sql: database } = useDatabase('empty')

  test('a decimal has the value of the number in the body', async () => {
    const digits = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 12 }).map((all) => all.join(''))
    const source = fc
      .tuple(fc.constantFrom('', '-'), digits, fc.option(digits), fc.option(fc.integer({ min: -30, max: 30 })))
      .map(([sign, whole, part, exponent]) => `${sign}${whole}${part ? `.${part}` : ''}${exponent ? `e${exponent}` : ''}`)
    const sources = fc.sample(source, 2_000)
    const rows = await database`
      select source, parsed from unnest(${sources}::text[], ${sources.map(decimal.parseFilter)}::text[]) as t (source, parsed)
      where source::numeric <> parsed::numeric`
    expect([...rows]).toEqual([])
    expect(new Set(sources).size).toBeGreaterThan(1_000)
  })
})

test('the JSON Schema of a kind accepts a value that the kind writes, and refuses null and a wrong value', () => {
  for (const [kind, text, wrong] of [
    [textKind(200), 'x', 1],
    [booleanKind, 't', null],
    [idKind(true), '1', 0],
    [idKind(false), '1', null],
    [instantKind, '2024-01-31 09:00:00+00', '2024-01-31T09:00:00+00:00'],
    [decimal, '4.00000000', -1],
    [balance, '-999.99', -1000],
    [balance, '999.99', 1000],
    [dateKind, '2024-01-31', '2024-01-31T09:00:00Z'],
    [stateKind, 'Asked', 1],
    [uuidKind, UUID, UUID.toUpperCase()],
    [integerKind({ min: -2, max: 5 }), '-2', 6],
  ] as const) {
    const takes = new Ajv().compile(kind.schema)
    expect(takes(kind.readText ? kind.readText(text) : JSON.parse(text))).toBe(true)
    expect(takes(wrong)).toBe(false)
    expect(takes(null)).toBe(false)
  }
})

test.each([
  ['1.05', '1.5', -1],
  ['2', '1.99999999', 1],
  ['-1.5', '-1.05', -1],
  ['1.50', '1.5', 0],
  ['9007199254740993', '9007199254740992', 1],
  ['0.1', '0.10000000000000000001', -1],
  ['NaN', '9999999999', 1],
  ['NaN', 'NaN', 0],
])('comparing the decimals %s and %s gives %i', (one, other, order) =>
  expect([compareDecimals(one, other), compareDecimals(other, one)]).toEqual([order, order === 0 ? 0 : -order]),
)
