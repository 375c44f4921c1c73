// Typed queries of summaries: keys, measures, figures and sorts of groups.
import type { Property } from './entity.ts'
import type { AGGREGATES } from './names.ts'
import type { CsvForm, ListQuery } from './query.ts'

/** Periods of dates and date-times by which rows are grouped, in UTC; weeks begin on Monday. ISO 8601 */
export const PERIODS = ['year', 'quarter', 'month', 'week', 'day'] as const
export type Period = (typeof PERIODS)[number]

export type Aggregate = (typeof AGGREGATES)[number]

/** Groups that a summary forms at most. D76 */
export const GROUPS_MAX = 250_000

/** A property by which rows are grouped, or the period in which it lies. */
export interface GroupKey {
  readonly property: Property
  /** Null: rows of a group have the same value. */
  readonly period: Period | null
}

/** A property whose values are aggregated in each group. */
export interface Measure {
  readonly aggregate: Aggregate
  readonly property: Property
}

/** A value that is computed of a property in each group; an average follows from the sum and the number of values. */
export interface Figure {
  readonly name: 'sum' | 'values' | 'minimum' | 'maximum'
  readonly property: Property
}

/** A key of the order of groups: a column of their rows. */
export interface GroupSort {
  readonly column: number
  readonly isDescending: boolean
}

/** A summary request, checked and typed. Rows of groups have as columns the keys, the count, and the figures. */
export interface SummaryQuery extends CsvForm, Pick<ListQuery, 'filters' | 'pageSize' | 'page' | 'queryWithoutPaging'> {
  readonly keys: readonly GroupKey[]
  readonly measures: readonly Measure[]
  readonly figures: readonly Figure[]
  /** A total order: the keys that no sort names come last, ascending. */
  readonly sorts: readonly GroupSort[]
}

/** The figures that these measures need, each once. */
export function figuresOf(measures: readonly Measure[]): Figure[] {
  const figures: Figure[] = []
  for (const { aggregate, property } of measures)
    for (const name of aggregate === 'average' ? (['sum', 'values'] as const) : [aggregate])
      if (figureIndex(figures, name, property) < 0) figures.push({ name, property })
  return figures
}

/** The index of a figure; -1: it is none of these. */
export function figureIndex(figures: readonly Figure[], name: Figure['name'], property: Property): number {
  return figures.findIndex((figure) => figure.name === name && figure.property === property)
}

/** Name of a key in requests: `month(Start)`, `Type`. */
export function groupName({ property, period }: GroupKey): string {
  return period === null ? property.name : `${period}(${property.name})`
}
