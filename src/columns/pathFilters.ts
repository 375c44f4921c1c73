// Filters by paths, as filters of the rows to which their references lead.
import type { Filter } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'

/**
 * Returns the filter for the row to which the reference leads. The same filter always gives the same object, because the texts
 * that a filter matches are stored by this object.
 */
export const relatedFilter = memoize((filter: Filter): Filter => {
  const { related } = filter.property
  if (related === null) throw new Error(`${filter.property.name} is no path`)
  return { ...filter, property: related.property }
})
