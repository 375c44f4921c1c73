import type { Answer, Connection } from './connection.ts'
import { unexpected } from './error.ts'
import { queryString, type RosterCall, type RosterMay, type RosterPicked, type RosterSorted } from './query.ts'

/** Periods to group dates and date-times by; weeks begin on Monday. */
export type RosterPeriod = 'year' | 'quarter' | 'month' | 'week' | 'day'

/** A property to group by, or a period of a date or date-time. */
export type RosterKey<Field extends string, Dated extends string> = Field | `${RosterPeriod}(${Dated})`

/** Properties of an entity by their use in summaries. */
export interface RosterKinds {
  /** Properties to group by period: dates and date-times. */
  readonly dated: string
  /** Properties to sum: numbers. */
  readonly summed: string
  /** Properties with a least and a greatest value: all that have an order. */
  readonly compared: string
  /** References by the names of the properties that are copied along them: `employeeId` for `employee`. */
  readonly copied?: object
}

/** Keys of a group. A copied property adds its reference, since several rows can have the same name. */
export type RosterKeys<Key, Kinds extends RosterKinds> = Key | (Key extends keyof Kinds['copied'] ? Kinds['copied'][Key] : never)

/** Query for a summary: filter, keys of groups, and the values to compute for each group. `Sorted`: keys to sort by. */
export interface RosterSummaryQuery<Filter, Key, Sum extends string, Average, Minimum, Maximum, Sorted = Key, May = never>
  extends RosterCall {
  readonly filter?: Filter | undefined
  /** Selects only rows that the key or person may write in this way. */
  readonly may?: May | undefined
  /** Up to three keys; without a key, all rows are one group. */
  readonly groupBy?: readonly Key[] | undefined
  /** The time zone of periods of date-times, such as `Europe/Amsterdam`; default: UTC. */
  readonly zone?: string | undefined
  readonly sum?: readonly Sum[] | undefined
  readonly average?: readonly Average[] | undefined
  readonly minimum?: readonly Minimum[] | undefined
  readonly maximum?: readonly Maximum[] | undefined
  /** Order of the groups: by keys of `groupBy`, by `count`, or by a requested `sum(...)`; default: by the keys. */
  readonly sort?: RosterGroupSort<Sorted, Sum> | readonly RosterGroupSort<Sorted, Sum>[] | undefined
  /** Number of groups of a page, 5 to 1,000; default: 100. */
  readonly pageSize?: number | undefined
  readonly page?: number | undefined
}

/** Key, `count` or requested sum to sort by: ascending, or descending with a minus in front. */
export type RosterGroupSort<Key, Sum extends string> = RosterSorted<
  NoInfer<((Key | RosterKeyed<Key>) & string) | 'count' | `sum(${Sum})`>
>

/** A page of groups, and the number of groups on all pages. */
export interface RosterGroups<Group> {
  readonly groups: Group[]
  readonly total: number
}

/**
 * A group: its keys, its count, and the requested values. Type parameters select them: `RosterGroup<Absence, 'type' |
 * 'month(start)', 'period.days'>` has a sum; averages, least and greatest values are further parameters.
 */
export type RosterGroup<Row, Key, Sum = never, Average = never, Minimum = never, Maximum = never> = RosterOptional<
  RosterPicked<Row, RosterKeyed<Key>>
> & {
  readonly count: number
} & RosterAggregate<'sum', Row, Sum> &
  RosterAggregate<'average', Row, Average> &
  RosterAggregate<'minimum', Row, Minimum> &
  RosterAggregate<'maximum', Row, Maximum>

/** Name of the property of a key: `start` for `month(start)`. */
type RosterKeyed<Key> = Key extends `${RosterPeriod}(${infer Name})` ? Name : Key
type RosterAggregate<Name extends string, Row, Asked> = [Asked] extends [never]
  ? unknown
  : { readonly [Key in Name]: RosterOptional<RosterPicked<Row, Asked>> }
/** Makes every leaf nullable; objects themselves are never null. */
type RosterOptional<Values> = {
  readonly [Key in keyof Values]: NonNullable<Values[Key]> extends object
    ? RosterOptional<NonNullable<Values[Key]>>
    : Values[Key] | null
}

/** Returns a page of a summary of the rows at `path`. */
export async function summaryOf<Group>(
  connection: Connection,
  path: string,
  query: RosterSummaryQuery<unknown, string, string, string, string, string, string, RosterMay<string>>,
): Promise<RosterGroups<Group>> {
  const { filter, may, sort, pageSize, page, signal, ...lists } = query
  const target = `${path}/Summary${queryString({ filter, may, sort, pageSize, page }, lists)}`
  const [groups, total] = rowsAndTotal<Group>(await connection.send({ method: 'GET', path: target, signal }), 'groups')
  return { groups, total }
}

/**
 * Returns the rows or groups of a page, and their number on all pages. @throws RosterError if the response lacks the rows or the
 * number
 */
export function rowsAndTotal<Row>(answer: Answer, what: string): [rows: Row[], total: number] {
  const total = answer.headers.get('X-Total-Count')
  if (total === null || !Array.isArray(answer.body)) throw unexpected(answer, `was answered without ${what} or X-Total-Count`)
  return [answer.body, Number(total)]
}
