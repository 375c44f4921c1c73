import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import fc from 'fast-check'
import type postgres from 'postgres'
import { dateKind } from '../../src/model/dateKind.ts'
import { instantKind } from '../../src/model/instantKind.ts'
import { booleanKind, decimalKind, integerKind, JsonNumber, type Kind, Mismatch, textKind } from '../../src/model/kinds.ts'
import { numberKind } from '../../src/model/numberKind.ts'
import { oneOfKind } from '../../src/model/oneOfKind.ts'
import { connect, createDatabase } from '../support/postgres.ts'

const decimal = decimalKind(10, 8)
const stateKind = oneOfKind(['Asked', 'Given (late)'])
const number = (source: string) => new JsonNumber(source)

function refuses(kind: Kind, values: unknown[]) {
  for (const value of values) {
    const shown = value instanceof JsonNumber ? `the number ${value.source}` : JSON.stringify(value)?.slice(0, 40)
    test(`refuses ${shown}`, () => expect(() => kind.parseJson(value)).toThrow(Mismatch))
  }
}

function refusesFilter(kind: Kind, texts: string[]) {
  for (const text of texts)
    test(`refuses the filter value ${JSON.stringify(text).slice(0, 40)}`, () =>
      expect(() => kind.parseFilter(text)).toThrow(Mismatch))
}

describe('text (D10, D17)', () => {
  const text = textKind(5)

  test('is kept as it is, the empty one too', () => {
    for (const value of ['', ' a ', 'Zoë', '👩‍🚀']) expect(text.parseJson(value)).toBe(value)
  })

  test('is counted in code points', () => {
    expect(text.parseJson('😀😀😀😀😀')).toBe('😀😀😀😀😀')
    expect(() => text.parseJson('😀😀😀😀😀😀')).toThrow('must be a text of at most 5 characters')
    expect(() => text.parseJson('abcdef')).toThrow('must be a text of at most 5 characters')
  })

  refuses(text, [number('1'), true, {}, [], ['a'], 'a\0', '\ud83d', 'a\udc00b'])
  refusesFilter(text, ['a\0b'])

  test('a filter may be longer than the column: it only finds nothing', () => {
    expect(text.parseFilter('abcdefgh')).toBe('abcdefgh')
  })

  test('a response has it as it is', () => {
    expect(text.readText?.('a"\\\n\u2028é')).toBe('a"\\\n\u2028é')
  })
})

describe('boolean (D7, D25)', () => {
  test('is true or false, never null, and false by default', () => {
    expect([booleanKind.parseJson(true), booleanKind.parseJson(false)]).toEqual(['true', 'false'])
    expect([booleanKind.nullable, booleanKind.default, booleanKind.ordered]).toEqual([false, 'false', false])
  })

  refuses(booleanKind, ['true', number('1'), number('0'), null, '', 'yes', []])
  refusesFilter(booleanKind, ['1', '0', 'yes', 't', ' true', 'truee'])

  test('a filter takes any case', () => {
    expect(['true', 'TRUE', 'False'].map(booleanKind.parseFilter)).toEqual(['true', 'true', 'false'])
  })

  test('a response has it as true or false', () => {
    expect([booleanKind.readText?.('t'), booleanKind.readText?.('f')]).toEqual([true, false])
  })
})

