import { describe, expect, test } from 'bun:test'
import { ColumnStore } from '../../src/columns/columnStore.ts'
import type { Reason } from '../../src/columns/conditions.ts'
import { Grouping } from '../../src/columns/grouping.ts'
import { groupingParts } from '../../src/columns/groupingParts.ts'
import { TooManyGroups } from '../../src/columns/groupKeys.ts'
import { Kernel, KernelFull, Reservations } from '../../src/columns/kernel.ts'
import { RowCodes } from '../../src/columns/rowCodes.ts'
import { boolean, date, decimal, defineEntity, identity, instant, integer, type Property, text } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import { GROUPS_MAX, type GroupKey, type Period, type SummaryQuery } from '../../src/model/summary.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseSummary } from '../../src/parse/summary.ts'
import { Random } from '../support/random.ts'

/** Seed of the random values, another one in each run; set SEED to the printed seed to repeat a run. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const MEMORY = 512 * 2 ** 20
const SLOTS_MAX = 64 * 512

const event = defineEntity('Event', {
  id: identity(),
  label: text(),
  city: text(),
  on: boolean(),
  level: integer({ min: -1_000, max: 1_000 }),
  day: date(),
  at: instant(),
  amount: decimal(8),
  price: decimal(2),
})
const { properties } = event
const columnOf = (name: string) => properties.findIndex((property) => property.name === name)
const query = (text: string) => parseSummary(wholeView(event), text, 'json')

/** Rows as PostgreSQL prints them, and as columns. Each running summary reads a row before the row is changed or removed. */
class Rows {
  readonly byId = new Map<string, Row>()
  readonly store: ColumnStore
  readonly running = new Set<Grouping>()
  private readonly rowCodes = new RowCodes(event)
  private readonly slots = new Map<string, number>()
  private readonly uncoded = new Int32Array(properties.length)
  /** The distance of the ranks of two texts. */
  private gap = 10
  private ranks: (Uint32Array | undefined)[] = []

  constructor(
    readonly kernel = new Kernel(MEMORY),
    slotsMax = SLOTS_MAX,
  ) {
    this.store = new ColumnStore(kernel, properties.length, slotsMax)
  }

  put(row: Row): void {
    const { store, rowCodes } = this
    const id = row[0] as string
    for (const column of rowCodes.code(row)?.keys() ?? []) this.uncoded[column] = (this.uncoded[column] as number) + 1
    const known = this.slots.get(id)
    if (known !== undefined) for (const grouping of this.running) grouping.countRow(known)
    const slot = known ?? store.takeSlot()
    for (let column = 0; column < properties.length; column++)
      store.set(slot, column, rowCodes.highs[column] as number, rowCodes.lows[column] as number)
    this.slots.set(id, slot)
    this.byId.set(id, row)
  }

  remove(id: string): void {
    const slot = this.slots.get(id) as number
    for (const grouping of this.running) grouping.countRow(slot)
    this.store.releaseSlot(slot)
    this.slots.delete(id)
    this.byId.delete(id)
  }

  /** Gives all texts new ranks, in the same order. */
  spread(gap: number): void {
    this.gap = gap
    this.ranks = []
  }

  slotOf(id: string): number {
    return this.slots.get(id) as number
  }

  /** Begins to group the rows that match. */
  group(summary: SummaryQuery, matches: (row: Row) => boolean = () => true, isOrderKnown = true): Grouping | Reason {
    const { kernel, store } = this
    const memory = new Reservations(kernel)
    const table = {
      ...{ entity: event, store, rowCodes: this.rowCodes, uncoded: this.uncoded },
      ranksOf: (column: number) => this.ranksOf(column, isOrderKnown),
    }
    const parts = groupingParts(table, memory, summary)
    if (typeof parts === 'string') return parts
    const bits = store.reserveBitmap()
    for (const [id, slot] of this.slots)
      if (matches(this.byId.get(id) as Row)) {
        const word = (bits >>> 2) + (slot >> 5)
        kernel.words[word] = (kernel.words[word] as number) | (1 << (slot & 31))
      }
    const onCounted = () => this.running.delete(grouping)
    const grouping = new Grouping({ ...parts, memory, store, bits, sorts: summary.sorts, onCounted })
    this.running.add(grouping)
    return grouping
  }

