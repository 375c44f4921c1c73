import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { instantOf, localOf } from '../../src/pages/explore/zone.ts'

const AMSTERDAM = 'Europe/Amsterdam'

test.each([
  ['in winter', '2026-01-31T09:00:00Z', AMSTERDAM, '2026-01-31T10:00:00'],
  ['in summer', '2026-07-31T22:30:00Z', AMSTERDAM, '2026-08-01T00:30:00'],
  ['in UTC', '2026-07-31T22:30:00Z', 'UTC', '2026-07-31T22:30:00'],
  ['west of Greenwich', '2026-01-01T02:00:00Z', 'America/New_York', '2025-12-31T21:00:00'],
  ['in a zone of three quarters of an hour', '2026-01-01T00:00:00Z', 'Asia/Kathmandu', '2026-01-01T05:45:00'],
  ['with a fraction of a second', '2026-01-31T09:00:00.123456Z', AMSTERDAM, '2026-01-31T10:00:00.123456'],
  ['at midnight', '2026-01-31T23:00:00Z', AMSTERDAM, '2026-02-01T00:00:00'],
])('An instant %s has the expected wall-clock time, which is converted back to the same instant', (_, instant, zone, local) => {
  expect(localOf(instant, zone)).toBe(local)
  expect(instantOf(local, zone)).toBe(instant)
})

test('A wall-clock time that clocks skip is moved later by the length of the skipped time', () => {
  expect(instantOf('2026-03-29T02:30', AMSTERDAM)).toBe('2026-03-29T01:30:00Z')
  expect(localOf('2026-03-29T01:30:00Z', AMSTERDAM)).toBe('2026-03-29T03:30:00')
  // Samoa had no 30 December 2011.
  expect(localOf(instantOf('2011-12-30T10:00', 'Pacific/Apia') as string, 'Pacific/Apia')).toBe('2011-12-31T10:00:00')
  // Clocks in Beirut skip midnight.
  expect(localOf(instantOf('2026-03-29T00:00', 'Asia/Beirut') as string, 'Asia/Beirut')).toBe('2026-03-29T01:00:00')
})

test('A wall-clock time that clocks repeat means the first of its two instants, unless the field already had the second', () => {
  const [first, second] = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z']
  expect([first, second].map((instant) => localOf(instant, AMSTERDAM))).toEqual(['2026-10-25T02:30:00', '2026-10-25T02:30:00'])
  expect(instantOf('2026-10-25T02:30', AMSTERDAM)).toBe(first)
  expect(instantOf('2026-10-25T02:30', AMSTERDAM, second)).toBe(second)
  expect(instantOf('2026-10-25T02:31', AMSTERDAM, second)).toBe('2026-10-25T00:31:00Z')
})

test.each(['', 'infinity', '2026-13-01T00:00', '2026-01-01', '12026-01-01T00:00', '0000-01-01T00:00'])(
  'The text %p is no wall-clock time, and no instant',
  (text) => {
    expect([instantOf(text, AMSTERDAM), localOf(`${text}Z`, AMSTERDAM)]).toEqual([null, null])
  },
)

test('A wall-clock time on a date that does not exist, such as 30 February, has no instant', () => {
  expect(instantOf('2026-02-30T00:00', AMSTERDAM)).toBeNull()
})

test('Random instants are converted to wall-clock times and back in seven zones', () => {
  const zones = ['UTC', AMSTERDAM, 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Casablanca', 'Asia/Tehran']
  const seconds = fc.integer({ min: Date.UTC(1800, 0, 1) / 1_000, max: Date.UTC(9000, 0, 1) / 1_000 })
  fc.assert(
    fc.property(seconds, fc.constantFrom(...zones), (second, zone) => {
      const instant = new Date(second * 1_000).toISOString().replace('.000', '')
      const local = localOf(instant, zone) as string
      expect(instantOf(local, zone, instant)).toBe(instant)
      expect(localOf(instantOf(local, zone) as string, zone)).toBe(local)
    }),
    { numRuns: 500 },
  )
})
