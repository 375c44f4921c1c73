import { hostileTexts } from './hostile.ts'
import { type Collection, type Field, writable } from './model.ts'
import type { Random } from './random.ts'

/** A body for any write: of this collection, near one, or of none. */
export function randomBody(random: Random, collection: Collection): Buffer {
  const kind = random.below(100)
  if (kind < 76) return Buffer.from(randomObject(random, collection))
  if (kind < 90) return Buffer.from(random.mangle(randomObject(random, collection)))
  if (kind < 95)
    return Buffer.from(
      random.pick([
        '',
        ' ',
        'null',
        '[]',
        '"text"',
        '1',
        'true',
        '{',
        '{}{}',
        '\ufeff{}',
        "{'Name':1}",
        'Name=x',
        '<a/>',
        'NaN',
        '{"a":1,}',
      ]),
    )
  if (kind < 97) return Buffer.from([0x7b, 0x22, ...random.times(40, () => random.below(256)), 0x22, 0x7d])
  if (kind < 99) return Buffer.from(`{"Period":${random.pick(['[', '{"Period":'])}`.repeat(1 + random.below(3_000)))
  return Buffer.from(`{"Name":"${'x'.repeat(random.pick([1_000, 100_000, 1_048_565, 1_048_566, 1_100_000]))}"}`)
}

function randomObject(random: Random, collection: Collection): string {
  const top: string[] = []
  const period: string[] = []
  for (const field of writable[collection]) {
    if (!random.chance(field.kind === 'integer' ? 40 : 60)) continue
    const own = field.name.slice(field.name.indexOf('.') + 1)
    const name = random.chance(97)
      ? random.pick([own, own.toLowerCase()])
      : random.chance(50)
        ? random.mangle(own)
        : random.pick(hostileTexts)
    const list = field.name.includes('.') ? period : top
    list.push(`${JSON.stringify(name)}:${randomValue(random, field)}`)
    if (random.chance(1)) list.push(`${JSON.stringify(name.toUpperCase())}:${randomValue(random, field)}`)
  }
  if (period.length > 0)
    top.push(random.chance(95) ? `"Period":{${period}}` : `"Period":${random.pick(['null', '[]', '1', '"x"', '{}'])}`)
  if (random.chance(10))
    top.push(
      random.pick([
        '"id":5',
        '"Id":null',
        '"DisplayName":"x"',
        '"Employee":[]',
        '"__proto__":{"a":1}',
        '"constructor":1',
        '"toString":null',
      ]),
    )
  return `{${top}}`
}

function randomValue(random: Random, { kind }: Field): string {
  if (random.chance(2))
    return random.pick([
      'null',
      '{}',
      '[]',
      'true',
      '""',
      '1',
      '"1"',
      '{"a":[1]}',
      '"\\u0000"',
      '"\\ud800"',
      '"\\uD83D\\uDE00"',
    ])
  if (kind === 'text') return JSON.stringify(random.chance(95) ? randomText(random, kind) : random.pick(hostileTexts))
  if (kind === 'boolean') return random.pick(['true', 'false'])
  if (kind === 'integer')
    return random.chance(85)
      ? String(1 + random.below(60))
      : random.pick(['0', '-1', '1.0', '1e1', '1.5', '9007199254740993', '1e300', '1e-3'])
  if (kind === 'instant') return JSON.stringify(randomInstant(random))
  return random.chance(75) ? `${random.below(100)}.${random.below(9)}` : randomNumber(random)
}

/** A value as it stands in a filter. */
export function randomText(random: Random, kind: Field['kind']): string {
  if (kind === 'text')
    return random.pick(['a', 'A', 'Zoë', 'Approved', 'é', '10', ' ', '😀', 'x'.repeat(random.below(110))])
  if (kind === 'boolean') return random.pick(['true', 'false', 'TRUE', 'yes', '1'])
  if (kind === 'integer')
    return random.pick([String(random.below(120)), '-5', '007', '9'.repeat(30), '-9223372036854775809', '1.0'])
  if (kind === 'decimal') return randomNumber(random)
  return randomInstant(random)
}

function randomNumber(random: Random): string {
  if (random.chance(60)) return `${random.below(1_000)}.${random.below(100)}`
  return random.pick([
    ...[
      '0',
      '-0',
      '-1',
      '1e2',
      '1E-8',
      '1e-9',
      '1e10',
      '9999999999.99999999',
      '10000000000',
      '1e400',
      '1e-400',
      '1e99999999999',
    ],
    ...[
      '-1e999',
      '0e999999999',
      '0.000000001',
      '1'.repeat(400),
      `0.${'0'.repeat(300)}1`,
      '1.',
      '.5',
      '+1',
      'NaN',
      'Infinity',
    ],
  ])
}

function randomInstant(random: Random): string {
  const two = (end: number) => String(random.below(end)).padStart(2, '0')
  if (random.chance(96))
    return `20${two(99)}-0${1 + random.below(9)}-${random.pick(['01', '15', '28', '28', '30'])}T${two(24)}:${two(60)}:${two(60)}Z`
  return random.pick([
    ...[
      '2024-01-31',
      '2024-01-31T09:00Z',
      '2024-01-31T09:00:00',
      '2024-02-30T00:00:00Z',
      '0000-01-01T00:00:00Z',
      '0001-01-01T00:00:00+23:59',
    ],
    ...[
      '9999-12-31T23:59:59-23:59',
      '2024-01-31T24:00:00Z',
      '2024-01-31T23:59:60Z',
      '2024-01-31T09:00:00+99:99',
      'infinity',
      'now',
      'epoch',
    ],
    ...[
      '2024-01-31 09:00:00Z',
      '2024-01-31T09:00:00.123456789123Z',
      '2024-01-31t09:00:00z',
      '+012024-01-31T09:00:00Z',
      '2024-01-31T09:00:00 05:00',
    ],
  ])
}