  /** Ranks by code units. */
  private ranksOf(column: number, isOrderKnown: boolean): (() => Uint32Array) | null {
    const dictionary = this.rowCodes.dictionaries[column]
    if (!dictionary) return null
    return () => {
      const known = this.ranks[column]
      if (isOrderKnown && known && known.length >= dictionary.size) return known
      const codes = Array.from({ length: dictionary.size - 1 }, (_, index) => index + 1)
      codes.sort((one, other) => compare(dictionary.text(one), dictionary.text(other)))
      const ranks = new Uint32Array(dictionary.size)
      for (const [index, code] of codes.entries()) ranks[code] = this.gap * (index + 1)
      if (isOrderKnown) this.ranks[column] = ranks
      else ranks[dictionary.size - 1] = 0
      return ranks
    }
  }
}

type Value = string | number | bigint

/** Compares values; null, a missing value, is greater than all values. */
function compare(one: Value | null, other: Value | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  return one < other ? -1 : Number(one > other)
}

const comparables = new Map<string, Value>()

/** What a value is compared by: integers of units, days or milliseconds. */
function comparable({ kind }: Property, printed: string | null): Value | null {
  if (printed === null || kind.name === 'text') return printed
  return comparables.getOrInsertComputed(`${kind.name} ${printed}`, () => {
    if (printed.includes('infinity') || printed === 'NaN') return printed === '-infinity' ? -Infinity : Infinity
    if (kind.name === 'integer' || kind.name === 'decimal') return BigInt(printed.replace('.', ''))
    return kind.name === 'boolean' ? Number(printed === 't') : timeOf(printed)
  })
}

function timeOf(printed: string): number {
  const [, year, month, day, time = '00:00:00'] = /^(\d+)-(\d\d)-(\d\d)(?: ([\d:]+))?/.exec(printed) as RegExpExecArray
  const date = new Date(`2000-01-01T${time}Z`)
  return date.setUTCFullYear(printed.endsWith('BC') ? 1 - Number(year) : Number(year), Number(month) - 1, Number(day))
}

/** The first day of the period of a date or an instant, as PostgreSQL prints it; in a zone the instant at which that begins. */
function truncated({ property, period, zone }: GroupKey, printed: string | null): string | null {
  // Before 1800 no zone makes a difference.
  if (zone === null || printed === null || printed < '1800') return truncatedInUtc(property, printed, period)
  const date = Temporal.Instant.fromEpochMilliseconds(timeOf(printed)).toZonedDateTimeISO(zone.name).toPlainDate()
  const firsts: Readonly<Record<string, () => Temporal.PlainDate>> = {
    day: () => date,
    week: () => date.subtract({ days: date.dayOfWeek - 1 }),
    month: () => date.with({ day: 1 }),
    quarter: () => date.with({ day: 1, month: date.month - ((date.month - 1) % 3) }),
    year: () => date.with({ day: 1, month: 1 }),
  }
  const first = firsts[period as string]?.() as Temporal.PlainDate
  const start = first.toZonedDateTime(zone.name).toInstant().toString()
  return `${start.slice(0, 10)} ${start.slice(11, 19)}+00`
}

function truncatedInUtc({ kind }: Property, printed: string | null, period: Period | null): string | null {
  if (printed === null || period === null) return printed
  const time = new Date(timeOf(printed))
  const [year, month, day] = [time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()]
  if (period === 'week') time.setUTCDate(day - ((time.getUTCDay() + 6) % 7))
  else if (period !== 'day') time.setUTCFullYear(year, { year: 0, quarter: month - (month % 3), month }[period], 1)
  const shown = time.getUTCFullYear()
  const pairs = [time.getUTCMonth() + 1, time.getUTCDate()].map((number) => String(number).padStart(2, '0'))
  const date = `${String(shown > 0 ? shown : 1 - shown).padStart(4, '0')}-${pairs.join('-')}`
  return `${date}${kind.name === 'instant' ? ' 00:00:00+00' : ''}${shown > 0 ? '' : ' BC'}`
}

