/** Seed for a run of `npm run prove`; null in `npm test`. */
const proof = process.env.PROVE_SEED ? Number(process.env.PROVE_SEED) : null

/** Returns the rounds of a random test: few in `npm test`, so that it stays short, and many in `npm run prove`. */
export function rounds(few: number, many: number): number {
  return proof === null ? few : many
}

/** First seed of a random test: always the same in `npm test`, and a new seed in each `npm run prove`. */
export const firstSeed = proof ?? 1
