import type { Collation } from './collation.ts'
import { concat, PIECE_TEXTS_MAX, type Texts, takePiece, turn } from './textPieces.ts'

/** Texts of a sample for each part that all texts are parted into, so that parts are of much the same size. */
const SAMPLES_OF_PART = 32
/** PostgreSQL walks along the texts between parts, for each text. */
const PARTS_MAX = 256
/** Partings in a row that leave all in one part: a collation calls the texts equal. */
const VAIN_MAX = 8

/**
 * The codes in ascending order of their texts: parted by texts of a sample until each part is one statement.
 * @throws ApiError 500, 503
 */
export async function sortTexts(codes: Int32Array, texts: Texts, collation: Collation, vain = 0): Promise<Int32Array> {
  if (codes.length < 2) return codes
  const first = takePiece(codes, 0, texts)
  if (first.length === codes.length) return pick(codes, await collation.order(first))
  if (vain === VAIN_MAX) throw new Error('the collation of a column calls different texts equal')
  await turn()
  const thresholds = await sample(codes, first.length, texts, collation)
  const parts: number[][] = Array.from({ length: thresholds.length + 1 }, () => [])
  for (let from = 0; from < codes.length; ) {
    const piece = takePiece(codes, from, texts)
    for (const place of await collation.places(piece, thresholds)) parts[place]?.push(codes[from++] as number)
  }
  const sorted: Int32Array[] = []
  for (const part of parts) {
    const isAll = part.length === codes.length
    sorted.push(await sortTexts(Int32Array.from(part), texts, collation, isAll ? vain + 1 : 0))
  }
  return concat(sorted)
}

/** Texts that part all into equal parts, each half of what is one statement if so many parts suffice. */
async function sample(codes: Int32Array, pieceLength: number, texts: Texts, collation: Collation): Promise<string[]> {
  const parts = Math.min(PARTS_MAX, Math.ceil((2 * codes.length) / pieceLength))
  const stride = codes.length / Math.min(parts * SAMPLES_OF_PART, PIECE_TEXTS_MAX, codes.length)
  const picked = Int32Array.from({ length: Math.floor(codes.length / stride) }, (_, index) =>
    // Codes are in the order in which rows came, and may follow a pattern.
    Math.floor((index + Math.random()) * stride),
  )
  const some = takePiece(pick(codes, picked), 0, texts)
  const sorted = (await collation.order(some)).map((index) => some[index] as string)
  const step = Math.max(1, sorted.length / parts)
  const thresholds: string[] = []
  for (let at = step / 2; at < sorted.length; at += step) thresholds.push(sorted[Math.floor(at)] as string)
  return thresholds
}

function pick(codes: Int32Array, indexes: ArrayLike<number>): Int32Array {
  const picked = new Int32Array(indexes.length)
  for (let index = 0; index < picked.length; index++) picked[index] = codes[indexes[index] as number] as number
  return picked
}
