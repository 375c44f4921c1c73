import type { Random } from './random.ts'

/** Values that a column can hold, including values that only SQL can write. Many of them are next to each other. */
const values = {
  text: [
    ...['', ' ', 'a', 'A', 'á', 'a\u0301', 'a ', ' a', 'ab', 'a-b', 'b', 'ß', 'ss', 'Zoë', 'zoe', '9', '10', 'null'],
    ...['\ufeffa', '\u200ba', 'ﬁ', 'fi', '😀', '\u{10ffff}', "a'b", 'a"b', 'a\\b', 'a%b', '<b>', '=a', 'true', '\n'],
  ],
  instant: [
    ...['-infinity', '4713-01-01 00:00:00+00 BC', '0044-03-15 00:00:00+00 BC', '0001-12-31 23:59:59+00 BC'],
    ...['0001-01-01 00:00:00+00', '0044-03-15 00:00:00+00', '0999-12-31 23:59:59+00', '1000-01-01 00:00:00+00'],
    ...['2023-12-31 23:59:59+00', '2024-01-01 00:00:00+00', '2024-01-31 08:59:59+00', '2024-01-31 09:00:00+00'],
    ...['2024-01-31 09:00:01+00', '2024-02-01 09:00:00+00', '2024-02-29 00:00:00+00', '9999-12-31 23:59:58+00'],
    ...['9999-12-31 23:59:59+00', '10000-01-01 00:00:00+00', '99999-01-01 00:00:00+00', '294276-12-31 23:59:59+00'],
    'infinity',
  ],
}

/** Draws a value of the kind, as SQL takes it. */
export function storedValue(kind: 'text' | 'instant', random: Random): string {
  return random.pick(values[kind])
}

interface Operands {
  readonly far: readonly string[]
  /** Draws a notation of the printed value, or of a value next to it; '' if no operand can be near. */
  near(printed: string, random: Random): string
}

const operands: Record<string, Operands> = {
  text: {
    far: [...values.text.filter(Boolean), 'x'.repeat(500)],
    near: (text, random) => random.pick([text, text, `${text} `, text.toUpperCase(), text.normalize('NFD')]),
  },
  boolean: { far: ['true', 'FALSE'], near: (text) => (text === 't' ? 'True' : 'false') },
  integer: {
    far: ['-0', '007', '9007199254740993', '9223372036854775807', '9'.repeat(30), `-${'9'.repeat(30)}`, '5000'],
    near: (text, random) => integerSpelt(BigInt(text) + BigInt(random.below(3) - 1), random.pick(['', '', '00'])),
  },
  instant: {
    far: ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '2024-01-31T10:00:00+01:00', '2024-01-31t09:00:00.999z'],
    near: instantNear,
  },
  decimal: {
    far: [
      ...['-0', '0.000000001', '-1e-9', '3e0', '300.0e-2', '0.3e1', '3.000000001', '2.999999999', '99999999999'],
      ...['1e100', '-1e100', '1234567890.123456785', '9999999999.999999999', `1${'0'.repeat(90)}.${'0'.repeat(90)}1`],
    ],
    near: decimalNear,
  },
}

/** Draws an operand of a filter, which is not empty. Often it is near `printed`, the value of a row as PostgreSQL prints it. */
export function operandNear(kind: string, printed: string | null, random: Random): string {
  const { far, near } = operands[kind] as Operands
  return (printed !== null && random.chance(75) && near(printed, random)) || random.pick(far)
}

function integerSpelt(value: bigint, zeros: string): string {
  return value < 0n ? `-${zeros}${-value}` : zeros + value
}

const ZONES_MINUTES = { Z: 0, '+05:30': 330, '-11:00': -660 }

function instantNear(printed: string, random: Random): string {
  const [, year, rest] = /^(\d{4})(-\d\d-\d\d \d\d:\d\d:\d\d)\+00$/.exec(printed) ?? []
  // Operands must be within the years 1 to 9999. A value next to these could be outside.
  if (!year || !rest || year === '0001' || year === '9999') return ''
  const atMs = Date.parse(`${year}${rest.replace(' ', 'T')}Z`)
  const [zone, minutes] = random.pick(Object.entries(ZONES_MINUTES))
  const local = new Date(atMs + (random.below(3) - 1) * 1_000 + minutes * 60_000).toISOString()
  return local.slice(0, 19) + random.pick(['', '', '.25']) + zone
}

/** Draws a decimal near a printed one. `tenths` counts tenths of the column's last place. */
function decimalNear(printed: string, random: Random): string {
  if (printed === 'NaN') return ''
  const tenths = BigInt(printed.replace('.', '')) * 10n + BigInt(random.pick([0, 0, 0, 1, -1, 10, -10]))
  return random.pick([`${tenths}e-9`, `${tenths}0E-10`, asPlain(tenths)])
}

function asPlain(tenths: bigint): string {
  const digits = String(tenths).replace('-', '').padStart(10, '0')
  return `${tenths < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`
}
