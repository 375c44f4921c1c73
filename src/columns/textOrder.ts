import { turn } from './textPieces.ts'

/** An order of the texts with codes from 1 to some code. It never changes: there is another when other texts have come. */
export interface TextOrder {
  /** Codes in ascending order of their texts. */
  readonly codes: Int32Array
  /** By code, how many texts are less than its own; of code 0, which is no text, it says nothing. */
  readonly ranks: Int32Array
}

export const NO_ORDER: TextOrder = { codes: new Int32Array(0), ranks: new Int32Array(1) }

/** Ranks that are written at once. */
const SLICE = 32_768

/** The order of codes that are in it. */
export async function orderOf(codes: Int32Array): Promise<TextOrder> {
  const ranks = new Int32Array(codes.length + 1)
  for (let from = 0; from < codes.length; from += SLICE) {
    if (from > 0) await turn()
    writeRanks(ranks, codes, from, Math.min(from + SLICE, codes.length))
  }
  return { codes, ranks }
}

/** By itself, as a loop that never waits runs at many times the speed. */
function writeRanks(ranks: Int32Array, codes: Int32Array, from: number, to: number): void {
  for (let rank = from; rank < to; rank++) ranks[codes[rank] as number] = rank
}
