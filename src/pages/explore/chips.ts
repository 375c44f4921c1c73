// Makes the chips of filters. Mostly each filter has a chip. The two filters of a span share a chip, and so do many `!=` filters
// of one property.
import { formatOperand } from './format.ts'
import { findProperty, type Resource } from './resources.ts'
import type { FoundSpan } from './spans.ts'
import type { Filter } from './view.ts'
import { inWords, isMay, spanInWords } from './words.ts'

/** A form: the index of the filter that it changes, or `SPAN` for the form of a span. */
export type Edited = number | typeof SPAN
export const SPAN = 'span'

export interface Chip {
  /** Indexes of the chip's filters in the view. */
  readonly places: readonly number[]
  readonly words: readonly [name: string, operator: string, value: string]
  /** Form that a click opens; null: the chip can only be removed. */
  readonly edited: Edited | null
}

/**
 * Maximum number of `!=` filters of a property that have a chip each. If there are more, all of them share one chip. A click on
 * the bar “others” of a chart adds many.
 */
const LEFT_OUT_MAX = 3

/** Returns the chips of a view's filters. `found`: the two filters of a span, which share a chip. */
export function chipsOf(resource: Resource, filters: readonly Filter[], found: FoundSpan | null): Chip[] {
  const placesLike = ({ name, sign }: Filter) =>
    filters.flatMap((other, place) => (sign === '!=' && other.sign === sign && other.name === name ? [place] : []))
  return filters.flatMap((filter, place): Chip[] => {
    if (found?.places.includes(place)) {
      const isFirst = place === Math.min(...found.places)
      return isFirst && resource.span ? [{ places: found.places, words: spanInWords(resource.span, found), edited: SPAN }] : []
    }
    const places = placesLike(filter)
    if (places.length <= LEFT_OUT_MAX)
      return [{ places: [place], words: inWords(resource, filter), edited: isMay(filter) ? null : place }]
    if (place !== places[0]) return []
    const property = findProperty(resource, filter.name)
    const values = places.map((one) => filters[one]?.values[0] ?? '')
    const shown = values.map((value) => (value === '' ? 'no value' : formatOperand(property, value))).join(', ')
    return [{ places, words: [property?.label ?? filter.name, 'is none of', shown], edited: null }]
  })
}
