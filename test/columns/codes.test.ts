import { describe, expect, test } from 'bun:test'
import { type Code, codeOfHalves, codeParsers, compareCodes, halvesTo, operandOf } from '../../src/columns/codes.ts'
import { Printer } from '../../src/columns/printers.ts'
import { RowCodes } from '../../src/columns/rowCodes.ts'
import { boolean, date, decimal, defineEntity, identity, instant, integer, text } from '../../src/model/entity.ts'
import { JsonWriter } from '../../src/model/jsonWriter.ts'
import { decimalKind, type PlainName } from '../../src/model/kinds.ts'
import { Random } from '../support/random.ts'

const random = new Random(1)
const encoder = new TextEncoder()
const UNITS_MAX = 10n ** 18n - 1n

const entity = defineEntity('Sample', {
  id: identity(),
  name: text({ lengthMax: 100, examples: ['a'] }),
  isOn: boolean(),
  count: integer({ min: -10, max: 10 }),
  day: date(),
  at: instant(),
  amount: decimal(8),
})
const AMOUNT = 6

function halvesOf(code: Code): [high: number, low: number] {
  const [lows, highs] = [new Int32Array(1), new Int32Array(1)]
  halvesTo(lows, highs, 0, code)
  return [highs[0] as number, lows[0] as number]
}

/** Returns a random integer of up to `count` digits. */
function digits(count: number): string {
  const length = 1 + random.below(count)
  return Array.from({ length }, () => random.below(10))
    .join('')
    .replace(/^0+(?=\d)/, '')
}

function canonical(integer: bigint): Code {
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer
}

describe('halves of a code', () => {
  const edges = [0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, UNITS_MAX].flatMap((edge) => [edge - 1n, edge, edge + 1n])
  const codes: Code[] = [...edges, ...edges.map((edge) => -edge)].map(canonical)
  for (let count = 0; count < 10_000; count++) codes.push(canonical(BigInt(digits(18)) * (random.chance(50) ? 1n : -1n)))

  test('are the upper and the lower 32 bits of a signed integer of 64 bits', () => {
    for (const code of codes) {
      const [high, low] = halvesOf(code)
      expect((BigInt(high) << 32n) | BigInt(low >>> 0)).toBe(BigInt(code))
    }
  })

  test('can be joined to the same code again, which is a number if it is a safe integer, and else a bigint', () => {
    for (const code of [...codes, Number.NaN, Infinity, -Infinity]) expect(codeOfHalves(...halvesOf(code))).toBe(code)
  })

  test('of a missing value, of -Infinity and of Infinity are the least, the next least and the greatest integer', () => {
    expect([Number.NaN, Infinity, -Infinity].map(halvesOf)).toEqual([
      [-(2 ** 31), 0],
      [2 ** 31 - 1, -1],
      [-(2 ** 31), 1],
    ])
  })
})

test('numbers and bigints compare by value as codes, and the code of a missing value is greater than Infinity', () => {
  const sorted: Code[] = [-Infinity, -(2n ** 60n), -5, 0, 7, 2 ** 53 - 1, 2n ** 53n, 2n ** 59n, Infinity, Number.NaN]
  for (const [index, one] of sorted.entries()) {
    for (const [place, other] of sorted.entries()) expect(compareCodes(one, other)).toBe(Math.sign(index - place))
  }
})

/** Values as PostgreSQL prints them, with their codes. */
const CODED: readonly (readonly [PlainName, string, Code | null])[] = [
  ['boolean', 't', 1],
  ['boolean', 'f', 0],
  ['integer', '9007199254740991', 2 ** 53 - 1],
  ['integer', '-9007199254740991', 1 - 2 ** 53],
  ['integer', '9007199254740992', null],
  ['date', '2000-01-01', 0],
  ['date', '1999-12-31', -1],
  ['date', '5874897-12-31', 2_145_031_948],
  ['date', '4714-11-24 BC', -2_451_545],
  ['date', 'infinity', Infinity],
  ['instant', '9999-12-31 23:59:59+00', 252_455_615_999],
  ['instant', '1999-12-31 23:59:59+00', -1],
  ['instant', '-infinity', -Infinity],
  ['decimal', '22.50000000', 2_250_000_000],
  ['decimal', '0.00000000', 0],
  ['decimal', '-0.00000001', -1],
  ['decimal', '90071992.54740991', 2 ** 53 - 1],
  ['decimal', '90071992.54740992', 2n ** 53n],
  ['decimal', '9999999999.99999999', UNITS_MAX],
  ['decimal', '-9999999999.99999999', -UNITS_MAX],
  ['decimal', '10000000000.00000000', null],
  ['decimal', '1.123456789', null],
  ['decimal', 'NaN', Infinity],
]

