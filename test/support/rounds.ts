/** The seed with which `npm run prove` runs a test file again; null in `npm test`. */
const proof = process.env.PROVE_SEED ? Number(process.env.PROVE_SEED) : null

/** Rounds of a random test: a few in `npm test`, so that it stays short, and many in `npm run prove`. */
export function rounds(few: number, many: number): number {
  return proof === null ? few : many
}

/** What random numbers of such a test begin with: in `npm test` always the same, in `npm run prove` others each time. */
export const firstSeed = proof ?? 1
