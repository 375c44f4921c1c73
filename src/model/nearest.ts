// Suggestions for misspelled names, by edit distance.
import { closest, distance } from 'fastest-levenshtein'

/** ` Did you mean Name?` for a known name that is at most a third of its letters away, else ``. Case does not count. */
export function suggest(name: string, known: readonly string[]): string {
  const nearest = nearestOf(name, known)
  return nearest === null ? '' : ` Did you mean ${nearest}?`
}

/** The known name that is nearest, at most a third of its letters away; null: there is none. Case does not count. */
export function nearestOf(name: string, known: readonly string[]): string | null {
  // Beyond that length nothing is near, and the distance costs the product of both lengths.
  if (name.length > 64 || known.length === 0) return null
  const [lower, lowers] = [name.toLowerCase(), known.map((one) => one.toLowerCase())]
  const best = closest(lower, lowers)
  return distance(lower, best) <= Math.max(1, Math.ceil(best.length / 3)) ? (known[lowers.indexOf(best)] as string) : null
}
