// Filters for a link to the rows that an import has created: they find exactly these rows.
import type { Condition } from './resources.ts'

/** Maximum ids of a filter. */
const IDS_MAX = 100

/** Returns the ids of the rows in the body of a response. */
export function idsOfRows(answer: string): readonly number[] {
  return JSON.parse(answer).map(({ id }: { readonly id: number }) => id)
}

/**
 * Returns filters that find exactly the rows with these ids. Returns null if there are no ids, or too many to name them in an
 * address.
 */
export function filtersOfIds(ids: readonly number[]): readonly Condition[] | null {
  const sorted = ids.toSorted((one, other) => one - other)
  const [first] = sorted
  const last = sorted.at(-1)
  if (first === undefined || last === undefined || !Number.isSafeInteger(last)) return null
  if (first === last) return [{ name: 'Id', sign: '=', values: [String(first)] }]
  // Ids without gaps need only a range: the rows of one import mostly have such ids.
  if (last - first === sorted.length - 1)
    return [
      { name: 'Id', sign: '>=', values: [String(first)] },
      { name: 'Id', sign: '<=', values: [String(last)] },
    ]
  return sorted.length > IDS_MAX ? null : [{ name: 'Id', sign: '[]', values: sorted.map(String) }]
}