function printedUnits(units: bigint, { kind }: Property): string {
  const scale = kind.name === 'decimal' ? kind.printFilter('0').length - 2 : 0
  if (scale === 0) return String(units)
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** The groups of rows, by another way: one row after the other, by texts and bigints. */
function expected(rows: readonly Row[], { keys, figures, sorts }: SummaryQuery): Row[] {
  const groups = new Map<string, { key: (string | null)[]; rows: Row[] }>()
  if (keys.length === 0) groups.set('[]', { key: [], rows: [] })
  for (const row of rows) {
    const key = keys.map((one) => truncated(one, row[properties.indexOf(one.property)] as string | null))
    groups.getOrInsertComputed(JSON.stringify(key), () => ({ key, rows: [] })).rows.push(row)
  }
  const found = [...groups.values()].map(({ key, rows: own }) => {
    const computed = figures.map(({ name, property }) => {
      const printed = own.map((row) => row[properties.indexOf(property)] as string | null).filter((value) => value !== null)
      if (name === 'values') return String(printed.length)
      if (printed.length === 0) return null
      const sum = () => printed.reduce((units, value) => units + (comparable(property, value) as bigint), 0n)
      if (name === 'sum') return printedUnits(sum(), property)
      const sign = name === 'minimum' ? 1 : -1
      return printed.reduce((best, value) =>
        sign * compare(comparable(property, value), comparable(property, best)) < 0 ? value : best,
      )
    })
    return [...key, String(own.length), ...computed]
  })
  const propertyAt = (column: number): Property | null =>
    column === keys.length ? null : ((keys[column] ?? figures[column - keys.length - 1]) as { property: Property }).property
  const valueAt = (row: Row, column: number): Value | null => {
    const property = propertyAt(column)
    return property === null ? Number(row[column]) : comparable(property, row[column] as string | null)
  }
  return found.sort((one, other) => {
    for (const { column, isDescending } of sorts) {
      const order = compare(valueAt(one, column), valueAt(other, column))
      if (order !== 0) return isDescending ? -order : order
    }
    return 0
  })
}

function run<Result>(steps: Generator<void, Result>, between: () => void = () => {}): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    between()
  }
}

/** All groups; `between` is called between two steps. */
function groupsOf(grouping: Grouping, between?: () => void): Row[] {
  run(grouping.steps(), between)
  const rows = run(grouping.page(0, grouping.total), between)
  grouping.close()
  return rows
}

const pair = (number: number) => String(number).padStart(2, '0')

/** Usual values. The least amounts, prices and levels of a table have 32 bits. */
const usual: Readonly<Record<string, (random: Random) => string>> = {
  Label: (random) => `label ${random.below(50)}`,
  City: (random) => random.pick(['', 'Bern', 'Basel', 'Zürich', 'a']),
  On: (random) => random.pick(['t', 'f']),
  Level: (random) => String(random.below(200) - 100),
  Day: (random) => `${1990 + random.below(40)}-${pair(1 + random.below(12))}-${pair(1 + random.below(28))}`,
  At: (random) =>
    `${2020 + random.below(7)}-${pair(1 + random.below(12))}-${pair(1 + random.below(28))} ${pair(random.below(24))}:59:59+00`,
  Amount: (random) => `${random.below(20)}.50000000`,
  Price: (random) => `${random.pick(['', '-'])}${1 + random.below(900)}.${pair(random.below(100))}`,
}
/** Values with codes of 64 bits, whose sums fit into 64 bits, too, and texts that are new each time. */
const far: Readonly<Record<string, (random: Random) => string>> = {
  ...usual,
  Label: (random) => `new ${random.below(1e9)}`,
  City: (random) => `new ${random.below(1e9)}`,
  Level: (random) => random.pick(['100000000000000', '-4294967297', '4294967296', '2147483648', '-2147483648']),
  Day: (random) => random.pick(['0004-03-15 BC', '9999-12-31', '0001-01-01']),
  At: (random) => random.pick(['9999-12-31 23:59:59+00', '0001-01-01 00:00:00+00', '1931-12-13 20:45:52+00']),
  Amount: (random) => random.pick(['999999.99999999', '-999999.99999999', '42.94967296', '21.47483648']),
  Price: (random) => random.pick(['999999999999.99', '-999999999999.99', '21474836.48']),
}
const infinite: Readonly<Record<string, (random: Random) => string>> = {
  Day: (random) => random.pick(['infinity', '-infinity']),
  At: (random) => random.pick(['infinity', '-infinity']),
  Amount: () => 'NaN',
}

function randomRow(id: number, random: Random, farPercent: number): Row {
  const values = properties.slice(1).map(({ name }) => {
    if (random.chance(8)) return null
    return (random.chance(farPercent) ? far : usual)[name]?.(random) as string
  })
  return [String(id), ...values]
}

