// Hash of texts. Clients choose the texts, so its factors are secret: no client can make many texts collide.

/** A factor for each position in a block of a text. */
export type Factors = Int32Array

/** Positions with a factor of their own; longer texts are hashed block by block. */
const BLOCK = 1_024

/** Returns random factors from the system, so that a client cannot choose texts whose hashes collide. */
export function randomFactors(): Factors {
  return crypto.getRandomValues(new Int32Array(BLOCK))
}

/**
 * Returns the hash of `bytes[from, to)`: 32 bits of a sum of products. Any two texts of up to a block collide with a probability
 * of 2^-25 over the choice of factors, even if an attacker has chosen the texts. FNV-1a with a secret start would not be enough:
 * whether two texts of one length collide depends on 8 bits of the start.
 */
export function hashOf(bytes: Uint8Array, from: number, to: number, factors: Factors): number {
  let hash = 0
  for (let begin = from; begin < to; begin += BLOCK) {
    const end = Math.min(begin + BLOCK, to)
    for (let at = begin; at < end; at++) hash = (hash + Math.imul(factors[at - begin], bytes[at])) | 0
    // Sums of few factors lie side by side; also, the next block must not be a sum like this one.
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    hash ^= hash >>> 13
  }
  return hash
}
