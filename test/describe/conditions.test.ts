import { describe, expect, test } from 'bun:test'
import { conditionPattern, conditionSchemas, INSTANT_PATTERN } from '../../src/describe/conditions.ts'
import { ApiError } from '../../src/errors.ts'
import { defineEntity, identity, instant } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseComplete, wholeBody } from '../../src/parse/assignments.ts'
import { parseFilter } from '../../src/parse/filter.ts'
import { entities } from '../support/entities.ts'
import { hostileTexts } from '../support/hostile.ts'
import { Random } from '../support/random.ts'
import { randomText } from '../support/randomBodies.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

const properties = entities.flatMap((entity) => entity.properties.map((property) => ({ entity, property })))
const byKind = [...Map.groupBy(properties, ({ property }) => property.kind.name)].map(
  ([kind, [first]]) => [kind, first as (typeof properties)[number]] as const,
)

/** What filters are made of, so that random ones come near the border of what is taken. */
const PIECES = [
  ...['', '=', '!=', '<', '<=', '>', '>=', '!', '-', '+', '.', 'e', 'E', '0', '00', '7', '29', '1900', '2000', '\n', ' ', '\0'],
  ...['true', 'False', 'TRUE', 'tru', 'é', '😀', 'Z', 'z', 't', '+23:59', '-00:00'],
  ...['2024-02-29T00:00:00Z', '2023-02-29T00:00:00Z'],
  ...['2024-12-31T23:59:59.5z', '0001-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '2026-03-01T09:00:00+01:00', '1e10', '4.5'],
]

function isTaken(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

describe.each(byKind)('the pattern of conditions on %s', (kind, { entity, property }) => {
  const pattern = new RegExp(conditionPattern(property.kind))
  const takes = (value: string) => isTaken(() => parseFilter(wholeView(entity), { name: property.name, value, raw: '' }))

  test('accepts exactly the values that the parser accepts', () => {
    const random = new Random(firstSeed)
    const differing: string[] = []
    let taken = 0
    for (let round = 0; round < rounds(5_000, 200_000); round++) {
      const value = random.chance(30)
        ? random.pick(['', '=', '!=', '<', '>=']) + randomText(random, property.kind.name as 'text')
        : random.times(4, () => random.pick(PIECES)).join('')
      // More than 50 digits, and exponents of three, may be taken and are not described.
      if (kind === 'decimal' && (value.length > 50 || /e[+-]?\d{3}/i.test(value))) continue
      if (takes(value)) taken++
      if (pattern.test(value) !== takes(value)) differing.push(value)
    }
    expect(differing).toEqual([])
    expect(taken).toBeGreaterThan(100)
  })

  test('accepts exactly the hostile texts that the parser accepts', () => {
    const short = hostileTexts.filter((value) => value.length < 50)
    expect(short.filter((value) => pattern.test(value) !== takes(value))).toEqual([])
  })
})

test('D72: the pattern for [begins] and [contains] accepts exactly the texts that the parser accepts', () => {
  const { entity, property } = properties.find(({ property }) => property.kind.name === 'text') as (typeof properties)[number]
  const pattern = new RegExp(conditionSchemas([property.kind]).TextPart?.pattern as string, 'u')
  const random = new Random(firstSeed)
  const pieces = ['\u0300', '\u0344', '\u036f', '\u02ff', '\u0370', '\u1dc4', '\u200d', 'é', 'e', ' ', '\n', '=', '😀', '\0']
  const differing: string[] = []
  for (let round = 0; round < rounds(2_000, 50_000); round++) {
    const value = random.times(3, () => random.pick(pieces)).join('')
    const isPart = isTaken(() => parseFilter(wholeView(entity), { name: `${property.name}[contains]`, value, raw: '' }))
    if (pattern.test(value) !== isPart) differing.push(value)
  }
  expect(differing).toEqual([])
})

test('D15: the pattern of date-times accepts exactly the days that exist', () => {
  const entity = defineEntity('Day', { id: identity(), day: instant() })
  const pattern = new RegExp(`^${INSTANT_PATTERN}$`)
  const two = (number: number) => String(number).padStart(2, '0')
  const differing: string[] = []
  for (const year of ['0001', '0004', '0099', '0100', '0400', '1900', '1999', '2000', '2023', '2024', '9996', '9999'])
    for (let month = 0; month <= 13; month++)
      for (let day = 0; day <= 32; day++) {
        const text = `${year}-${two(month)}-${two(day)}T09:00:00Z`
        if (pattern.test(text) !== isTaken(() => parseComplete(entity, wholeBody(entity), { day: text }))) differing.push(text)
      }
  expect(differing).toEqual([])
})

test('D15: the pattern of date-times refuses an offset that leads out of the years 1 to 9999', () => {
  const pattern = new RegExp(`^${INSTANT_PATTERN}$`)
  for (const text of ['0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01']) expect(text).not.toMatch(pattern)
  for (const text of ['0002-01-01T00:00:00+23:59', '9998-12-31T23:59:59-23:59']) expect(text).toMatch(pattern)
})