const ZONES = ['Asia/Kolkata', 'Australia/Lord_Howe', 'Europe/London', 'Asia/Kathmandu', 'Africa/Cairo', 'UTC']
const PERIODIC = ['Day', 'At']
const PERIODS = ['year', 'quarter', 'month', 'week', 'day']

/** Summaries with up to three keys and some figures, sorted by some of them. */
function randomQuery(random: Random): SummaryQuery {
  const names = new Set(random.times(3, () => random.pick(properties.slice(1)).name))
  const keys = [...names].map((name) =>
    PERIODIC.includes(name) && random.chance(70) ? `${random.pick(PERIODS)}(${name})` : name,
  )
  const summed = new Set(random.times(3, () => random.pick(['Level', 'Amount', 'Price'])))
  const averaged = new Set(random.times(1, () => random.pick(['Level', 'Amount', 'Price'])))
  const compared = () => [
    ...new Set(random.times(2, () => random.pick(['Id', 'Label', 'City', 'Level', 'Day', 'At', 'Amount', 'Price']))),
  ]
  const parameters = [
    ['groupBy', keys],
    ['sum', [...summed]],
    ['average', [...averaged]],
    ['minimum', compared()],
    ['maximum', compared()],
  ] as const
  const sortable = [...keys, 'Count', ...[...summed].map((name) => `Sum(${name})`)]
  const sorts = random.times(2, () => `${random.pick(['', '-'])}${random.pick(sortable)}`)
  const texts = parameters.flatMap(([name, values]) => (values.length === 0 ? [] : [`${name}=${values.join(',')}`]))
  const zone = random.chance(60) && keys.some((key) => key.endsWith('(At)')) ? [`zone=${random.pick(ZONES)}`] : []
  return query([...texts, ...zone, ...(sorts.length === 0 ? [] : [`sort=${[...new Set(sorts)].join(',')}`])].join('&'))
}

