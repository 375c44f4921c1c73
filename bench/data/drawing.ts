import { Random } from '../../test/support/random.ts'

/** Draws that are the same for the same `salt` and id, and have nothing to do with those of another salt or id. */
export function drawsFor(salt: number, id: number): Random {
  const mixed = Math.imul(id ^ (id >>> 15) ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b)
  return new Random(Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35))
}

/** Each value as often as its share says, so that a pick meets it with that weight. */
export function shares<T>(...parts: readonly (readonly [share: number, value: T])[]): readonly T[] {
  return parts.flatMap(([share, value]) => Array<T>(share).fill(value))
}

/** An order of the ids 1 to `end` in which neighbours are far apart, and the way back. */
export interface Mixing {
  /** 0 up to `end` → 1 to `end`. */
  idAt(place: number): number
  placeOf(id: number): number
}

const STRIDES = [7_919, 104_729] // primes: one of them has no factor in common with `end`

const mixings = new Map<number, Mixing>()

export function mixingOf(end: number): Mixing {
  const known = mixings.get(end)
  if (known) return known
  const mixing = mix(end)
  mixings.set(end, mixing)
  return mixing
}

function mix(end: number): Mixing {
  const stride = STRIDES.find((prime) => end % prime !== 0) as number
  let multiple = 1
  while (multiple % stride !== 0) multiple += end
  // Times the stride it is one more than a multiple of `end`.
  const back = multiple / stride
  return {
    idAt: (place) => ((place * stride) % end) + 1,
    placeOf: (id) => ((id - 1) * back) % end,
  }
}
