import type { ColumnTable } from '../../src/columns/columnTable.ts'
import type { TextBounds } from '../../src/columns/conditions.ts'
import type { FoundPage } from '../../src/columns/foundPage.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Filter, Sort } from '../../src/model/query.ts'
import { order } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { compareCodes, compareOf, compilePredicate } from './predicate.ts'
import type { Random } from './random.ts'
import { randomFilter } from './randomFilter.ts'

/** Values that a column can hold but clients rarely write, as PostgreSQL prints them. */
const extremes: Record<string, readonly string[]> = {
  text: ['', ' ', 'a', 'A', 'á', '\ufeffa', 'a\\b', '\\N', '😀', '\u{10ffff}', '\t', '\n\r', "a'b", '<b>', 'x'.repeat(400)],
  boolean: ['f', 't'],
  integer: ['1', '2147483647', '2147483648', '9007199254740991', '9007199254740993', '9223372036854775807'],
  instant: [
    ...['-infinity', '0044-03-15 00:00:00+00 BC', '0001-01-01 00:00:00+00', '1931-12-13 20:45:51+00'],
    ...['1931-12-13 20:45:52+00', '1999-12-31 23:59:59+00', '2000-01-01 00:00:00+00', '2068-01-19 03:14:07+00'],
    ...['9999-12-31 23:59:59+00', '10000-01-01 00:00:00+00', '294276-12-31 23:59:59+00', 'infinity'],
  ],
  decimal: [
    ...['-9.50000000', '0.00000000', '0.00000001', '0.10000000', '0.30000001', '1234567.12345678', '1234567.12345679'],
    ...['1234567890.00000000', '9999999999.99999998', '9999999999.99999999', 'NaN'],
  ],
}

const pair = (number: number) => String(number).padStart(2, '0')

/** Values that clients write, as PostgreSQL prints them; many rows tie. */
const usual: Record<string, (random: Random) => string> = {
  text: (random) => `text ${random.below(40)}`,
  boolean: (random) => random.pick(['f', 't']),
  integer: (random) => String(1 + random.below(500)),
  instant: (random) =>
    `${2010 + random.below(20)}-${pair(1 + random.below(12))}-${pair(1 + random.below(28))} ${pair(random.below(24))}:00:00+00`,
  decimal: (random) => `${random.below(30)}.${random.pick(['00000000', '50000000', '25000000', '12345678'])}`,
}

type Matches = (row: Row) => boolean

/** A row before and after; null if it did not exist. */
export interface Change {
  readonly before: Row | null
  readonly after: Row | null
}

/** Returns the total of a list by the columns; null if codes cannot decide. */
export function totalOf(columns: ColumnTable, filters: readonly Filter[], bounds?: TextBounds): number | null {
  return columns.page(filters, [], 0, 0, bounds)?.total ?? null
}

export function idsOf(page: FoundPage | null): number[] {
  return Array.from({ length: page?.rows.length ?? 0 }, (_, index) => Number(page?.rows.print(index, 0)))
}

/** Applies changes to the columns, in order. */
export function take(columns: ColumnTable, changes: readonly Change[]): void {
  for (const { before, after } of changes)
    if (after !== null) columns.put(after)
    else columns.remove(before?.[0] as string)
}

/** Random rows of an entity, with lists of them by an independent filter and order. Texts have no collation. */
export class RandomTable {
  private readonly byId = new Map<number, Row>()
  private readonly hasExtremes: readonly boolean[]
  private firstId = 1_000_000
  private lastId = 1_000_000

  constructor(
    readonly entity: Entity,
    readonly random: Random,
    count: number,
    /** Percentage of properties with odd values. With 0, codes answer every page. */
    extremesPercent = 50,
  ) {
    this.hasExtremes = entity.properties.map(() => random.chance(extremesPercent))
    for (let added = 0; added < count; added++) this.insert()
  }

  get rows(): Row[] {
    return [...this.byId.values()]
  }

  row(id: number): Row | undefined {
    return this.byId.get(id)
  }

  private insert(): Row {
    // Ids have gaps, and not every new one is the greatest.
    const id = this.random.chance(10)
      ? (this.firstId -= 1 + this.random.below(200))
      : (this.lastId += this.random.pick([1, 1, 2, 3, 100]))
    const row = this.entity.properties.map((_, place) => this.valueAt(place))
    row[0] = String(id)
    this.byId.set(id, row)
    return row
  }

  private propertyAt(place: number): Property {
    return this.entity.properties[place] as Property
  }

  private valueAt(place: number): string | null {
    const { kind } = this.propertyAt(place)
    if (kind.nullable && this.random.chance(12)) return null
    if (!this.hasExtremes[place] || this.random.chance(97)) return usual[kind.name]?.(this.random) as string
    return this.random.pick(extremes[kind.name] as readonly string[])
  }

  /** Changes some rows, a few of them repeatedly; returns the changes in order. */
  change(count: number): Change[] {
    return Array.from({ length: count }, () => this.changeOne())
  }