describe(`groups of rows in columns, SEED=${SEED}`, () => {
  for (const hasVectors of [true, false])
    test(`are as of the beginning of the summary, although rows change meanwhile; vectors: ${hasVectors}`, () => {
      const random = new Random(SEED)
      for (let tables = 0; tables < 2; tables++) {
        const rows = new Rows(new Kernel(MEMORY, hasVectors))
        for (let id = 1; id <= 9_000; id++) rows.put(randomRow(id, random, tables === 0 ? 0 : 1))
        for (let id = 1; id <= 9_000; id++) if (random.chance(5)) rows.remove(String(id))
        let last = 9_000
        const change = () => {
          rows.spread(1 + random.below(1_000))
          for (let changes = random.below(200); changes > 0; changes--) {
            const id = 1 + random.below(last)
            if (random.chance(20) && rows.byId.size < 9_000) rows.put(randomRow(++last, random, 2))
            else if (rows.byId.has(String(id)) && random.chance(20)) rows.remove(String(id))
            else if (rows.byId.has(String(id))) rows.put(randomRow(id, random, 2))
          }
        }
        for (let summaries = 0; summaries < 5; summaries++) {
          const asked = [randomQuery(random), randomQuery(random)]
          const bound = random.pick([0, 3, 60, 100])
          const matches = ([id]: Row) => Number(id) % 100 < bound
          const snapshot = [...rows.byId.values()].filter(matches)
          const groupings = asked.map((summary) => rows.group(summary, matches))
          // Both summaries run at the same time: each one that has not read a row yet reads it before the row changes.
          change()
          for (const [index, summary] of asked.entries()) {
            const grouping = groupings[index] as Grouping | Reason
            if (typeof grouping !== 'string') expect(groupsOf(grouping, change)).toEqual(expected(snapshot, summary))
          }
        }
        expect(rows.running.size).toBe(0)
      }
    })

  test('are sorted and printed exactly, also if amounts have more digits than floats hold', () => {
    const rows = new Rows()
    const amounts = [3, 1, 2, 5, 4].map((digit) => `9999999999.9999999${digit}`)
    amounts.push('-9999999999.99999993', '-9999999999.99999992', '0.00000001')
    for (let id = 1; id <= 400; id++) rows.put([String(id), null, null, null, null, null, null, amounts[id % 8] as string, null])
    for (const text of ['groupBy=Amount', 'groupBy=Amount&sort=-Amount', 'groupBy=Amount&minimum=Amount&maximum=Amount'])
      expect(groupsOf(rows.group(query(text)) as Grouping)).toEqual(expected([...rows.byId.values()], query(text)))
  })

  test('have exact sums up to 2^62 units; summaries with greater sums are left to PostgreSQL', () => {
    const rows = new Rows()
    for (let id = 1; id <= 4; id++) rows.put([String(id), null, null, null, null, null, null, '9999999999.99999999', null])
    const summed = query('sum=Amount')
    expect(groupsOf(rows.group(summed) as Grouping)).toEqual([['4', '39999999999.99999996']])
    rows.put(['5', null, null, null, null, null, null, '1.00000000', null])
    expect(rows.group(summed)).toBe('values')
  })

  test('with infinite values are exact if grouped by value; groups by period and sums are left to PostgreSQL', () => {
    const random = new Random(SEED)
    const rows = new Rows()
    for (let id = 1; id <= 300; id++) {
      const row = [...randomRow(id, random, 1)]
      for (const name of ['Day', 'At', 'Amount']) if (random.chance(10)) row[columnOf(name)] = infinite[name]?.(random) as string
      rows.put(row)
    }
    for (const text of ['groupBy=month(Day)', 'groupBy=year(At)', 'sum=Amount', 'average=Amount'])
      expect(rows.group(query(text))).toBe('values')
    const compared = ['Day', 'At', 'Amount'].join(',')
    for (const text of [`groupBy=Day&minimum=${compared}&maximum=${compared}`, 'groupBy=Amount,On&sort=-Amount', 'groupBy=At'])
      expect(groupsOf(rows.group(query(text)) as Grouping)).toEqual(expected([...rows.byId.values()], query(text)))
  })

  test('are left to PostgreSQL if they need a value without a code, or a text without a rank', () => {
    const rows = new Rows()
    rows.put(['1', 'a', 'b', 't', '1', null, null, '1.00000000', '9999999999999999999.99'])
    expect(rows.group(query('groupBy=Price'))).toBe('values')
    expect(rows.group(query('sum=Price'))).toBe('values')
    expect(rows.group(query('groupBy=Label'), undefined, false)).toBe('texts')
    expect(rows.group(query('maximum=Label'), undefined, false)).toBe('texts')
    expect(groupsOf(rows.group(query('groupBy=Level&sum=Amount'), undefined, false) as Grouping)).toEqual([
      ['1', '1', '1.00000000'],
    ])
  })

  test('are one group without groupBy, even if no row matches', () => {
    const rows = new Rows()
    const text = 'sum=Amount&average=Level&minimum=Label&maximum=At'
    expect(groupsOf(rows.group(query(text)) as Grouping)).toEqual([['0', null, null, '0', null, null]])
    rows.put(randomRow(1, new Random(SEED), 0))
    expect(groupsOf(rows.group(query(text), () => false) as Grouping)).toEqual([['0', null, null, '0', null, null]])
    expect(groupsOf(rows.group(query('groupBy=Label'), () => false) as Grouping)).toEqual([])
  })

  test('can be read page by page after they were copied out of the table, even if other summaries reuse its memory', () => {
    const random = new Random(SEED)
    const rows = new Rows()
    for (let id = 1; id <= 9_000; id++) rows.put(randomRow(id, random, 0))
    const text = 'groupBy=Label,day(Day)&sum=Price&minimum=Amount,City&maximum=At&sort=-Sum(Price)'
    const grouping = rows.group(query(text)) as Grouping
    run(grouping.steps())
    grouping.copyToHeap().close()
    for (let times = 0; times < 3; times++)
      run((rows.group(query('groupBy=day(Day),Label&sum=Price&maximum=Level')) as Grouping).steps())
    const pages: Row[] = []
    for (let offset = 0; offset < grouping.total; offset += 1_000) pages.push(...run(grouping.page(offset, 1_000)))
    expect(pages).toEqual(expected([...rows.byId.values()], query(text)))
  })
})

