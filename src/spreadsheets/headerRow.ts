// Finds the row with the names of the columns: people write titles and notes above it. Runs in browsers, too.

/** Maximum number of rows at the beginning of a file among which the header is looked for. */
export const HEADER_ROWS_MAX = 25
/** Minimum number of known names that make a row the header: a single name can be a value, such as the job Manager. */
const KNOWN_MIN = 2
/** Minimum share of the columns that have a name in the header: titles and names of groups fill fewer columns. */
const NAMED_SHARE = 0.6

/**
 * Returns the index of the header: the row with most known names. If no row has `KNOWN_MIN` known names, returns the first row
 * that is at least 60% as wide as the widest row. `rows`: first rows of a file. `isKnown`: returns whether a cell is the name of
 * a property to import.
 */
export function headerIndex(rows: readonly (readonly (string | null)[])[], isKnown: (name: string) => boolean): number {
  const filled = rows.slice(0, HEADER_ROWS_MAX).map((cells) => cells.filter((cell) => (cell ?? '').trim() !== ''))
  const known = filled.map((cells) => cells.filter((cell) => isKnown(cell ?? '')).length)
  const most = Math.max(0, ...known)
  if (most >= KNOWN_MIN) return known.indexOf(most)
  const width = Math.max(0, ...filled.map(({ length }) => length))
  return Math.max(
    0,
    filled.findIndex(({ length }) => length >= width * NAMED_SHARE),
  )
}

/**
 * Joins a header of two rows to one name per column, such as `January From`. The first row has groups, such as `January` above
 * `From` and `To`, and names above empty cells of the second row. Returns null if the second row is no part of the header.
 */
export function joinedHeader(top: readonly (string | null)[], second: readonly (string | null)[]): (string | null)[] | null {
  const isFilled = (cells: readonly (string | null)[], index: number) => (cells[index] ?? '').trim() !== ''
  const joined: (string | null)[] = []
  let filled = 0
  let single = 0
  let group = ''
  for (let index = 0; index < Math.max(top.length, second.length); index++) {
    const isTop = isFilled(top, index)
    const isGroup = !isTop || (index + 1 < second.length && !isFilled(top, index + 1) && isFilled(second, index + 1))
    if (isFilled(second, index) && (!isGroup || index === 0)) return null
    if (isFilled(second, index)) filled++
    else if (isTop) single++
    if (isTop) group = top[index] ?? ''
    joined.push(isFilled(second, index) ? `${group} ${second[index]}`.trim() : (top[index] ?? null))
  }
  return filled >= 2 && single >= 1 ? joined : null
}
