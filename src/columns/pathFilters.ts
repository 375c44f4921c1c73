// Filters by paths as filters of the rows behind their references.
import type { Filter } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'

/** Returns the filter of the row that the reference names: the same object for the same filter, since texts are found by it. */
export const filterBehind = memoize((filter: Filter): Filter => {
  const { related } = filter.property
  if (related === null) throw new Error(`${filter.property.name} is no path`)
  return { ...filter, property: related.property }
})
