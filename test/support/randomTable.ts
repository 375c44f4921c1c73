import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { Reason } from '../../src/columns/conditions.ts'
import type { Room } from '../../src/columns/indexes.ts'
import type { FoundPage } from '../../src/columns/listSearch.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Filter, FiltersAndSorts, ListQuery, Seek, Sort } from '../../src/model/query.ts'
import { order, unionFilter, withoutUnions } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { codeUnitTexts, copyBytes } from './codeUnitOrder.ts'
import { compareCodes, compareOf, compilePredicate } from './predicate.ts'
import type { Random } from './random.ts'
import { randomFilter } from './randomFilter.ts'

/** Values that a column can hold but clients rarely write, as PostgreSQL prints them. */
const extremes: Record<string, readonly string[]> = {
  text: ['', ' ', 'a', 'A', 'á', '\ufeffa', 'a\\b', '\\N', '😀', '\u{10ffff}', '\t', '\n\r', "a'b", '<b>', 'x'.repeat(400)],
  boolean: ['f', 't'],
  integer: [
    ...['0', '-1', '2147483646', '2147483647', '2147483648', '4294967296', '9007199254740991'],
    ...['-2147483647', '-2147483648', '-2147483649', '-9007199254740991'],
  ],
  instant: [
    ...['-infinity', '0044-03-15 00:00:00+00 BC', '0001-01-01 00:00:00+00', '1931-12-13 20:45:51+00'],
    ...['1931-12-13 20:45:52+00', '1931-12-13 20:45:53+00', '1999-12-31 23:59:59+00', '2000-01-01 00:00:00+00'],
    ...['2068-01-19 03:14:07+00', '2068-01-19 03:14:08+00', '9999-12-31 23:59:59+00', '10000-01-01 00:00:00+00'],
    ...['294276-12-31 23:59:59+00', 'infinity'],
  ],
  // Units of 16 to 18 digits, around 2^53 and around 2^32.
  decimal: [
    ...['-9.50000000', '0.00000000', '0.00000001', '0.10000000', '0.30000001', '42.94967296', '1234567.12345678'],
    ...['1234567.12345679', '12345678.12345678', '90071992.54740991', '90071992.54740992', '90071992.54740993'],
    ...['-90071992.54740993', '1234567890.00000000', '9999999999.99999998', '9999999999.99999999', '-9999999999.99999999'],
    'NaN',
  ],
}

