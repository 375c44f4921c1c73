// Typed queries of summaries: group keys, measures, figures, and sorts of groups.
import type { Property } from './entity.ts'
import type { AGGREGATES } from './names.ts'
import type { CsvForm, ListQuery } from './query.ts'
import type { Zone } from './zone.ts'

/** Periods by which dates and date-times are grouped; weeks begin on Monday. ISO 8601 */
export const PERIODS = ['year', 'quarter', 'month', 'week', 'day'] as const
export type Period = (typeof PERIODS)[number]

export type Aggregate = (typeof AGGREGATES)[number]

/** Maximum groups of a summary. D76 */
export const GROUPS_MAX = 250_000

/** A property by which rows are grouped. Dates and date-times can also be grouped by period. */
export interface GroupKey {
  readonly property: Property
  /** Period by which a date is grouped. Null: rows with the same value form a group. */
  readonly period: Period | null
  /**
   * Time zone of the periods, if the property is a date-time. Null: the periods are those of UTC, or the property is a date. D119
   */
  readonly zone: Zone | null
  /**
   * If the property is the copied name of another row: the reference along which the name is copied. The reference is a group
   * key, too, since several rows can have the same name. Null: the property is no copied name, or the request may not read the
   * reference. D92
   */
  readonly names: Property | null
}

/** A property whose values are aggregated in each group. */
export interface Measure {
  readonly aggregate: Aggregate
  readonly property: Property
}

/** A value that is computed for each group. An average is no figure: it follows from the sum and the number of values. */
export interface Figure {
  readonly name: 'sum' | 'values' | 'minimum' | 'maximum'
  readonly property: Property
}

/** A sort of groups by one of their columns. */
export interface GroupSort {
  readonly column: number
  readonly isDescending: boolean
}

/** A request for a summary, checked and typed. The columns of a group are its keys, its count and its figures. */
export interface SummaryQuery extends CsvForm, Pick<ListQuery, 'filters' | 'may' | 'pageSize' | 'page' | 'queryWithoutPaging'> {
  readonly keys: readonly GroupKey[]
  readonly measures: readonly Measure[]
  readonly figures: readonly Figure[]
  /** Sorts of the groups; keys without a sort come last, ascending, so that the order is total. */
  readonly sorts: readonly GroupSort[]
}

/** Returns the figures that the measures need, without duplicates. */
export function figuresOf(measures: readonly Measure[]): Figure[] {
  const figures: Figure[] = []
  for (const { aggregate, property } of measures)
    for (const name of aggregate === 'average' ? (['sum', 'values'] as const) : [aggregate])
      if (figureIndex(figures, name, property) < 0) figures.push({ name, property })
  return figures
}

/** Returns the index of a figure; -1 if it is missing. */
export function figureIndex(figures: readonly Figure[], name: Figure['name'], property: Property): number {
  return figures.findIndex((figure) => figure.name === name && figure.property === property)
}

/** Returns the time zone of a summary's periods. Returns null if the periods are those of UTC. */
export function zoneOf({ keys }: SummaryQuery): Zone | null {
  return keys.find(({ zone }) => zone !== null)?.zone ?? null
}

/** Name of a group key in requests: `month(Start)`, `Type`. */
export function groupName({ property, period }: Pick<GroupKey, 'property' | 'period'>): string {
  return period === null ? property.name : `${period}(${property.name})`
}