  private changeOne(): Change {
    const { random, byId } = this
    if (random.chance(10)) return { before: null, after: this.insert() }
    const ids = [...byId.keys()]
    const id = random.chance(50) ? random.pick(ids) : (ids[random.below(8)] as number)
    const before = byId.get(id) as Row
    if (random.chance(10)) {
      byId.delete(id)
      return { before, after: null }
    }
    const place = 1 + random.below(before.length - 1)
    const after = before.map((value, at) => (at === place ? this.valueAt(place) : value))
    byId.set(id, after)
    return { before, after }
  }

  /** Draws filters whose operands are near values of rows. */
  filters(): Filter[] {
    return this.random.times(3, () => {
      const place = this.random.below(this.entity.properties.length)
      const near = () => this.random.pick(this.rows)[place] ?? null
      return randomFilter(this.entity, this.propertyAt(place), this.random, near)
    })
  }

  sorts(): Sort[] {
    const { random } = this
    const sorts = new Map(random.times(3, () => [random.pick(this.entity.properties), random.pick([false, true])]))
    return [...sorts].map(([property, descending]) => ({ property, descending }))
  }

  /** Tells the columns the order of their texts. */
  rank(columns: ColumnTable): void {
    for (const property of this.entity.properties)
      if (property.kind.name === 'text') {
        const ranks = new Int32Array(columns.textsOf(property).size)
        sortedTexts(columns, property).forEach(([code], rank) => {
          ranks[code] = rank
        })
        columns.useRanks(property, ranks)
      }
  }

  /**
   * Returns bounds of texts for the columns: by the order of texts, the rank below which texts are less than a filter's operand;
   * and the codes of texts that contain it. Undefined if no filter needs them, as in a copy of a table.
   */
  boundsOf(columns: ColumnTable, filters: readonly Filter[]): Map<Filter, number | number[]> | undefined {
    const isAsked = (filter: Filter) => filter.operator.folded !== null || compilePredicate(this.entity, [filter]) === null
    const asked = filters.filter(isAsked)
    if (asked.length === 0) return undefined
    return new Map(
      asked.map((filter): [Filter, number | number[]] => {
        if (filter.operator.folded) {
          const place = this.entity.properties.indexOf(filter.property)
          const matches = compilePredicate(this.entity, [filter]) as Matches
          const isFound = (text: string) => matches(this.entity.properties.map((_, at) => (at === place ? text : null)))
          const codes = sortedTexts(columns, filter.property).flatMap(([code, text]) => (isFound(text) ? [code] : []))
          return [filter, codes.sort((one, other) => one - other)]
        }
        const texts = sortedTexts(columns, filter.property).map(([, text]) => text)
        const less = texts.filter((text) => compareCodes(text, filter.value as string) < 0).length
        return [filter, less]
      }),
    )
  }

  private matching(filters: readonly Filter[]): Matches {
    const tests = filters.map((filter) => compilePredicate(this.entity, [filter]) ?? this.textTest(filter))
    return (row) => tests.every((test) => test(row))
  }

  private textTest({ property, operator: { sides }, value }: Filter): Matches {
    const place = this.entity.properties.indexOf(property)
    return (row) => {
      const text = row[place] ?? null
      if (text === null) return false
      const order = compareCodes(text, value as string)
      return Boolean(order < 0 ? sides?.less : order > 0 ? sides?.greater : sides?.equal)
    }
  }

  count(filters: readonly Filter[]): number {
    return this.rows.filter(this.matching(filters)).length
  }

  /** True if a row has a value without a code in a property that the list compares or sorts by. */
  hasUncoded(filters: readonly Filter[], sorts: readonly Sort[]): boolean {
    const uncoded = ['9007199254740993', '9223372036854775807', '9999999999.99999998', '9999999999.99999999']
    const asked = [...filters, ...sorts].map(({ property }) => this.entity.properties.indexOf(property))
    const numbers = asked.filter((place) => this.propertyAt(place).kind.name !== 'text')
    return this.rows.some((row) => numbers.some((place) => uncoded.includes(row[place] as string)))
  }

  /** Returns the ids of the matching rows, in order. */
  ids(filters: readonly Filter[], sorts: readonly Sort[]): number[] {
    const keys = order(this.entity, sorts).map(({ property, descending }) => ({
      place: this.entity.properties.indexOf(property),
      compare: compareOf(property.kind) ?? compareCodes,
      sign: descending ? -1 : 1,
    }))
    const compare = (one: Row, other: Row) => {
      for (const { place, compare, sign } of keys) {
        const [first = null, second = null] = [one[place], other[place]]
        const order =
          first === null || second === null ? Number(first === null) - Number(second === null) : compare(first, second)
        if (order !== 0) return sign * order
      }
      return 0
    }
    return this.rows
      .filter(this.matching(filters))
      .sort(compare)
      .map(([id]) => Number(id))
  }
}

/** Returns the codes and texts of a property, ordered by code units. */
function sortedTexts(columns: ColumnTable, property: Property): [code: number, text: string][] {
  const texts = columns.textsOf(property)
  return Array.from({ length: texts.size - 1 }, (_, index): [number, string] => [
    index + 1,
    index === 0 ? '' : texts.text(index + 1),
  ]).sort(([, one], [, other]) => compareCodes(one, other))
}
