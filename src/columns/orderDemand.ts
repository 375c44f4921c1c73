// Physical order of a table's rows: decides by which property they should lie for the lists that are asked for.
import type { Entity, Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import type { FiltersAndSorts, ListQuery } from '../model/query.ts'
import { ID } from './rowStore.ts'

/** Smaller tables are searched as a whole. */
const ROWS_MIN = 100_000
/** Minimum lists for another order: they cost about as much as to load the table again. */
const LISTS_MIN = 1_000
/** A range that has at most one row in so many is found sooner if the rows lie by its property. */
const SELECTIVE = 8

/** Counts the lists of a table that another order of its rows would serve better. */
export class OrderDemand {
  private readonly lists: Float64Array

  /** `column`: of the property by which the rows lie now. */
  constructor(
    private readonly entity: Entity,
    private readonly column: number,
  ) {
    this.lists = new Float64Array(entity.properties.length)
  }

  /** A list had `total` of so many rows. Returns the column of the order that is due; null: this one is good enough. */
  note({ filters, sorts }: ListQuery, total: number, rows: number): number | null {
    if (rows < ROWS_MIN) return null
    if (SELECTIVE * total > rows) return sorts[0] === undefined ? null : this.count(sorts[0].property)
    let due: number | null = null
    for (const { property, operator, value } of filters)
      if (value !== null && operator.sides?.none === false) due = this.count(property) ?? due
    return due
  }

  private count(property: Property): number | null {
    const column = this.entity.properties.indexOf(property)
    // The index of ids serves lists by id in any order of the rows.
    if (column === ID || !isUsable(property)) return null
    const lists = this.lists[column] + 1
    this.lists[column] = lists
    if (column === this.column || lists < LISTS_MIN) return null
    // Twice as many, so that two kinds of lists that are asked for equally often do not take turns.
    return lists > 2 * this.lists[this.column] ? column : null
  }
}

/** The column by which a table's rows shall lie for this list: that of a range, or of the sort. */
export function orderFor(entity: Entity, { filters, sorts }: FiltersAndSorts): number {
  const asked = [
    ...filters.flatMap(({ property, operator: { sides } }) => (sides && sides.less !== sides.greater ? [property] : [])),
    ...sorts.slice(0, 1).map(({ property }) => property),
  ].filter(isUsable)
  const times = (one: Property) => asked.filter((other) => other === one).length
  const [most] = asked.sort((one, other) => times(other) - times(one))
  return most === undefined ? ID : entity.properties.indexOf(most)
}

function isUsable({ kind }: Property): boolean {
  return kind.ordered && !isText(kind.name)
}
