// Typed queries, between parser and compiler: filters, sorts and pages of a list; the values of a body.
import type { Entity, Projection, Property } from './entity.ts'
import type { Operator } from './operators.ts'

export interface Filter {
  readonly property: Property
  readonly operator: Operator
  /** Text for PostgreSQL; null stands for an empty operand, "no value". Of `[]` it is an array. */
  readonly value: string | null
  /** The values of `[]`, each once; null stands for "no value". */
  readonly anyOf?: readonly (string | null)[]
}

export interface Sort {
  readonly property: Property
  readonly descending: boolean
}

/** The row at which a page begins or ends; it may have been deleted. */
export interface Seek {
  /** The page begins behind the row, or ends before it. */
  readonly side: 'behind' | 'before'
  /** The row's values of the order's keys, the id last, as PostgreSQL wrote them. */
  readonly position: readonly (string | null)[]
}

export interface FiltersAndSorts {
  readonly filters: readonly Filter[]
  /** Each property at most once; the id breaks what ties are left, in the direction of the last. */
  readonly sorts: readonly Sort[]
}

/** A list request, checked and typed. */
export interface ListQuery extends FiltersAndSorts {
  /** 5 to 50; of a summary 5 to 1,000 groups. */
  readonly pageSize: number
  /** 1 upwards. With `seek` it is only the number that the page goes by. */
  readonly page: number
  /** Position of the page by a cursor; null: by its number. */
  readonly seek: Seek | null
  /** The query string as the client wrote it, without `page` and `cursor`: what the links of a page keep. */
  readonly queryWithoutPaging: string
  /** Properties of each row in the response; null: all. */
  readonly choice: Projection | null
}

/** How a CSV is written. */
export interface CsvForm {
  /** True if a CSV begins with a byte order mark. */
  readonly hasMark: boolean
  /** True if a CSV has date-times as spreadsheets read them, and no text that one would run as a formula. */
  readonly isForExcel: boolean
  /** True if decimals of a CSV have a comma, and its cells are separated by semicolons. */
  readonly hasDecimalComma: boolean
}

/** A request for a stream of a list, checked and typed. */
export interface StreamQuery extends CsvForm, FiltersAndSorts {
  readonly choice: Projection | null
}

/** The writable properties that a body sets, with their new value as text for PostgreSQL. */
export type Assignments = ReadonlyMap<Property, string | null>

/** The sorts and the id, which breaks ties in the last one's direction: so one index on (property, id) serves both directions. */
export function order({ id }: Entity, sorts: readonly Sort[]): readonly Sort[] {
  const last = sorts.findIndex(({ property }) => property === id)
  return last >= 0 ? sorts.slice(0, last + 1) : [...sorts, { property: id, descending: sorts.at(-1)?.descending ?? false }]
}

export function opposite(keys: readonly Sort[]): Sort[] {
  return keys.map(({ property, descending }) => ({ property, descending: !descending }))
}
