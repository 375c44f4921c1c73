import type { Change } from '../../src/changes/change.ts'
import type { ColumnTable } from '../../src/columns/columnTable.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { operators } from '../../src/model/operators.ts'
import { order } from '../../src/model/order.ts'
import { compilePredicate } from '../../src/model/predicate.ts'
import type { Filter, Sort } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseFilter } from '../../src/parse/filter.ts'
import { comparePositions } from './positions.ts'
import type { Random } from './random.ts'
import { operandNear } from './values.ts'

/** As PostgreSQL prints what a column of the kind can hold; of each but texts, values in the order that they have. */
const printed: Record<string, readonly string[]> = {
  text: [
    '',
    ' ',
    'a',
    'A',
    'á',
    'ab',
    'a\\b',
    '\\N',
    'Approved',
    'Requested',
    '😀',
    '\u{10ffff}',
    '\t',
    '\n\r',
    "a'b",
    '<b>',
  ],
  boolean: ['f', 't'],
  integer: ['1', '2', '3', '70', '71', '2147483647', '2147483648', '9007199254740991', '9007199254740993'],
  instant: [
    ...['-infinity', '0044-03-15 00:00:00+00 BC', '0001-01-01 00:00:00+00', '1931-12-13 20:45:51+00'],
    ...['1931-12-13 20:45:52+00', '1999-12-31 23:59:59+00', '2000-01-01 00:00:00+00', '2024-01-31 09:00:00+00'],
    ...['2024-02-29 23:59:59+00', '2068-01-19 03:14:07+00', '9999-12-31 23:59:59+00', '10000-01-01 00:00:00+00'],
    ...['294276-12-31 23:59:59+00', 'infinity'],
  ],
  decimal: [
    ...[
      '-9.50000000',
      '0.00000000',
      '0.00000001',
      '0.10000000',
      '0.30000001',
      '1.00000000',
      '7.50000000',
      '8.00000000',
    ],
    ...[
      '1234567.12345678',
      '1234567.12345679',
      '1234567890.00000000',
      '9999999999.99999998',
      '9999999999.99999999',
      'NaN',
    ],
  ],
}
/** Of each kind, values without an extreme. */
const plain: Record<string, (random: Random) => string> = {
  text: (random) => `text ${random.below(40)}`,
  boolean: (random) => random.pick(['f', 't']),
  integer: (random) => String(1 + random.below(500)),
  instant: (random) =>
    `20${10 + random.below(20)}-0${1 + random.below(9)}-${10 + random.below(19)} 0${random.below(10)}:00:00+00`,
  decimal: (random) => `${random.below(30)}.${random.pick(['00000000', '50000000', '25000000', '12345678'])}`,
}

/** Rows of an entity, all random, and what the project's own predicate and order say of them. */
export class RandomTable {
  private readonly byId = new Map<number, Row>()
  private lastId = 0

  constructor(
    private readonly entity: Entity,
    readonly random: Random,
    count: number,
  ) {
    for (let n = 0; n < count; n++) this.insert()
  }

  get rows(): Row[] {
    return [...this.byId.values()]
  }

  private insert(): Row {
    this.lastId += 1 + this.random.below(3)
    const row = this.entity.properties.map((property) => this.valueOf(property))
    row[0] = String(this.lastId)
    this.byId.set(this.lastId, row)
    return row
  }

  private valueOf({ kind }: Property): string | null {
    if (kind.nullable && this.random.chance(12)) return null
    if (this.random.chance(97)) return (plain[kind.name] as (random: Random) => string)(this.random)
    return this.random.pick(printed[kind.name] as readonly string[])
  }

  /** Changes some rows, a few of them again and again; gives the changes in their order. */
  change(count: number): Change[] {
    const { random } = this
    return Array.from({ length: count }, () => {
      const transaction = 1
      if (random.chance(10)) return { transaction, before: null, after: this.insert() }
      const ids = [...this.byId.keys()]
      const id = random.chance(50) ? random.pick(ids) : (ids[random.below(8)] as number)
      const before = this.byId.get(id) as Row
      if (random.chance(10)) {
        this.byId.delete(id)
        return { transaction, before, after: null }
      }
      const place = 1 + random.below(before.length - 1)
      const property = this.entity.properties[place] as Property
      const after = before.map((value, at) => (at === place ? this.valueOf(property) : value))
      this.byId.set(id, after)
      return { transaction, before, after }
    })
  }

  /** Filters near the values of rows, and the bounds of those by the order of texts. */
  filters(columns: ColumnTable): { filters: Filter[]; bounds: Map<Filter, number> } {
    const filters = this.random.times(3, () => this.filter())
    void columns
    return { filters, bounds: new Map() }
  }

  private filter(): Filter {
    for (;;) {
      const place = this.random.below(this.entity.properties.length)
      const property = this.entity.properties[place] as Property
      const served = operators.filter(({ serves }) => serves(property.kind))
      const { prefix, compileEmpty } = this.random.pick(served)
      if (property.kind.name === 'text' && prefix !== '=' && prefix !== '!=') continue
      const isEmpty = compileEmpty !== null && this.random.chance(10)
      const near = this.random.pick(this.rows)[place] ?? null
      const operand = isEmpty ? '' : operandNear(property.kind.name, near, this.random)
      return parseFilter(this.entity, { name: property.name, value: prefix + operand, raw: '' })
    }
  }

  rank(columns: ColumnTable): void {
    void columns
  }

  private matching(filters: readonly Filter[]): (row: Row) => boolean {
    return compilePredicate(this.entity, filters) as (row: Row) => boolean
  }

  count(filters: readonly Filter[]): number {
    return this.rows.filter(this.matching(filters)).length
  }

  /** How many rows more match by the changes. */
  sum(filters: readonly Filter[], changes: readonly Change[]): number {
    const matches = this.matching(filters)
    return changes.reduce(
      (sum, { before, after }) =>
        sum + Number(after !== null && matches(after)) - Number(before !== null && matches(before)),
      0,
    )
  }

  /** Whether a row matches that no codes can stand for. */
  hasOdd(filters: readonly Filter[]): boolean {
    const places = this.entity.properties.flatMap(({ kind }, place) => (kind.name === 'text' ? [] : [place]))
    return this.rows
      .filter(this.matching(filters))
      .some((row) =>
        places.some((place) => (row[place] ?? '').replace(/\D/g, '').length > 15 || row[place]?.length === 0),
      )
  }

  /** Where to look for a page among so many rows, and in what order. */
  place(total: number): { sorts: Sort[]; offset: number; size: number } {
    const { random } = this
    const sortable = this.entity.properties.filter(({ kind }) => kind.name !== 'text')
    const sorts = new Map(
      random.times(3, () => [random.pick(sortable), random.pick(['ascending', 'descending'] as const)]),
    )
    return {
      sorts: [...sorts].map(([property, direction]) => ({ property, direction })),
      offset: random.below(total + 3),
      size: 5 + random.below(46),
    }
  }

  ids(filters: readonly Filter[], sorts: readonly Sort[]): number[] {
    const keys = order(this.entity, sorts)
    const places = keys.map(({ property }) => this.entity.properties.indexOf(property))
    const compare = comparePositions(keys) as (one: Row, other: Row) => number
    return this.rows
      .filter(this.matching(filters))
      .map((row) => [places.map((place) => row[place] as string | null), Number(row[0])] as const)
      .sort(([one], [other]) => compare(one, other))
      .map(([, id]) => id)
  }
}
