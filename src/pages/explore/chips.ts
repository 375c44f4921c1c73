// Makes the chips of filters. Most filters have a chip of their own. The two filters of a span share a chip, and so do many `!=`
// filters of one property.
import { formatOperand } from './format.ts'
import { findProperty, type Resource } from './resources.ts'
import type { FoundSpan } from './spans.ts'
import type { Filter } from './view.ts'
import { inWords, isMay, spanInWords } from './words.ts'

/** A form, named by the index of the filter that the form changes; `SPAN` names the form of a span. */
export type Edited = number | typeof SPAN
export const SPAN = 'span'

export interface Chip {
  /** Indexes of the chip's filters in the view. */
  readonly filterIndexes: readonly number[]
  readonly words: readonly [name: string, operator: string, value: string]
  /** Form that a click opens; null: the chip can only be removed. */
  readonly edited: Edited | null
}

/**
 * Maximum number of `!=` filters of a property that have a chip each. If there are more, all of them share one chip. A click on
 * the bar “others” of a chart adds many such filters.
 */
const LEFT_OUT_MAX = 3

/** Returns the chips of a view's filters. `found`: the two filters of a span, which share a chip. */
export function chipsOf(resource: Resource, filters: readonly Filter[], found: FoundSpan | null): Chip[] {
  const indexesLike = ({ name, sign }: Filter) =>
    filters.flatMap((other, index) => (sign === '!=' && other.sign === sign && other.name === name ? [index] : []))
  return filters.flatMap((filter, index): Chip[] => {
    if (found?.filterIndexes.includes(index)) {
      const isFirst = index === Math.min(...found.filterIndexes)
      return isFirst && resource.span
        ? [{ filterIndexes: found.filterIndexes, words: spanInWords(resource.span, found), edited: SPAN }]
        : []
    }
    const filterIndexes = indexesLike(filter)
    if (filterIndexes.length <= LEFT_OUT_MAX)
      return [{ filterIndexes: [index], words: inWords(resource, filter), edited: isMay(filter) ? null : index }]
    if (index !== filterIndexes[0]) return []
    const property = findProperty(resource, filter.name)
    const values = filterIndexes.map((one) => filters[one]?.values[0] ?? '')
    const shown = values.map((value) => (value === '' ? 'no value' : formatOperand(property, value))).join(', ')
    return [{ filterIndexes, words: [property?.label ?? filter.name, 'is none of', shown], edited: null }]
  })
}