describe('a value', () => {
  for (const [kind, printed, code] of CODED) {
    test(`has the same code from its text and from a line of COPY, and is printed unchanged: ${kind} ${printed}`, () => {
      const column = entity.properties.findIndex(
        (property) => property.kind.name === kind && (kind !== 'integer' || property !== entity.properties[0]),
      )
      const rowCodes = new RowCodes(entity)
      expect(codeParsers[kind](printed, rowCodes.scaleOf(column))).toBe(code)
      const row = entity.properties.map((_, index) => (index === column ? printed : null))
      const line = encoder.encode(row.map((value) => value ?? '\\N').join('\t'))
      for (const uncoded of [rowCodes.code(row), rowCodes.codeLine(line, 0, line.length)]) {
        expect(uncoded === null ? null : [...uncoded]).toEqual(code === null ? [[column, printed]] : null)
        const codes = row.map((_, index) => codeOfHalves(rowCodes.highs[index] as number, rowCodes.lows[index] as number))
        expect(codes).toEqual(row.map((_, index) => (index === column ? (code ?? Number.NaN) : Number.NaN)))
      }
      if (code !== null) expect(rowCodes.printers[column]?.print(code)).toBe(printed)
    })
  }

  test('gets the same code from a line of COPY as from its text, whatever its digits', () => {
    const rowCodes = new RowCodes(entity)
    for (let count = 0; count < 20_000; count++) {
      const amount = `${digits(11)}.${digits(8).padStart(8, '0')}`
      const row = [
        digits(17),
        `Ann\t${digits(3)}`,
        random.pick(['t', 'f', null]),
        digits(3),
        null,
        '2024-02-29 23:59:59+00',
        amount,
      ]
      const line = encoder.encode(row.map((value) => value?.replace('\t', '\\t') ?? '\\N').join('\t'))
      const uncoded = rowCodes.code(row)
      const halves = [[...rowCodes.highs], [...rowCodes.lows]]
      expect(rowCodes.codeLine(line, 0, line.length)).toEqual(uncoded)
      expect([[...rowCodes.highs], [...rowCodes.lows]]).toEqual(halves)
      const units = BigInt(amount.replace('.', ''))
      expect(rowCodes.find(AMOUNT, amount)).toBe(units > UNITS_MAX ? null : canonical(units))
    }
  })
})

test('decimals are written as JSON with all their digits, whatever their scale', () => {
  const writer = new JsonWriter()
  for (let count = 0; count < 20_000; count++) {
    const scale = random.below(21)
    const units = BigInt(digits(18))
    const all = String(units).padStart(scale + 1, '0')
    const printed = scale === 0 ? all : `${all.slice(0, -scale)}.${all.slice(-scale)}`
    const printer = new Printer(decimalKind(scale), null)
    const code = codeParsers.decimal(printed, scale) as Code
    printer.write(code, writer)
    expect([new TextDecoder().decode(writer.take()), printer.print(code)]).toEqual([printed, printed])
  }
  new Printer(decimalKind(8), null).write(Infinity, writer)
  expect(new TextDecoder().decode(writer.take())).toBe('null')
})

describe('the neighboring codes of an operand', () => {
  test('that is a decimal are the nearest codes below and above it, however many digits it has', () => {
    for (let count = 0; count < 20_000; count++) {
      const scale = random.below(21)
      const fraction = random.chance(30) ? digits(scale + 1) : digits(40)
      const plain = `${random.chance(30) ? '-' : ''}${digits(random.chance(80) ? 10 : 30)}.${fraction}5`
      const { equal, below, above } = operandOf('decimal', scale, decimalKind(scale).printFilter(plain))
      // The operand and the code are compared in units of the last digit of the operand, or of the column if that is smaller.
      const finest = Math.max(scale, fraction.length + 1)
      const value = BigInt(plain.replace('.', '')) * 10n ** BigInt(finest - fraction.length - 1)
      const unit = 10n ** BigInt(finest - scale)
      const floor = value / unit - (value < 0n && value % unit !== 0n ? 1n : 0n)
      const isCode = value % unit === 0n
      const isWithin = floor <= UNITS_MAX && floor >= -UNITS_MAX
      expect(equal).toBe(isCode && isWithin ? canonical(floor) : null)
      const less = isCode ? floor - 1n : floor
      expect(below).toBe(less > UNITS_MAX ? canonical(UNITS_MAX) : less < -UNITS_MAX ? -Infinity : canonical(less))
      const more = floor + 1n
      expect(above).toBe(more > UNITS_MAX ? Infinity : more < -UNITS_MAX ? canonical(-UNITS_MAX) : canonical(more))
    }
  })

  test('that is beyond all codes are the greatest code and Infinity, or the least code and -Infinity', () => {
    const [least, greatest] = [1 - 2 ** 53, 2 ** 53 - 1]
    expect(operandOf('integer', 0, '9223372036854775807')).toEqual({ equal: null, below: greatest, above: Infinity })
    expect(operandOf('integer', 0, '-9223372036854775807')).toEqual({ equal: null, below: -Infinity, above: least })
    expect(operandOf('integer', 0, String(greatest))).toEqual({ equal: greatest, below: greatest - 1, above: Infinity })
    expect(operandOf('decimal', 8, '9999999999.999999995')).toEqual({ equal: null, below: UNITS_MAX, above: Infinity })
  })

  test('that is a date or an instant are its own code minus one and plus one', () => {
    expect(operandOf('date', 0, '2000-01-02')).toEqual({ equal: 1, below: 0, above: 2 })
    expect(operandOf('instant', 0, '2000-01-01 00:01:00+00')).toEqual({ equal: 60, below: 59, above: 61 })
  })
})
