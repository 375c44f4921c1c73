// Suggestions for misspelled names, by edit distance.
import { closest, distance } from 'fastest-levenshtein'

/**
 * Returns a hint with the known name that is most similar, ` Did you mean Name?`; '' if no name is similar enough. Ignores case.
 */
export function suggest(name: string, known: readonly string[]): string {
  const nearest = nearestOf(name, known)
  return nearest === null ? '' : ` Did you mean ${nearest}?`
}

/**
 * Returns the most similar known name; null if more than a third of its letters differ. Ignores case. A known name with dots is
 * also found by its last part: `Days` → `Period.Days`. `editsMax`: maximum number of letters that differ.
 */
export function nearestOf(name: string, known: readonly string[], editsMax = Infinity): string | null {
  // No name is similar to a text of more than 64 characters, and the time for a distance grows with the product of both lengths.
  if (name.length > 64 || known.length === 0) return null
  const parts = known.filter((one) => one.includes('.'))
  const whole = [...known, ...parts]
  const lowers = [...known, ...parts.map((one) => one.slice(one.lastIndexOf('.') + 1))].map((one) => one.toLowerCase())
  const lower = name.toLowerCase()
  const best = closest(lower, lowers)
  return isNear(lower, best, editsMax) ? (whole[lowers.indexOf(best)] as string) : null
}

/**
 * Returns whether at most a third of the letters differ. The third is rounded up if only the order of letters differs, because
 * swapped letters are two edits: `Nmae` is as far from `Name` as `Date` is from `page`.
 */
function isNear(name: string, known: string, editsMax: number): boolean {
  const third = known.length / 3
  const limit = sorted(name) === sorted(known) ? Math.ceil(third) : Math.round(third)
  return distance(name, known) <= Math.min(editsMax, Math.max(1, limit))
}

function sorted(text: string): string {
  return [...text].sort().join('')
}
