// Suggestions for misspelled names, by edit distance.
import { closest, distance } from 'fastest-levenshtein'

/** Suggests a known name that is near, ` Did you mean Name?`; '' if none is. Ignores case. */
export function suggest(name: string, known: readonly string[]): string {
  const nearest = nearestOf(name, known)
  return nearest === null ? '' : ` Did you mean ${nearest}?`
}

/**
 * Returns the nearest known name, at most a third of its letters away; null if there is none. Ignores case. The last part of a
 * name with dots is enough: `Days` for `Period.Days`. `editsMax`: maximum letters that may differ.
 */
export function nearestOf(name: string, known: readonly string[], editsMax = Infinity): string | null {
  // Nothing is near to a longer name, and the distance costs the product of both lengths.
  if (name.length > 64 || known.length === 0) return null
  const parts = known.filter((one) => one.includes('.'))
  const whole = [...known, ...parts]
  const lowers = [...known, ...parts.map((one) => one.slice(one.lastIndexOf('.') + 1))].map((one) => one.toLowerCase())
  const lower = name.toLowerCase()
  const best = closest(lower, lowers)
  return isNear(lower, best, editsMax) ? (whole[lowers.indexOf(best)] as string) : null
}

/**
 * Returns whether at most a third of the letters differ; rounded up if only their order differs, because swapped letters are two
 * edits: `Nmae` is as far from `Name` as `Date` is from `page`.
 */
function isNear(name: string, known: string, editsMax: number): boolean {
  const third = known.length / 3
  const limit = sorted(name) === sorted(known) ? Math.ceil(third) : Math.round(third)
  return distance(name, known) <= Math.min(editsMax, Math.max(1, limit))
}

function sorted(text: string): string {
  return [...text].sort().join('')
}
