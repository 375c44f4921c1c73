// Hash of texts. Clients choose the texts, so the hash has secret factors. Otherwise a client could make many texts collide.

/** Secret factors, one for each position in a block of a text. */
export type Factors = Int32Array

/** Number of positions that have their own factor. Longer texts are hashed block by block. */
const BLOCK = 1_024

/** Returns random factors from the system, so that a client cannot choose texts whose hashes collide. */
export function randomFactors(): Factors {
  return crypto.getRandomValues(new Int32Array(BLOCK))
}

/**
 * Returns the hash of `bytes[from, to)`: 32 bits of a sum of products. Two texts of at most one block collide with a probability
 * of 2^-25 over the choice of factors, even if an attacker has chosen the texts. FNV-1a with a secret start would be weaker: 8
 * bits of the start decide whether two texts of the same length collide.
 */
export function hashOf(bytes: Uint8Array, from: number, to: number, factors: Factors): number {
  let hash = 0
  for (let begin = from; begin < to; begin += BLOCK) {
    const end = Math.min(begin + BLOCK, to)
    for (let at = begin; at < end; at++) hash = (hash + Math.imul(factors[at - begin], bytes[at])) | 0
    // Sums of few factors are close to each other, so their bits are mixed. Without mixing, texts with the same blocks in another
    // order would also have the same hash.
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    hash ^= hash >>> 13
  }
  return hash
}
