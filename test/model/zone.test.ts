import { expect, test } from 'bun:test'
import { daysOf } from '../../src/columns/codes.ts'
import { Zone, zoneNames } from '../../src/model/zone.ts'
import { Random } from '../support/random.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

const EPOCH = Date.UTC(2000, 0, 1) / 1_000
const YEAR = 31_556_952
const zoneOf = (name: string) => Zone.named(name) as Zone
const secondsOf = (text: string) => Date.parse(text) / 1_000 - EPOCH
const textOf = (seconds: number) => `${new Date((EPOCH + seconds) * 1_000).toISOString().slice(0, 19)}Z`

/** Zones whose clocks went back over midnight; by Temporal such a day ends, begins again and ends a second time. */
const TWICE = /St_Johns|Goose_Bay|Juneau|Sitka|Metlakatla|Nome|Anchorage|Yakutat|Adak|Manila|Guam|Saipan|Samoa|Midway|Pago|Apia/

const random = new Random(firstSeed)
const ALWAYS = [
  'Europe/Amsterdam',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
  'America/Havana',
]
const others = zoneNames().filter((name) => !TWICE.test(name) && !ALWAYS.includes(name))

test.each([...ALWAYS, ...random.times(rounds(12, 400), () => random.pick(others))])(
  'the days of %s from 1800 to 9999 begin at the same instants as by Temporal',
  (name) => {
    const zone = zoneOf(name)
    for (let round = 0; round < 300; round++) {
      const seconds = Math.floor(
        (round % 3 === 0 ? random.below(8_198) - 199 : random.below(200) - 130) * YEAR + random.below(YEAR),
      )
      const local = Temporal.Instant.fromEpochMilliseconds((EPOCH + seconds) * 1_000).toZonedDateTimeISO(name)
      const day = daysOf(local.year, local.month, local.day)
      const begin = local.startOfDay().epochMilliseconds / 1_000 - EPOCH
      expect([local.toString(), zone.dayAt(seconds), zone.startOf(day)]).toEqual([local.toString(), day, begin])
    }
  },
)

test('each day of a zone begins at or before its instants, and the next day begins after them', () => {
  for (const name of random.times(rounds(15, 400), () => random.pick(zoneNames()))) {
    const zone = zoneOf(name)
    for (const at of zone.all.from.slice(1))
      for (let round = 0; round < 4; round++) {
        const seconds = at - 100_000 + random.below(200_000)
        const day = zone.dayAt(seconds)
        expect(zone.startOf(day), name).toBeLessThanOrEqual(seconds)
        expect(zone.startOf(day + 1), name).toBeGreaterThan(seconds)
      }
  }
})

test.each([
  ['begins at midnight in winter time the day after clocks go back', 'Europe/Amsterdam', '2026-10-26', '2026-10-25T23:00:00Z'],
  ['begins at the half-hour offset of India', 'Asia/Kolkata', '2026-02-01', '2026-01-31T18:30:00Z'],
  ['begins at the 45-minute offset of Nepal', 'Asia/Kathmandu', '2026-02-01', '2026-01-31T18:15:00Z'],
  ['begins in summer time that is half an hour ahead', 'Australia/Lord_Howe', '2026-01-01', '2025-12-31T13:00:00Z'],
  ['begins in winter time of the same zone', 'Australia/Lord_Howe', '2026-07-01', '2026-06-30T13:30:00Z'],
  ['begins at 01:00 where clocks skip midnight', 'America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00Z'],
  ['begins at the first of two midnights', 'America/Havana', '2026-11-01', '2026-11-01T04:00:00Z'],
  ['that clocks skip begins when the next day does', 'Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00Z'],
  ['begins only once where clocks go back over midnight', 'America/St_Johns', '2006-10-29', '2006-10-29T02:30:00Z'],
])('a day %s: %s %s', (_, name, date, begin) => {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  expect(textOf(zoneOf(name).startOf(daysOf(year, month, day)))).toBe(begin)
})

test('offsetsBetween returns the changes of the offset of a zone between two instants, also around the year 2500', () => {
  const amsterdam = zoneOf('Europe/Amsterdam')
  const between = (least: string, greatest: string) => {
    const { from, offsets } = amsterdam.offsetsBetween(secondsOf(least), secondsOf(greatest))
    return from.slice(1).map((seconds, index) => `${textOf(seconds)} ${offsets[index + 1]}`)
  }
  expect(between('2026-01-01T00:00:00Z', '2026-12-31T00:00:00Z')).toEqual([
    '2026-03-29T01:00:00Z 7200',
    '2026-10-25T01:00:00Z 3600',
  ])
  expect(between('2499-10-01T00:00:00Z', '2500-04-01T00:00:00Z')).toEqual([
    '2499-10-25T01:00:00Z 3600',
    '2500-03-28T01:00:00Z 7200',
  ])
  expect(between('2026-06-01T00:00:00Z', '2026-06-02T00:00:00Z')).toEqual([])
})

test('Zone.named finds a zone by its name in upper or lower case, and returns null for any other text', () => {
  expect([zoneOf('europe/AMSTERDAM').name, zoneOf('EUROPE/amsterdam')]).toEqual(['Europe/Amsterdam', zoneOf('Europe/Amsterdam')])
  for (const text of [
    '',
    'Mars/Olympus',
    '+01:00',
    '01:00',
    'Amsterdam',
    'Europe/Amsterdam ',
    `E${'a'.repeat(100)}`,
    '__proto__',
  ])
    expect([text, Zone.named(text)]).toEqual([text, null])
  expect(['UTC', 'Etc/UTC', 'GMT'].map((name) => zoneOf(name).isUtc)).toEqual([true, true, true])
  expect(zoneOf('Europe/London').isUtc).toBe(false)
})

test('days before 1800 and after 9999 are days of UTC in every zone', () => {
  for (const name of ['Pacific/Kiritimati', 'America/New_York', 'Etc/GMT+12']) {
    const zone = zoneOf(name)
    for (const year of [-4_712, 1, 1_799, 10_000, 10_001, 294_276]) {
      const day = daysOf(year, 6, 7)
      expect([zone.dayAt(day * 86_400), zone.dayAt(day * 86_400 + 86_399), zone.startOf(day)]).toEqual([day, day, day * 86_400])
    }
    const years = [daysOf(1, 1, 1), daysOf(10_000, 1, 1)] as const
    expect(zone.startOf(years[0])).toBe(years[0] * 86_400)
    for (const at of [years[1] * 86_400 - 1, years[1] * 86_400]) {
      const day = zone.dayAt(at)
      expect(zone.startOf(day)).toBeLessThanOrEqual(at)
      expect(zone.startOf(day + 1)).toBeGreaterThan(at)
    }
    const { from, offsets } = zone.offsetsBetween(daysOf(9_999, 12, 1) * 86_400, daysOf(10_000, 2, 1) * 86_400)
    expect([from.at(-1), offsets.at(-1)]).toEqual([years[1] * 86_400, 0])
  }
})