describe('date (D65)', () => {
  test('is a day that exists, in the years 1 to 9999', () => {
    for (const text of ['2024-01-31', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'])
      expect([dateKind.parseJson(text), dateKind.parseFilter(text)]).toEqual([text, text])
  })

  refuses(dateKind, ['2023-02-29', '1900-02-29', '0000-01-01', '10000-01-01', '2024-1-31', '20240131', ''])
  refuses(dateKind, ['2024-01-31T09:00:00Z', ' 2024-01-31', '2024-01-31\n', null, 7, true, number('20240131'), {}])
  refusesFilter(dateKind, ['2024', 'today', 'infinity', '2024-01-31Z', '2024-13-01', '2024-01-00', '１９９９-01-01'])

  test('says what a date-time would be', () => {
    expect(() => dateKind.parseFilter('2024-01-31T09:00:00Z')).toThrow('for 2024-01-31T09:00:00Z write 2024-01-31')
    expect(() => dateKind.parseFilter('2024-02-31 09:00')).toThrow(/2024-01-31$/)
  })
})

describe('an integer of a range (D65)', () => {
  const kind = numberKind({ min: -5, max: 120 })

  test('is any spelling of a JSON integer', () => {
    const sources = ['-5', '120', '1e1', '1.20e2', '0', '-0', '7.0']
    expect(sources.map((source) => kind.parseJson(number(source)))).toEqual(['-5', '120', '10', '120', '0', '0', '7'])
  })

  refuses(kind, [number('-6'), number('121'), number('1.5'), number('1e300'), number('9'.repeat(500)), '5', null, true])
  refusesFilter(kind, ['1.0', '1e1', '', ' 1', '+1', '0x10', '１'])

  test('a filter may ask for any', () => {
    expect(['-6', '500', '9'.repeat(30)].map((text) => kind.parseFilter(text))).toEqual(['-6', '500', '9223372036854775807'])
  })
})

describe('one of a list of texts (D65)', () => {
  test('is one of them as it is spelt', () => {
    expect([stateKind.parseJson('Asked'), stateKind.parseFilter('Given (late)')]).toEqual(['Asked', 'Given (late)'])
  })

  refuses(stateKind, ['asked', 'Asked ', '', 'Other', null, number('1'), ['Asked']])
  refusesFilter(stateKind, ['asked', 'Given', 'x'.repeat(2_000)])

  test('the nearest is named', () => {
    expect(() => stateKind.parseJson('given late')).toThrow('for given late write Given (late)')
    expect(() => oneOfKind(['A', 'b']).parseJson('')).toThrow(/^must be one of A, b$/)
    expect(() => stateKind.parseJson('Nothing of the kind')).toThrow(/^must be one of Asked, Given \(late\)$/)
  })

  test.each([[[]], [['']], [['=x']], [['<5']], [['a', 'a']], [["it's"]], [['a\nb']], [[' a']], [['x'.repeat(101)]]])(
    '%j cannot be declared',
    (values) => {
      expect(() => oneOfKind(values as string[])).toThrow('oneOf')
    },
  )
})

describe('integer (D6, D16, D25)', () => {
  const integer = integerKind(true)

  test('is any spelling of a JSON integer', () => {
    for (const [source, value] of [
      ['1', '1'],
      ['9007199254740991', '9007199254740991'],
      ['1e2', '100'],
      ['7.0', '7'],
      ['12.50e1', '125'],
    ])
      expect(integer.parseJson(number(source as string))).toBe(value as string)
  })

  test('one that no row can have stands for the row that is never there', () => {
    for (const source of ['0', '-1', '-0', '9007199254740992', '99999999999999999999'])
      expect(integer.parseJson(number(source))).toBe('0')
  })

  refuses(integer, ['1', true, {}, number('1.5'), number('1e-1')])
  refusesFilter(integer, ['1.0', '0x10', '1_000', ' 12', '12 ', '+1', '1e2', '--1', '-', '١'])

  test('a filter is compared at the ends of bigint where it lies beyond them', () => {
    expect(integer.parseFilter('-5')).toBe('-5')
    expect(integer.parseFilter('007')).toBe('7')
    expect(['0', '-0', '9223372036854775806', '999999999999999999'].map(integer.parseFilter)).toEqual([
      ...['0', '0', '9223372036854775806', '999999999999999999'],
    ])
    expect(integer.parseFilter('9'.repeat(30))).toBe('9223372036854775807')
    expect(integer.parseFilter(`-${'9'.repeat(30)}`)).toBe('-9223372036854775807')
  })
})

describe('instant (D15)', () => {
  test('is normalized to UTC and seconds', () => {
    for (const [text, value] of [
      ['2024-01-31T09:00:00Z', '2024-01-31T09:00:00Z'],
      ['2024-01-31t09:00:00z', '2024-01-31T09:00:00Z'],
      ['2024-01-31T09:00:00.999999Z', '2024-01-31T09:00:00Z'],
      ['2024-01-31T09:00:00+02:00', '2024-01-31T07:00:00Z'],
      ['2024-01-01T00:30:00+01:00', '2023-12-31T23:30:00Z'],
      ['2024-01-31T23:59:59-05:30', '2024-02-01T05:29:59Z'],
      ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
      ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00Z'],
      ['2016-12-31t18:59:60.5-05:00', '2017-01-01T00:00:00Z'],
      ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
      ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ]) {
      expect(instantKind.parseJson(text)).toBe(value as string)
      expect(instantKind.parseFilter(text as string)).toBe(value as string)
    }
  })

  const impossible = [
    '2023-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2023-13-01T00:00:00Z',
    '2023-00-01T00:00:00Z',
    '2023-01-00T00:00:00Z',
    '2023-01-01T24:00:00Z',
    '2023-01-01T00:60:00Z',
    '2023-01-01T00:00:60Z',
    '2016-12-31T23:59:60+01:00',
    '2016-12-31T23:59:61Z',
    '2016-02-30T23:59:60Z',
    '9999-12-31T23:59:60Z',
    '2023-01-01T00:00:00+24:00',
    '2023-01-01T00:00:00+00:60',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2024-01-31',
    '2024-01-31T09:00Z',
    '2024-01-31T09:00:00',
    '2024-01-31 09:00:00Z',
    ' 2024-01-31T09:00:00Z',
    '10000-01-01T00:00:00Z',
    'infinity',
    'now',
  ]
  refuses(instantKind, [number('1706691600'), true, {}, '', ...impossible])
  refusesFilter(instantKind, impossible)

  test('a filter whose + became a space says so', () => {
    expect(() => instantKind.parseFilter('2024-01-31T09:00:00 02:00')).toThrow('%2B')
  })

  test('is written as the spec prints it', () => {
    expect(instantKind.readText?.('2024-01-31 09:00:00+00')).toBe('2024-01-31T09:00:00Z')
  })
})

describe('decimal (D13)', () => {
  test('is kept exactly, in any spelling', () => {
    for (const [source, value] of [
      ['0', '0'],
      ['-0', '0'],
      ['4.00000000', '4'],
      ['4.000000000e1', '40'],
      ['1.500000000000', '1.5'],
      ['0.000000000', '0'],
      ['1e2', '100'],
      ['1E-8', '0.00000001'],
      ['0.1', '0.1'],
      ['9999999999.99999999', '9999999999.99999999'],
      ['123.45e1', '1234.5'],
    ])
      expect(decimal.parseJson(number(source as string))).toBe(value as string)
  })

  refuses(decimal, [
    '1',
    null,
    true,
    ...['-1', '10000000000', '0.000000001', '4.0000000010', '1e10', '1e-9', '1e400'].map(number),
  ])
  refusesFilter(decimal, ['', 'a', '1,5', '.5', '5.', '+1', '0x1', 'NaN', 'Infinity', ' 1', '1e300'])

  test('a number as long as a body is refused without a search through it', () => {
    const source = `1${'0'.repeat(1_000_000)}1`
    expect(() => decimal.parseJson(number(source))).toThrow(Mismatch)
    expect(() => decimal.parseFilter(source)).toThrow(Mismatch)
  })

  test('a filter may be negative or finer than the column', () => {
    expect(['-1.50', '0.0000000001', '1e2'].map(decimal.parseFilter)).toEqual(['-1.5', '0.0000000001', '100'])
  })

  test('is written as PostgreSQL writes it, with all decimals', () => {
    expect(decimal.readText).toBeNull()
  })
})

describe('against PostgreSQL', () => {
  let database: postgres.Sql
  beforeAll(async () => {
    database = connect(await createDatabase('empty'))
  })
  afterAll(() => database.end())

  test('a decimal is the number that its source is', async () => {
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

  test('an instant that is accepted is one that PostgreSQL takes, and the same moment', async () => {
    const instant = fc.date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z') })
    const texts = fc
      .sample(fc.tuple(instant, fc.constantFrom('Z', '+05:30', '-11:00', '+00:00')), 1_000)
      .filter(([date]) => !Number.isNaN(date.getTime()))
      .map(([date, zone]) => date.toISOString().slice(0, 19) + zone)
    expect(texts.length).toBeGreaterThan(500)
    const rows = await database`
      select text, parsed from unnest(${texts}::text[], ${texts.map(instantKind.parseFilter)}::text[]) as t (text, parsed)
      where text::timestamptz <> parsed::timestamptz`
    expect([...rows]).toEqual([])
  })

  for (const kind of [textKind(200), booleanKind, integerKind(true), instantKind, decimal, dateKind, stateKind])
    test(`the column type of ${kind.name} is spelt as format_type spells it`, async () => {
      await database.unsafe(`create temporary table t (v ${kind.columnType})`)
      const [row] = await database`
        select format_type(atttypid, atttypmod) as type from pg_attribute where attrelid = 't'::regclass and attnum = 1`
      await database`drop table t`
      expect(row?.type).toBe(kind.columnType)
    })
})

test('the schemas take what the kinds write, and nothing else', () => {
  for (const [kind, text, wrong] of [
    [textKind(200), 'x', 1],
    [booleanKind, 't', null],
    [integerKind(true), '1', 0],
    [integerKind(false), '1', null],
    [instantKind, '2024-01-31 09:00:00+00', '2024-01-31T09:00:00+00:00'],
    [decimal, '4.00000000', -1],
    [dateKind, '2024-01-31', '2024-01-31T09:00:00Z'],
    [stateKind, 'Asked', 1],
    [numberKind({ min: -2, max: 5 }), '-2', 6],
  ] as const) {
    expect(Value.Check(kind.schema, kind.readText ? kind.readText(text) : JSON.parse(text))).toBe(true)
    expect(Value.Check(kind.schema, wrong)).toBe(false)
    expect(Value.Check(kind.schema, null)).toBe(kind.nullable)
  }
})
