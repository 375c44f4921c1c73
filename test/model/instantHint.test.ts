import { expect, test } from 'bun:test'
import { instantKind } from '../../src/model/instantKind.ts'
import { instantHint } from '../../src/model/plainInstant.ts'

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

test.each(NEARLY)('%s: what to write is %s, which is a date-time, in filters and in bodies', (text, meant) => {
  expect(instantHint(text)).toBe(`; for ${text} write ${meant}`)
  expect(() => instantKind.parseFilter(text)).toThrow(`must be a date-time like 2024-01-31T09:00:00Z; for ${text} write ${meant}`)
  expect(() => instantKind.parseJson(text)).toThrow(`; for ${text} write ${meant}`)
  expect(() => instantKind.parseFilter(meant)).not.toThrow()
})

test('a + that was not encoded is named', () => {
  expect(instantHint('2024-01-31T09:00:00 02:00')).toBe('; a + in a query string must be written %2B')
})

test('what is no date, or none that exists, has no hint', () => {
  const texts = ['yesterday', '', '31.01.2024', '2023-02-30', '2024-13-01', '2024-01-31T25:00', '0000-01-01', '2024-01-31x']
  for (const text of [...texts, `2024-01-31T09:30:15.${'0'.repeat(1_000)}`]) expect(instantHint(text)).toBe('')
})
