// Reach: the rows that the caller may update or delete, as they are before the write. The list parameter `may` filters by it.
// D109
import type { Access, RowReach } from './access.ts'
import { type AskedWrite, type Filter, noRow, ownProperty, type Reach, united, unitedText } from './query.ts'
import type { View } from './view.ts'

/** Text of a reach that has no row, because no right admits one. */
const NO_RIGHT = '-'

/** Returns the rows that the caller may write. `access`: null if the caller may write nothing. */
export function reachOfWrite(view: View, access: Access | null, write: AskedWrite): Reach {
  const reaches = reachesOf(access, write)
  if (reaches.length === 0) return { write, filters: [noRow(view.whole)], text: NO_RIGHT, signedText: NO_RIGHT }
  const filters = united(
    view.whole,
    reaches.map((reach) => [...reach.filters, ...keptConditions(reach, write)]),
  )
  if (filters.length === 0) return { write, filters, text: '', signedText: '' }
  const text = unitedText(reaches.map((reach) => reach.text))
  const signedText = unitedText(reaches.map((reach) => reach.signedText))
  return { write, filters, text, signedText }
}

function reachesOf(access: Access | null, { verb, properties }: AskedWrite): readonly RowReach[] {
  if (verb === 'delete') return access?.delete?.reaches ?? []
  const able = (access?.update?.rights ?? []).filter(({ settable }) => properties.every((one) => settable.has(one)))
  return able.map(({ reach }) => reach)
}

/**
 * Returns the conditions of `becomes` on properties that the write does not set. The values of these properties stay the same, so
 * the row must meet the conditions before the write.
 */
function keptConditions({ becomes }: RowReach, { properties }: AskedWrite): readonly Filter[] {
  if (becomes === null || properties.length === 0) return []
  return becomes.filter(({ property }) => !properties.includes(ownProperty(property)))
}
