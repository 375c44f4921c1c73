// Finds the row with the names of the columns: people write titles and notes above it. No Node.

/** Number of rows of which one may have the names. */
export const HEADER_ROWS_MAX = 25
/** Number of known names that decide: a single one may be a value, such as the job Manager. */
const KNOWN_MIN = 2
/** Share of the columns that a row with names has at least: titles and groups of columns have fewer. */
const NAMED_SHARE = 0.6

/**
 * Returns the index of the row with the names of the columns: the one with most names that are known; else the first that is
 * nearly as wide as the widest. `rows`: the first of a file. `isKnown`: whether a cell is the name of something to import.
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
 * Returns the names of a header over two rows, where the first has groups such as `January` above the `From` and `To` of the
 * second, and other names above empty cells; null: the second row is one of the table.
 */
export function joinedHeader(top: readonly (string | null)[], second: readonly (string | null)[]): (string | null)[] | null {
  const isFilled = (cells: readonly (string | null)[], index: number) => (cells[index] ?? '').trim() !== ''
  const joined: (string | null)[] = []
  let below = 0
  let single = 0
  let group = ''
  for (let index = 0; index < Math.max(top.length, second.length); index++) {
    const isTop = isFilled(top, index)
    const isGroup = !isTop || (index + 1 < second.length && !isFilled(top, index + 1) && isFilled(second, index + 1))
    if (isFilled(second, index) && (!isGroup || index === 0)) return null
    if (isFilled(second, index)) below++
    else if (isTop) single++
    if (isTop) group = top[index] ?? ''
    joined.push(isFilled(second, index) ? `${group} ${second[index]}`.trim() : (top[index] ?? null))
  }
  return below >= 2 && single >= 1 ? joined : null
}
