import type { Answer, Connection } from './connection.ts'
import { unexpected } from './error.ts'
import { queryString, type RosterCall, type RosterPicked, type RosterSorted } from './query.ts'

/** Periods by which dates and date-times are grouped, in UTC; weeks begin on Monday. */
export type RosterPeriod = 'year' | 'quarter' | 'month' | 'week' | 'day'

/** A property by which rows are grouped, or the period of one that has dates. */
export type RosterKey<Field extends string, Dated extends string> = Field | `${RosterPeriod}(${Dated})`

/** Properties of an entity by what a summary does with them. */
export interface RosterKinds {
  /** Dates and date-times. */
  readonly dated: string
  /** Numbers. */
  readonly summed: string
  /** All that have an order. */
  readonly compared: string
}

/** Rows of which groups are formed, and what is computed of each group. */
export interface RosterSummaryQuery<Filter, Key, Sum extends string, Average, Minimum, Maximum> extends RosterCall {
  readonly filter?: Filter | undefined
  /** Up to three; without one, all rows are one group. */
  readonly groupBy?: readonly Key[] | undefined
  readonly sum?: readonly Sum[] | undefined
  readonly average?: readonly Average[] | undefined
  readonly minimum?: readonly Minimum[] | undefined
  readonly maximum?: readonly Maximum[] | undefined
  /** Keys as in `groupBy`, `count`, or `sum(...)` of what is summed; by the keys without it. */
  readonly sort?: RosterGroupSort<Key, Sum> | readonly RosterGroupSort<Key, Sum>[] | undefined
  /** 5 to 1,000, 100 without it. */
  readonly pageSize?: number | undefined
  readonly page?: number | undefined
}

/** A key, a count or a sum, ascending; with a minus in front, descending. What is asked for says which there are. */
export type RosterGroupSort<Key, Sum extends string> = RosterSorted<
  NoInfer<((Key | RosterKeyed<Key>) & string) | 'count' | `sum(${Sum})`>
>

/** Groups of a page, and how many there are on all pages. */
export interface RosterGroups<Group> {
  readonly groups: Group[]
  readonly total: number
}

/**
 * A group: its keys, its count, and what was asked for. `RosterGroup<Absence, 'type' | 'month(start)', 'period.days'>` has a sum;
 * averages, least and greatest values follow it.
 */
export type RosterGroup<Row, Key, Sum = never, Average = never, Minimum = never, Maximum = never> = RosterOptional<
  RosterPicked<Row, RosterKeyed<Key>>
> & {
  readonly count: number
} & RosterAggregate<'sum', Row, Sum> &
  RosterAggregate<'average', Row, Average> &
  RosterAggregate<'minimum', Row, Minimum> &
  RosterAggregate<'maximum', Row, Maximum>

/** `start` of `month(start)`. */
type RosterKeyed<Key> = Key extends `${RosterPeriod}(${infer Name})` ? Name : Key
type RosterAggregate<Name extends string, Row, Asked> = [Asked] extends [never]
  ? unknown
  : { readonly [Key in Name]: RosterOptional<RosterPicked<Row, Asked>> }
/** Objects are there, and their parts null where there is no value. */
type RosterOptional<Values> = {
  readonly [Key in keyof Values]: NonNullable<Values[Key]> extends object
    ? RosterOptional<NonNullable<Values[Key]>>
    : Values[Key] | null
}

/** Asks for a page of a summary of the rows at `path`. */
export async function summaryOf<Group>(
  connection: Connection,
  path: string,
  query: RosterSummaryQuery<unknown, string, string, string, string, string>,
): Promise<RosterGroups<Group>> {
  const { filter, sort, pageSize, page, signal, ...lists } = query
  const target = `${path}/Summary${queryString({ filter, sort, pageSize, page }, lists)}`
  const [groups, total] = rowsAndTotal<Group>(await connection.send({ method: 'GET', path: target, signal }), 'groups')
  return { groups, total }
}

/** The rows or groups of a page, and how many there are on all pages. @throws RosterError where the answer lacks either */
export function rowsAndTotal<Row>(answer: Answer, what: string): [rows: Row[], total: number] {
  const total = answer.headers.get('X-Total-Count')
  if (total === null || !Array.isArray(answer.body)) throw unexpected(answer, `was answered without ${what} or X-Total-Count`)
  return [answer.body, Number(total)]
}
