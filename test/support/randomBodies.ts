import { hostileTexts } from './hostile.ts'
import type { Random } from './random.ts'
import type { AimedCollection, AimedField } from './surface.ts'

/** Draws a body for any write: valid for this collection, nearly valid, or valid for no collection. */
export function randomBody(random: Random, collection: AimedCollection): Buffer {
  const kind = random.below(100)
  if (kind < 70) return Buffer.from(randomObject(random, collection))
  if (kind < 76) return Buffer.from(randomRows(random, collection))
  if (kind < 88) return Buffer.from(random.mangle(randomObject(random, collection)))
  if (kind < 94) return Buffer.from(random.pick(NO_OBJECTS))
  const one = random.pick(collection.writable).name.split('.')[0] as string
  return Buffer.from(random.pick(oddBodies)(random, one))
}

/** Draws a body of several rows, or a body that is nearly valid as one. D59 */
function randomRows(random: Random, collection: AimedCollection): string {
  const rows = [randomObject(random, collection), ...random.times(4, () => randomObject(random, collection))]
  const all = random.chance(4) ? Array(random.pick([101, 1_000, 1_001])).fill('{}') : rows
  const text = random.chance(70) ? `[${all.join()}]` : all.join('\n')
  return random.chance(20) ? random.mangle(text) : text
}

const NO_OBJECTS = [
  ...['', ' ', 'null', '[]', '"text"', '1', 'true', '{', '}', '{}{}', '\ufeff{}', "{'Name':1}", 'Name=x', '<a/>', 'NaN'],
  ...['{"a":1,}', '{,}', '{"a"}', '{"a":}', '[{}]', '{"a":1}\0', '\0', '// {}\n{}', '{"\\u0000":1}', '-', '1e400', '"'],
]

/** Bodies of special kinds; `name` is a property of the entity. */
const oddBodies: readonly ((random: Random, name: string) => string | Buffer)[] = [
  (random) => Buffer.from([0x7b, 0x22, ...random.times(40, () => random.below(256)), 0x22, 0x7d]),
  (random, name) => `{"${name}":${random.pick(['[', '{"a":'])}`.repeat(1 + random.below(3_000)),
  (random, name) => nested(name, random.pick([1, 62, 63, 64, 65, 400])),
  (random, name) => `{"${name}":${random.pick(['"a"', '5', 'true', 'null'])},"${name}":${random.pick(['"b"', '[]'])}}`,
  (random, name) => `{"${name}":[${'1,'.repeat(random.pick([1, 9_990, 10_010]))}1]}`,
  (random) => `{${Array.from({ length: random.pick([3, 99, 101, 3_000]) }, (_, at) => `"k${at}":${at}`)}}`,
  (random, name) => `{"${name}":"${'x'.repeat(random.pick([100, 101, 200, 201, 1_000, 20_000]))}"}`,
  (random, name) => `{"${name}":"${'😀'.repeat(random.pick([99, 100, 101, 200, 201]))}"}`,
  (random, name) => (random.chance(3) ? `{"${name}":"${'x'.repeat(random.pick([1_048_565, 1_048_566, 1_100_000]))}"}` : '{}'),
  (_, name) => Buffer.from(`{"${name}":"é"}`, 'utf16le'),
  (_, name) => Buffer.from(`{"${name}":"é"}`, 'latin1'),
  (_, name) => Bun.gzipSync(`{"${name}":"a"}`) as Buffer,
  (random, name) => `{"${name}":"\\u${random.pick(['d800', 'dc00\\ud800', '0000', 'ffff', 'D83D\\uDE00', '12', 'zzzz'])}"}`,
  (random, name) => `{"${name}":${'9'.repeat(random.pick([17, 40, 400, 9_000]))}}`,
  (random, name) => `{"${name}":${random.pick(['1e400', '-1e400', '1e-400', '1E+2', '-0', '0.1e1', '1e9999999999'])}}`,
  (random, name) => `{"${name}":{"${random.pick(PROTOTYPE_NAMES)}":{"a":1}}}`,
  (random) => `{"${random.pick(PROTOTYPE_NAMES)}":{"${random.pick(PROTOTYPE_NAMES)}":1}}`,
]

const PROTOTYPE_NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__', 'then']

function nested(name: string, depth: number): string {
  // Over 16 KiB, beyond which the server first checks depth and counts.
  const padding = ' '.repeat(17_000)
  return `{"${name}":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}${depth % 2 ? '' : padding}}`
}

function randomObject(random: Random, { writable }: AimedCollection): string {
  const top: string[] = []
  const groups = new Map<string, string[]>()
  for (const field of writable) {
    if (!random.chance(field.kind === 'integer' ? 40 : 60)) continue
    const dot = field.name.indexOf('.')
    const own = field.name.slice(dot + 1)
    const name = random.chance(97)
      ? random.pick([own, own.toLowerCase()])
      : random.chance(50)
        ? random.mangle(own)
        : random.pick(hostileTexts)
    const list = dot === -1 ? top : membersOf(groups, field.name.slice(0, dot))
    list.push(`${JSON.stringify(name)}:${randomValue(random, field)}`)
    if (random.chance(1)) list.push(`${JSON.stringify(name.toUpperCase())}:${randomValue(random, field)}`)
  }
  for (const [name, members] of groups)
    top.push(`"${name}":${random.chance(95) ? `{${members}}` : random.pick(['null', '[]', '1', '"x"', '{}'])}`)
  if (random.chance(10)) top.push(random.pick(STRANGERS))
  return `{${top}}`
}

