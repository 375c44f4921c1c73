import { expect, test } from 'bun:test'
import { describeApi } from '../../src/describe/openApi.ts'
import { date, defineEntity, identity, instant } from '../../src/model/entity.ts'
import { resourcesOf, type Span } from '../../src/pages/explore/resources.ts'
import { type Days, filtersOfDays, firstDayOfWeek, presetsOf, spanIn } from '../../src/pages/explore/spans.ts'
import { wholeAccess } from '../support/rights.ts'

const absence = defineEntity(
  'Absence',
  { id: identity(), start: instant(), end: instant() },
  { notBefore: [['end', 'start', 'away']] },
)
const lease = defineEntity(
  'Lease',
  { id: identity(), firstDay: date(), lastDay: date() },
  { notBefore: [['lastDay', 'firstDay']] },
)
const facts = { baseUrl: 'http://localhost', limits: [], anonymousLimits: [], documentNeedsKey: false }
const [ofInstants, ofDates] = resourcesOf(describeApi([absence, lease].map(wholeAccess), facts), []).map(({ span }) => span) as [
  Span,
  Span,
]

/** Reads `Start < 2027-01-01T00:00:00Z`. */
function conditionOf(text: string) {
  const [name = '', sign = '', value = ''] = text.split(' ')
  return { name, sign, values: [value] }
}

test.each<[string, Span, string, string, string]>([
  ['of instants, in UTC', ofInstants, 'UTC', 'Start < 2027-01-01T00:00:00Z', 'End >= 2026-12-01T00:00:00Z'],
  ['of instants, east of Greenwich', ofInstants, 'Europe/Berlin', 'Start < 2026-12-31T23:00:00Z', 'End >= 2026-11-30T23:00:00Z'],
  ['of dates, in any zone', ofDates, 'Europe/Berlin', 'FirstDay <= 2026-12-31', 'LastDay >= 2026-12-01'],
])('The conditions of a span %s include its whole days, and are read as the same days', (_, span, zone, start, end) => {
  const days = { from: '2026-12-01', to: '2026-12-31' }
  const filters = filtersOfDays(span, days, zone)
  expect(filters.map(({ name, sign, values }) => [name, sign, ...values].join(' '))).toEqual([start, end])
  expect(spanIn(span, filters.toReversed(), zone)).toEqual({ days, filterIndexes: [1, 0], hours: null })
})

test('A span begins with the first instant of its day where clocks skip midnight', () => {
  const zone = 'Asia/Beirut'
  const days = { from: '2026-03-29', to: '2026-03-29' }
  const filters = filtersOfDays(ofInstants, days, zone)
  expect(filters.map(({ values }) => values[0])).toEqual(['2026-03-29T21:00:00Z', '2026-03-28T22:00:00Z'])
  expect(spanIn(ofInstants, filters, zone)?.days).toEqual(days)
})

test.each<[string, Span, string[], Days | null]>([
  [
    'whole days',
    ofInstants,
    ['Start < 2027-01-01T00:00:00Z', 'End >= 2026-12-01T00:00:00Z'],
    { from: '2026-12-01', to: '2026-12-31' },
  ],
  [
    'one day',
    ofInstants,
    ['End >= 2026-12-05T00:00:00Z', 'start < 2026-12-06T01:00:00+01:00'],
    { from: '2026-12-05', to: '2026-12-05' },
  ],
  [
    'dates that are left out',
    ofDates,
    ['FirstDay < 2026-12-06', 'LastDay > 2026-12-04'],
    { from: '2026-12-05', to: '2026-12-05' },
  ],
  ['no day between them', ofInstants, ['Start < 2026-12-01T00:00:00Z', 'End >= 2026-12-31T00:00:00Z'], null],
  ['a value that is no date', ofInstants, ['Start < x', 'End >= 2026-12-01T00:00:00Z'], null],
  ['a day that the month does not have', ofDates, ['FirstDay <= 2026-02-30', 'LastDay >= 2026-02-01'], null],
  ['only a limit of the start', ofInstants, ['Start < 2026-12-01T00:00:00Z'], null],
  ['two limits of the start', ofInstants, ['Start >= 2026-12-01T00:00:00Z', 'Start < 2027-01-01T00:00:00Z'], null],
])('Conditions with %s are read as the expected span of days, or as no span', (_, span, conditions, days) => {
  const found = spanIn(span, conditions.map(conditionOf), 'UTC')
  expect(found && [found.days, found.hours]).toEqual(days && [days, null])
})

test('Conditions with hours are read as a span with these hours, and as the days that contain them', () => {
  const conditions = ['Start <= 2026-12-31T12:00:00Z', 'End > 2026-12-01T08:00:00Z'].map(conditionOf)
  const hours = { from: '2026-12-01T08:00:00Z', to: '2026-12-31T12:00:00Z' }
  expect(spanIn(ofInstants, conditions, 'UTC')).toEqual({
    filterIndexes: [0, 1],
    days: { from: '2026-12-01', to: '2026-12-31' },
    hours,
  })
})

test('The presets of a span are today, this week, this month and the next month, for weeks that begin on Monday or Sunday', () => {
  // A Sunday.
  expect(presetsOf('2026-11-29', 1).map(([, { from, to }]) => `${from} ${to}`)).toEqual([
    '2026-11-29 2026-11-29',
    '2026-11-23 2026-11-29',
    '2026-11-01 2026-11-30',
    '2026-12-01 2026-12-31',
  ])
  expect(presetsOf('2026-12-31', 7).map(([, { from, to }]) => `${from} ${to}`)).toEqual([
    '2026-12-31 2026-12-31',
    '2026-12-27 2027-01-02',
    '2026-12-01 2026-12-31',
    '2027-01-01 2027-01-31',
  ])
  expect(presetsOf('2028-01-31', 1).at(-1)?.[1]).toEqual({ from: '2028-02-01', to: '2028-02-29' })
})

test('The first day of the week follows the region of the language', () => {
  const isKnown = 'getWeekInfo' in Intl.Locale.prototype || 'weekInfo' in Intl.Locale.prototype
  expect([firstDayOfWeek('en-US'), firstDayOfWeek('de-DE')]).toEqual(isKnown ? [7, 1] : [1, 1])
})