/** Values of numbers without a code. */
const uncoded: Record<string, readonly string[]> = {
  integer: ['9007199254740993', '9223372036854775807'],
  decimal: ['10000000000.00000000', '99999999999.99999999'],
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

/** A row before and after a change; null if the row did not exist. */
export interface Change {
  readonly before: Row | null
  readonly after: Row | null
}

/** Returns a query of a list with the members that columns need. */
export function listOf(query: FiltersAndSorts, page = 1, pageSize = 50, seek: Seek | null = null): ListQuery {
  return { ...query, may: null, page, pageSize, seek, queryWithoutPaging: '', choice: null }
}

/** Returns the total of a list by the columns, or the reason why codes cannot decide it. */
export function totalOf(columns: ColumnTable, filters: readonly Filter[]): number | Reason {
  const found = columns.lists.find(listOf({ filters, sorts: [] }, 1, 0))
  return typeof found === 'string' ? found : found.total
}

export function idsOf(page: FoundPage | Reason | null): number[] {
  if (page === null || typeof page === 'string') return []
  return Array.from({ length: page.rows.length }, (_, index) => Number(page.rows.print(index, 0)))
}

/** Applies changes to the columns, in order. */
export function take(columns: ColumnTable, changes: readonly Change[]): void {
  for (const { before, after } of changes)
    if (after !== null) columns.put(after)
    else columns.remove(before?.[0] as string)
}

/** Caller of all requests of these tests. */
export const caller = { key: 'a', request: new Request('http://localhost') }

/** Percentages of properties with odd values: `extremes`, which clients rarely write, and numbers without a code. */
export interface Odd {
  readonly extremes: number
  readonly uncoded: number
}

/** Random rows of an entity, with lists of them by an independent filter and order. Texts are ordered by code units. */
export class RandomTable {
  private readonly byId = new Map<number, Row>()
  private readonly ids: number[] = []
  private readonly hasExtremes: readonly boolean[]
  private readonly hasUncodedValues: readonly boolean[]
  private firstId: number
  private lastId: number
  /** Rows that were deleted. */
  private readonly gone: Row[] = []
  /** Ordinal of each value in the order of its property, by the index of the property. */
  private readonly ordinals = new Map<number, Map<string, number>>()

  constructor(
    readonly entity: Entity,
    readonly random: Random,
    count: number,
    { extremes, uncoded }: Odd = { extremes: 50, uncoded: 10 },
  ) {
    // In some tables, new ids exceed 32 bits.
    this.firstId = this.lastId = random.pick([1_000_000, 2 ** 31 - 500])
    this.hasExtremes = entity.properties.map(() => random.chance(extremes))
    this.hasUncodedValues = entity.properties.map(() => random.chance(uncoded))
    for (let added = 0; added < count; added++) this.insert()
  }

  get rows(): Row[] {
    return [...this.byId.values()]
  }

  row(id: number): Row | undefined {
    return this.byId.get(id)
  }

  /** Adds or replaces a row. */
  put(row: Row): void {
    const id = Number(row[0])
    if (!this.byId.has(id)) this.ids.push(id)
    this.byId.set(id, row)
    for (const [place, known] of this.ordinals)
      if (row[place] !== null && !known.has(row[place] ?? '')) this.ordinals.delete(place)
  }

  /** Returns the columns of these rows, as loading the table fills them. */
  load(room: Room = { has: () => true }, hasVectors = true, rows = this.byId.size): ColumnTable {
    const texts = codeUnitTexts((property) => {
      const place = this.entity.properties.indexOf(property)
      return this.rows.map((row) => row[place] ?? null)
    })
    const columns = new ColumnTable(this.entity, rows, texts, room, hasVectors)
    for (const id of [...this.ids].sort((one, other) => one - other)) {
      const bytes = copyBytes(this.byId.get(id) as Row)
      columns.addLine(bytes, 0, bytes.length)
    }
    return columns
  }

  private insert(): Row {
    // Ids have gaps, and not every new one is the greatest.
    const id = this.random.chance(10)
      ? (this.firstId -= 1 + this.random.below(200))
      : (this.lastId += this.random.pick([1, 1, 2, 3, 100]))
    const row = this.entity.properties.map((_, place) => this.valueAt(place))
    row[0] = String(id)
    this.put(row)
    return row
  }

  private propertyAt(place: number): Property {
    return this.entity.properties[place] as Property
  }

  private valueAt(place: number): string | null {
    const { random } = this
    const { kind } = this.propertyAt(place)
    if (kind.nullable && random.chance(12)) return null
    const odd = uncoded[kind.name]
    if (odd && this.hasUncodedValues[place] && random.below(300) === 0) return random.pick(odd)
    if (!this.hasExtremes[place] || random.chance(97)) return usual[kind.name]?.(random) as string
    return random.pick(extremes[kind.name] as readonly string[])
  }

  remove(id: number): void {
    this.byId.delete(id)
    this.ids.splice(this.ids.indexOf(id), 1)
  }

  /** Changes some rows, a few of them repeatedly; returns the changes in order. */
  change(count: number): Change[] {
    return Array.from({ length: count }, () => this.changeOne())
  }

  private changeOne(): Change {
    const { random, byId, ids } = this
    if (random.chance(10) || ids.length === 0) return { before: null, after: this.insert() }
    const at = random.below(random.chance(50) ? ids.length : Math.min(8, ids.length))
    const id = ids[at] as number
    const before = byId.get(id) as Row
    if (random.chance(10)) {
      byId.delete(id)
      ids[at] = ids.at(-1) as number
      ids.pop()
      this.gone.push(before)
      return { before, after: null }
    }
    const place = 1 + random.below(before.length - 1)
    const after = before.map((value, at) => (at === place ? this.valueAt(place) : value))
    this.put(after)
    return { before, after }
  }

  /** A row of the table. */
  someRow(): Row {
    return this.byId.get(this.random.pick(this.ids)) as Row
  }

  /** Draws filters whose operands are near values of rows; sometimes one is a union. */
  filters(): Filter[] {
    const filters = this.random.times(3, () => this.filter())
    return this.random.chance(20) ? [...filters, this.union()] : filters
  }

  private filter(): Filter {
    const place = this.random.below(this.entity.properties.length)
    const near = () => this.someRow()[place] ?? null
    return randomFilter(this.entity, this.propertyAt(place), this.random, near)
  }

  private union(): Filter {
    const { random } = this
    const alternative = () => Array.from({ length: random.pick([1, 1, 2, 3]) }, () => this.filter())
    return unionFilter(this.entity, Array.from({ length: random.pick([2, 2, 3, 5]) }, alternative))
  }

  sorts(): Sort[] {
    const { random } = this
    const sorts = new Map(random.times(3, () => [random.pick(this.entity.properties), random.pick([false, true])]))
    return [...sorts].map(([property, descending]) => ({ property, descending }))
  }

  /** Draws a position: of a row, of a deleted row, or of no row. */
  seek(sorts: readonly Sort[]): Seek {
    const { random, gone } = this
    const row = gone.length > 0 && random.chance(30) ? random.pick(gone) : this.someRow()
    const places = order(this.entity, sorts).map(({ property }) => this.entity.properties.indexOf(property))
    const odd = random.chance(40) ? random.pick(places) : -1
    const valueAt = (place: number) => {
      if (place !== odd) return row[place] as string | null
      if (place === 0) return String(Number(row[0]) + random.below(3) - 1)
      const { name } = this.propertyAt(place).kind
      return random.chance(50) ? random.pick(extremes[name] as readonly string[]) : this.valueAt(place)
    }
    return { side: random.pick(['after', 'before']), position: places.map(valueAt) }
  }

  private matching(filters: readonly Filter[]): Matches {
    const tests = filters.map((filter) => {
      const alternatives = filter.either?.map((own) => this.matching(own))
      if (alternatives) return (row: Row) => alternatives.some((test) => test(row))
      return compilePredicate(this.entity, [filter]) ?? this.textTest(filter)
    })
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

  /** True if the list has a condition or a sort on a property in which a row, or the position, has a value without a code. */
  hasUncoded({ filters, sorts, seek }: FiltersAndSorts & { seek?: Seek | null }): boolean {
    const odd = Object.values(uncoded).flat()
    if (seek?.position.some((value) => odd.includes(value ?? ''))) return true
    const asked = [...withoutUnions(filters), ...sorts].map(({ property }) => this.entity.properties.indexOf(property))
    const numbers = asked.filter((place) => !this.propertyAt(place).kind.isText)
    return numbers.length > 0 && this.rows.some((row) => numbers.some((place) => odd.includes(row[place] ?? '')))
  }

  /** Returns the ids of the matching rows, in order. */
  idsOf({ filters, sorts }: FiltersAndSorts): number[] {
    const keys = this.keysOf(sorts)
    const rows = this.rows.filter(this.matching(filters))
    const ranked = rows.map((row) => ({
      id: Number(row[0]),
      ranks: keys.map(({ place, sign }) => sign * this.rankOf(place, row)),
    }))
    ranked.sort((one, other) => {
      // An index is faster than an iterator: large tables need millions of these comparisons.
      for (let at = 0; at < keys.length; at++) {
        const difference = (one.ranks[at] as number) - (other.ranks[at] as number)
        if (difference !== 0) return difference
      }
      return 0
    })
    return ranked.map(({ id }) => id)
  }

  /** Returns how many of some rows are before a position, and how many of them are exactly at it: at most one. */
  positionOf(ids: readonly number[], sorts: readonly Sort[], position: Seek['position']): { before: number; same: number } {
    const keys = this.keysOf(sorts)
    const found = { before: 0, same: 0 }
    for (const id of ids) {
      const row = this.byId.get(id) as Row
      let difference = 0
      for (let at = 0; at < keys.length && difference === 0; at++) {
        const { place, sign, compare } = keys[at] as (typeof keys)[number]
        const [own, other] = [row[place] ?? null, position[at] ?? null]
        difference = sign * (own === null || other === null ? Number(own === null) - Number(other === null) : compare(own, other))
      }
      if (difference < 0) found.before++
      if (difference === 0) found.same++
    }
    return found
  }

  private keysOf(sorts: readonly Sort[]) {
    return order(this.entity, sorts).map(({ property, descending }) => ({
      place: this.entity.properties.indexOf(property),
      compare: compareOf(property.kind) ?? compareCodes,
      sign: descending ? -1 : 1,
    }))
  }

  /** Returns a number by which rows are in the order of the property's values. */
  private rankOf(place: number, row: Row): number {
    if (place === 0) return Number(row[0])
    const value = row[place]
    return value === null || value === undefined ? Number.MAX_SAFE_INTEGER : (this.ordinalsOf(place).get(value) as number)
  }

  private ordinalsOf(place: number): Map<string, number> {
    return this.ordinals.getOrInsertComputed(place, () => {
      const compare = compareOf(this.propertyAt(place).kind) ?? compareCodes
      const values = new Set(this.rows.map((row) => row[place]))
      values.delete(null)
      return new Map(([...values] as string[]).sort(compare).map((value, ordinal) => [value, ordinal]))
    })
  }
}
