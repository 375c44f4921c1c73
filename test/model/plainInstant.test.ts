import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { instantKind } from '../../src/model/dateKinds.ts'
import { instantHint, plainInstantOf } from '../../src/model/plainInstant.ts'

/** Returns the result of `parse`, or the message of the error that it throws. */
function outcome(parse: () => string): string {
  try {
    return parse()
  } catch (error) {
    return (error as Error).message
  }
}

/** A text with an offset is never plain: the same moment, read through a `Date`. */
const readByDate = (text: string) => outcome(() => instantKind.parseFilter(text.replace('Z', '+00:00')))

function expectAgreement(text: string) {
  const byDate = readByDate(text)
  expect([text, plainInstantOf(text) === text]).toEqual([text, byDate === text])
  expect(outcome(() => instantKind.parseFilter(text))).toBe(byDate)
  const [fraction] = fc.sample(fc.stringMatching(/^\.\d{1,9}$/), 1) as [string]
  const withFraction = text.replace('Z', `${fraction}Z`)
  expect([withFraction, plainInstantOf(withFraction)]).toEqual([withFraction, byDate === text ? text : null])
  expect(outcome(() => instantKind.parseFilter(withFraction))).toBe(byDate)
}

const two = (part: number) => String(part).padStart(2, '0')
const four = (year: number) => String(year).padStart(4, '0')

test('the pattern for dates accepts exactly the days of every month, in leap years, common years and centuries', () => {
  for (const year of [0, 1, 4, 96, 99, 100, 104, 400, 1600, 1900, 1999, 2000, 2023, 2024, 2100, 2400, 9999])
    for (let month = 0; month <= 13; month++)
      for (const day of [0, 1, 28, 29, 30, 31, 32, 99]) expectAgreement(`${four(year)}-${two(month)}-${two(day)}T12:34:56Z`)
})

test('a date-time with random digits is accepted if and only if Date accepts it', () => {
  const texts = fc
    .tuple(fc.nat(9999), fc.nat(14), fc.nat(33), fc.nat(25), fc.nat(61), fc.nat(61))
    .map(([year, month, day, ...time]) => `${four(year)}-${two(month)}-${two(day)}T${time.map(two).join(':')}Z`)
  fc.assert(fc.property(texts, expectAgreement), { numRuns: 5_000 })
})

test('a fraction of a second needs digits after the point, and then a capital Z', () => {
  for (const fraction of ['.', ',5', '.5z', '.-5', '.5 ', '.٥', '.5+00:00', '.5Z', '5']) {
    const text = `2024-01-31T09:00:00${fraction}Z`
    expect([text, plainInstantOf(text)]).toEqual([text, null])
  }
  expect(plainInstantOf('2024-01-31T09:00:00.987654321Z')).toBe('2024-01-31T09:00:00Z')
})

const NEARLY = [
  ['2024-01-31', '2024-01-31T00:00:00Z'],
  ['2024-02-29', '2024-02-29T00:00:00Z'],
  ['2024-01-31T09:30', '2024-01-31T09:30:00Z'],
  ['2024-01-31T09:30Z', '2024-01-31T09:30:00Z'],
  ['2024-01-31T09:30:15', '2024-01-31T09:30:15Z'],
  ['2024-01-31T09:30:15.250', '2024-01-31T09:30:15Z'],
  ['2024-01-31 09:30:15', '2024-01-31T09:30:15Z'],
  ['2024-01-31 09:30:15Z', '2024-01-31T09:30:15Z'],
  ['2024-01-31 09:30:15 +0200', '2024-01-31T09:30:15+02:00'],
  ['2024-01-31T09:30+02:00', '2024-01-31T09:30:00+02:00'],
] as const

test.each(NEARLY)('the hint for %s is %s, which is a valid date-time in filters and in bodies', (text, meant) => {
  expect(instantHint(text)).toBe(`; for ${text} write ${meant}`)
  expect(() => instantKind.parseFilter(text)).toThrow(`must be a date-time like 2024-01-31T09:00:00Z; for ${text} write ${meant}`)
  expect(() => instantKind.parseJson(text)).toThrow(`; for ${text} write ${meant}`)
  expect(() => instantKind.parseFilter(meant)).not.toThrow()
})

test('the hint for a date-time says that a + was not percent-encoded', () => {
  expect(instantHint('2024-01-31T09:00:00 02:00')).toBe('; a + in a query string must be written %2B')
})

test('a text that is no date, or a date that does not exist, has no hint', () => {
  const texts = ['yesterday', '', '31.01.2024', '2023-02-30', '2024-13-01', '2024-01-31T25:00', '0000-01-01', '2024-01-31x']
  for (const text of [...texts, `2024-01-31T09:30:15.${'0'.repeat(1_000)}`]) expect(instantHint(text)).toBe('')
})
