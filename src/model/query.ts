// Typed queries, between parser and compiler: filters, sorts and pages of a list; the values of a body.
import type { Entity, Filter, Projection, Property, View } from './entity.ts'
import { memoize } from './memoize.ts'
import { equality, union } from './operators.ts'

export type { Filter } from './entity.ts'

/**
 * Returns the entity's own property: for a property at the end of a path, the reference with which the path begins; for any other
 * property, the property itself.
 */
export function ownProperty(property: Property): Property {
  return property.related?.reference ?? property
}

/** Returns the filters that compare values: each union is replaced by the filters of its alternatives. */
export function withoutUnions(filters: readonly Filter[]): readonly Filter[] {
  if (!filters.some(({ either }) => either)) return filters
  return filters.flatMap((filter) => (filter.either ? withoutUnions(filter.either.flat()) : [filter]))
}

/** Returns the entity's own properties on which a filter depends. */
export function ownProperties(filter: Filter): Property[] {
  return withoutUnions([filter]).map(({ property }) => ownProperty(property))
}

/** Returns whether a filter needs more rows than the row that it tests: the rows along a path, or the chain of `[under]`. */
export function isOfOtherRows({ property, operator, either }: Filter): boolean {
  if (either) return either.some((filters) => filters.some(isOfOtherRows))
  return property.related !== null || operator.isChain
}

/** Makes a filter that a row matches if it matches all filters of at least one alternative. No alternative may be empty. */
export function unionFilter({ id }: Entity, alternatives: readonly (readonly Filter[])[]): Filter {
  if (alternatives.length === 0) throw new Error('a union has alternatives')
  if (alternatives.some((filters) => filters.length === 0)) throw new Error('an alternative without filters is every row')
  return { property: id, operator: union, value: null, either: alternatives }
}

/**
 * Returns filters that a row matches if it matches all filters of at least one alternative. Returns no filters if an alternative
 * has none, since every row matches it. If all alternatives are equal, returns the filters of one of them.
 */
export function united(entity: Entity, alternatives: readonly (readonly Filter[])[]): readonly Filter[] {
  if (alternatives.some((filters) => filters.length === 0)) return []
  const distinct = new Map(alternatives.map((filters) => [JSON.stringify(filters.map(identify)), filters]))
  const [first = [], ...others] = distinct.values()
  return others.length === 0 ? first : [unionFilter(entity, [first, ...others])]
}

/**
 * Joins the texts of rights whose rows are united. The order is the same in every process, and independent of the roles that give
 * the rights.
 */
export function unitedText(texts: readonly string[]): string {
  return [...new Set(texts)].sort().join(' | ')
}

/** Returns data for JSON that identify a filter among the filters of one entity. */
export function identify({ property, operator, value, either }: Filter): unknown {
  return either ? [operator.sign, either.map((filters) => filters.map(identify))] : [property.column, operator.sign, value]
}

/** Returns a filter that no row matches: ids begin with 1. */
export const noRow = memoize(({ id }: Entity): Filter => ({ property: id, operator: equality, value: '0' }))

/**
 * Returns the entities to which the paths and chains of `filters` and `properties` lead, each entity once. The filters of the
 * views along a path or a chain may have paths and chains, too: these are followed as well.
 */
export function otherEntities(filters: readonly Filter[], properties: readonly Property[]): Entity[] {
  const found = new Set<Entity>()
  const add = (view: View) => {
    found.add(view.whole)
    view.filters.forEach(addFilter)
  }
  const addPath = ({ related }: Property) => {
    if (related === null) return
    add(related.view)
    addPath(related.property)
  }
  const addFilter = (filter: Filter) => {
    for (const { property, chain } of withoutUnions([filter])) {
      addPath(property)
      if (chain) add(chain)
    }
  }
  properties.forEach(addPath)
  filters.forEach(addFilter)
  return [...found]
}

/**
 * Returns whether a filter matches rows in which its property has no value. If the property is at the end of a path, such a
 * filter also matches rows whose reference is empty.
 */
export function matchesNone({ operator, value, anyOf }: Filter): boolean {
  if (anyOf) return anyOf.includes(null)
  return value === null ? operator.sides?.equal === true : operator.sides?.none === true
}

export interface Sort {
  readonly property: Property
  readonly descending: boolean
}

/** Position of a page by cursor: the page begins after a row, or ends before it. The row may have been deleted. */
export interface Seek {
  /** Side of the row on which the page is. */
  readonly side: 'after' | 'before'
  /** The row's values of the properties by which the list is sorted, the id last, as PostgreSQL printed them. */
  readonly position: readonly (string | null)[]
}

export interface FiltersAndSorts {
  readonly filters: readonly Filter[]
  /** Sorts, each property at most once. Ties are ordered by the id, in the direction of the last sort. */
  readonly sorts: readonly Sort[]
}

/** A kind of write that `may` asks about. D109 */
export interface AskedWrite {
  readonly verb: 'update' | 'delete'
  /**
   * Properties that the write sets: one right must let the caller set all of them. Empty: every right to the verb counts,
   * whatever properties it lets the caller set.
   */
  readonly properties: readonly Property[]
}

/** Rows on which the caller may carry out `write`, by at least one right. */
export interface Reach {
  readonly write: AskedWrite
  readonly filters: readonly Filter[]
  /** Text of the rights; '' if they admit every row. */
  readonly text: string
  /** `text`, but with the variables `{today}` and `{now}` instead of their values. */
  readonly signedText: string
}

/** A request for a list, checked and typed. */
export interface ListQuery extends FiltersAndSorts {
  /**
   * Rows to which `may` restricts the list. The filters of `may` are in the list's `filters`, too. Null: the request has no
   * `may`.
   */
  readonly may: Reach | null
  /** Number of rows of a page, 5 to 50; for a summary 5 to 1,000 groups. */
  readonly pageSize: number
  /** Number of the page, from 1. If `seek` is set, only the response's links use the number. */
  readonly page: number
  /** Position of a page by cursor; null: the page is found by its number. */
  readonly seek: Seek | null
  /** The query string as the client wrote it, without `page` and `cursor`, for links to other pages. */
  readonly queryWithoutPaging: string
  /** Properties of each row in the response; null: all. */
  readonly choice: Projection | null
}

/** Options of a CSV. */
export interface CsvForm {
  /** True if the CSV begins with a byte order mark. */
  readonly hasMark: boolean
  /** True if date-times have the form that spreadsheets read, and texts cannot run as formulas. */
  readonly isForExcel: boolean
  /** True if decimals have a comma; then semicolons separate the cells. */
  readonly hasDecimalComma: boolean
}

/** A request for a stream of a list, checked and typed. */
export interface StreamQuery extends CsvForm, FiltersAndSorts {
  readonly may: Reach | null
  readonly choice: Projection | null
}

/** Writable properties that a body sets, with their new values as text for PostgreSQL. */
export type Assignments = ReadonlyMap<Property, string | null>

/**
 * Returns the sorts, and the id as the last one. The id follows the direction of the last sort, so an index on (property, id)
 * serves both directions.
 */
export function order({ id }: Entity, sorts: readonly Sort[]): readonly Sort[] {
  const last = sorts.findIndex(({ property }) => property === id)
  return last >= 0 ? sorts.slice(0, last + 1) : [...sorts, { property: id, descending: sorts.at(-1)?.descending ?? false }]
}

export function opposite(keys: readonly Sort[]): Sort[] {
  return keys.map(({ property, descending }) => ({ property, descending: !descending }))
}
