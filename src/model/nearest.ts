// Suggestions for misspelled names, by edit distance.
import { closest, distance } from 'fastest-levenshtein'

/** ` Did you mean Name?` for a known name that is near, as `nearestOf` says, else ``. Case does not count. */
export function suggest(name: string, known: readonly string[]): string {
  const nearest = nearestOf(name, known)
  return nearest === null ? '' : ` Did you mean ${nearest}?`
}

/**
 * The known name that is nearest, at most a third of its letters away; null: there is none. Case does not count, and the last
 * part of a name with dots is as good as the whole: `Days` is `Period.Days`. `editsMax`: letters that may differ at most.
 */
export function nearestOf(name: string, known: readonly string[], editsMax = Infinity): string | null {
  // Beyond that length nothing is near, and the distance costs the product of both lengths.
  if (name.length > 64 || known.length === 0) return null
  const parts = known.filter((one) => one.includes('.'))
  const whole = [...known, ...parts]
  const lowers = [...known, ...parts.map((one) => one.slice(one.lastIndexOf('.') + 1))].map((one) => one.toLowerCase())
  const lower = name.toLowerCase()
  const best = closest(lower, lowers)
  return isNear(lower, best, editsMax) ? (whole[lowers.indexOf(best)] as string) : null
}

/** Two letters that are swapped are two edits, which makes `Nmae` as far from `Name` as `Date` from `page`. */
function isNear(name: string, known: string, editsMax: number): boolean {
  const third = known.length / 3
  const limit = sorted(name) === sorted(known) ? Math.ceil(third) : Math.round(third)
  return distance(name, known) <= Math.min(editsMax, Math.max(1, limit))
}

function sorted(text: string): string {
  return [...text].sort().join('')
}