const STRANGERS = [
  ...['"id":5', '"Id":null', '"DisplayName":"x"', '"Employee":[]', '"__proto__":{"a":1}', '"constructor":1'],
  ...['"toString":null', '"__proto__":null', '"":1', '"id":{"id":1}'],
]

function membersOf(groups: Map<string, string[]>, name: string): string[] {
  const members = groups.get(name) ?? []
  groups.set(name, members)
  return members
}

function randomValue(random: Random, { kind }: AimedField): string {
  if (random.chance(2)) return random.pick(MISFITS)
  if (kind === 'text') return JSON.stringify(random.chance(95) ? randomText(random, kind) : random.pick(hostileTexts))
  if (kind === 'boolean') return random.pick(['true', 'false'])
  if (kind === 'integer')
    return random.chance(85)
      ? String(1 + random.below(60))
      : random.pick(['0', '-1', '1.0', '1e1', '1.5', '9007199254740993', '1e300', '1e-3'])
  if (kind === 'instant') return JSON.stringify(randomInstant(random))
  if (kind === 'date' || kind === 'oneOf') return JSON.stringify(randomText(random, kind))
  return random.chance(75) ? `${random.below(100)}.${random.below(9)}` : randomNumber(random)
}

const MISFITS = [
  ...['null', '{}', '[]', 'true', '""', '1', '"1"', '{"a":[1]}', '"\\u0000"', '"\\ud800"', '"\\uD83D\\uDE00"'],
  ...['{"source":"1; drop table company"}', '{"then":1}', '[["a"]]', '1e400', '"\\u2028"'],
]

/** Draws a value for a filter. */
export function randomText(random: Random, kind: AimedField['kind']): string {
  if (kind === 'text') return random.pick(['a', 'A', 'Zoë', 'Approved', 'é', '10', ' ', '😀', 'x'.repeat(random.below(110))])
  if (kind === 'boolean') return random.pick(['true', 'false', 'TRUE', 'yes', '1'])
  if (kind === 'integer')
    return random.chance(60)
      ? String(random.below(120))
      : random.pick([
          ...['-5', '007', '9'.repeat(30), '-9223372036854775809', '1.0', '9223372036854775807', '9223372036854775808'],
          ...['-9223372036854775808', '9007199254740992', '0', '-0', '9'.repeat(2_000)],
        ])
  if (kind === 'decimal') return randomNumber(random)
  if (kind === 'oneOf') return random.pick(['Requested', 'Approved', 'requested', 'Requested ', '=Requested', ''])
  if (kind === 'date')
    return random.chance(10)
      ? random.pick(['0000-01-01', '2023-02-29', '10000-01-01', 'infinity', '2024-1-1', '2024-01-31 BC'])
      : randomInstant(random).slice(0, 10)
  return randomInstant(random)
}

function randomNumber(random: Random): string {
  if (random.chance(60)) return `${random.below(1_000)}.${random.below(100)}`
  return random.pick([
    ...['0', '-0', '-1', '1e2', '1E-8', '1e-9', '1e10', '9999999999.99999999', '10000000000', '1e400', '1e-400'],
    ...['1e99999999999', '-1e999', '0e999999999', '0.000000001', '1'.repeat(400), `0.${'0'.repeat(300)}1`, '1.', '.5'],
    ...['+1', 'NaN', 'Infinity', '9999999999.999999995', '1e-2147483649', `1e${'9'.repeat(300)}`, '-0.000000001'],
  ])
}

function randomInstant(random: Random): string {
  const two = (end: number) => String(random.below(end)).padStart(2, '0')
  if (random.chance(96))
    return `20${two(99)}-0${1 + random.below(9)}-${random.pick(['01', '15', '28', '28', '30'])}T${two(24)}:${two(60)}:${two(60)}Z`
  return random.pick([
    ...['2024-01-31', '2024-01-31T09:00Z', '2024-01-31T09:00:00', '2024-02-30T00:00:00Z', '0000-01-01T00:00:00Z'],
    ...['0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59', '2024-01-31T24:00:00Z', '2024-01-31T23:59:60Z'],
    ...['2024-01-31T09:00:00+99:99', 'infinity', 'now', 'epoch', '2024-01-31 09:00:00Z', '2024-01-31t09:00:00z'],
    ...['2024-01-31T09:00:00.123456789123Z', '+012024-01-31T09:00:00Z', '2024-01-31T09:00:00 05:00'],
    ...['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59.999999999Z', '10000-01-01T00:00:00Z'],
    ...['-0001-01-01T00:00:00Z', `2024-01-31T09:00:00.${'9'.repeat(900)}Z`],
  ])
}