describe('a running summary', () => {
  const fill = (rows: Rows) => {
    for (let id = 1; id <= 10_000; id++)
      rows.put([String(id), `label ${id % 7}`, null, null, '1', null, null, '1.00000000', null])
  }

  test('ignores changes and additions of rows since it began, also if a new row reuses the slot of a removed one', () => {
    const rows = new Rows()
    fill(rows)
    const grouping = rows.group(query('groupBy=Label&sum=Level')) as Grouping
    const slot = rows.slotOf('5')
    rows.remove('5')
    rows.put(['20000', 'new', null, null, '1000', null, null, null, null])
    expect(rows.slotOf('20000')).toBe(slot)
    rows.put(['20000', 'newer', null, null, '1000', null, null, null, null])
    rows.put(['6', 'newest', null, null, '9007199254740991', null, null, null, null])
    const counts = groupsOf(grouping).map(([, count, sum]) => [count, sum])
    const before = Array.from({ length: 7 }, (_, rest) => String(rest >= 1 && rest <= 4 ? 1_429 : 1_428))
    expect(counts).toEqual(before.map((count) => [count, count]))
  })

  test('ignores changed rows once it has read all rows, and frees its memory when it is closed', () => {
    const rows = new Rows()
    fill(rows)
    const grouping = rows.group(query('groupBy=Label&sum=Level')) as Grouping
    run(grouping.steps())
    expect(rows.running.size).toBe(0)
    // The summary does not read a row again, even if another bitmap reuses the memory of its own.
    const bits = rows.store.reserveBitmap()
    rows.kernel.words.fill(-1, bits >>> 2, (bits >>> 2) + 1)
    grouping.countRow(rows.slotOf('1'))
    rows.store.freeBitmap(bits)
    expect(
      run(grouping.page(0, 9))
        .map(([, count]) => Number(count))
        .reduce((sum, count) => sum + count),
    ).toBe(10_000)
    grouping.close()
    grouping.close()
    const free = () => rows.kernel.reserve(64)
    const address = free()
    for (let times = 0; times < 5; times++) groupsOf(rows.group(query('groupBy=Label&sum=Level')) as Grouping)
    expect(free() - address).toBe(64)
  })

  test('fails with KernelFull if there is no memory to keep the old values of a row that changes; the row still changes', () => {
    const rows = new Rows(new Kernel(3 * 2 ** 20 + 2 ** 19), 64 * 512)
    fill(rows)
    const grouping = rows.group(query('groupBy=Label&sum=Level')) as Grouping
    for (let bytes = 2 ** 20; bytes >= 64; )
      try {
        rows.kernel.reserve(bytes)
      } catch {
        bytes /= 2
      }
    rows.put(['1', 'changed', null, null, '2', null, null, null, null])
    expect(rows.store.codeAt(rows.slotOf('1'), columnOf('Level'))).toBe(2)
    expect(rows.running.size).toBe(0)
    grouping.countRow(rows.slotOf('2'))
    expect(() => run(grouping.steps())).toThrow(KernelFull)
    grouping.close()
  })

  test('throws KernelFull in its next step if memory ran out between two steps', () => {
    const rows = new Rows(new Kernel(64 * 2 ** 20), 64 * 512)
    fill(rows)
    for (let id = 1; id <= 10_000; id++)
      rows.put([String(id), 'a', null, null, String(id > 8_192 ? id * 1e6 : 1), null, null, null, null])
    // Keys of a wide range are numbered as they come, and more than 1,024 groups need more memory.
    const grouping = rows.group(query('groupBy=Level,Label')) as Grouping
    const steps = grouping.steps()
    steps.next()
    for (let bytes = 2 ** 20; bytes >= 64; )
      try {
        rows.kernel.reserve(bytes)
      } catch {
        bytes /= 2
      }
    for (let id = 10_000; id > 8_192; id--) rows.put([String(id), 'a', null, null, '7', null, null, null, null])
    expect(() => steps.next()).toThrow(KernelFull)
    grouping.close()
  })

  test('fails with too many groups, also if the groups come from rows that it reads just before they change', () => {
    const count = GROUPS_MAX + 1
    const rows = new Rows(new Kernel(MEMORY), 512 * Math.ceil(count / 512))
    for (let id = 1; id <= count; id++) rows.put([String(id), null, null, null, String(id * 1e6), null, null, null, null])
    const grouping = rows.group(query('groupBy=Level')) as Grouping
    const steps = grouping.steps()
    const inRuns = count - (count % 8_192)
    for (let taken = 0; taken < inRuns; taken += 8_192) steps.next()
    for (let id = inRuns + 1; id <= count; id++) rows.put([String(id), null, null, null, '1000000', null, null, null, null])
    expect(() => steps.next()).toThrow(TooManyGroups)
    grouping.close()
    const [first] = groupsOf(rows.group(query('groupBy=Level')) as Grouping)
    expect(first).toEqual(['1000000', String(1 + count - inRuns)])
  })
})
