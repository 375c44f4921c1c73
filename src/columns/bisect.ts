// Binary search.

/** Returns the first index from `low` on for which `isBefore` is false; `high` if there is none. */
export function firstNotBefore(low: number, high: number, isBefore: (index: number) => boolean): number {
  let [from, to] = [low, high]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (isBefore(middle)) from = middle + 1
    else to = middle
  }
  return from
}
