// Sorting of many texts by PostgreSQL's collation: a sample sort whose statements are each short.
import { setImmediate } from 'node:timers/promises'
import type { Collation } from './collation.ts'

/** The texts of a property by code: 1 is the empty text, and 0 stands for no value. A code always stands for the same text. */
export interface Texts {
  /** One more than the greatest code. */
  readonly size: number
  text(code: number): string
}

/** An order of the texts with codes from 1 to some code. It never changes: if texts are added, there is another one. */
export interface TextOrder {
  /** Codes in ascending order of their texts. */
  readonly codes: Int32Array
  /** By code, how many texts are less than its own. Code 0 is no text and has no rank. */
  readonly ranks: Int32Array
}

/** Maximum texts of one property. */
export const TEXTS_MAX = 1_000_000
/** Limits of one statement: to write so many texts holds the event loop up for some 3 ms. */
const STATEMENT_TEXTS_MAX = 2_048
const STATEMENT_CHARACTERS_MAX = 64 * 1_024
/** Texts of a sample for each part that the texts are divided into, so that parts are of about the same size. */
const SAMPLES_OF_PART = 32
/** Maximum parts: for each text, PostgreSQL walks along the array of texts that divide them. */
const PARTS_MAX = 256
/** Divisions in a row that leave all texts in one part: then the collation calls the texts equal. */
const ATTEMPTS_MAX = 8

/** The codes in order; takes some milliseconds for a million texts. */
export function orderOf(codes: Int32Array): TextOrder {
  const ranks = new Int32Array(codes.length + 1)
  for (let rank = 0; rank < codes.length; rank++) ranks[codes[rank]] = rank
  return { codes, ranks }
}

/** Inserts codes before these ranks; codes before the same rank are sorted among themselves. @throws ApiError 500, 503 */
export async function insertAt(
  { codes }: TextOrder,
  added: readonly number[],
  ranks: readonly number[],
  texts: Texts,
  collation: Collation,
): Promise<TextOrder> {
  const byRank = Map.groupBy(added, (_, index) => ranks[index])
  const parts: Int32Array[] = []
  let from = 0
  for (const rank of [...byRank.keys()].sort((one, other) => one - other)) {
    const between = Int32Array.from(byRank.get(rank) as number[])
    parts.push(codes.subarray(from, rank), await sortTexts(between, texts, collation))
    from = rank
  }
  return orderOf(new Int32Array(Bun.concatArrayBuffers([...parts, codes.subarray(from)])))
}

/** Sorts codes by their texts: divides them by a sample until each part is one statement. @throws ApiError 500, 503 */
export async function sortTexts(codes: Int32Array, texts: Texts, collation: Collation, attempt = 0): Promise<Int32Array> {
  if (codes.length < 2) return codes
  const first = takePiece(codes, 0, texts)
  if (first.length === codes.length) return pick(codes, await collation.order(first))
  if (attempt === ATTEMPTS_MAX) throw new Error('the collation of a column calls different texts equal')
  await setImmediate()
  const thresholds = await sample(codes, first.length, texts, collation)
  const parts: number[][] = Array.from({ length: thresholds.length + 1 }, () => [])
  for (let from = 0; from < codes.length; ) {
    const piece = takePiece(codes, from, texts)
    for (const part of await collation.places(piece, thresholds)) parts[part]?.push(codes[from++])
  }
  const sorted: Int32Array[] = []
  for (const part of parts) {
    const isAll = part.length === codes.length
    sorted.push(await sortTexts(Int32Array.from(part), texts, collation, isAll ? attempt + 1 : 0))
  }
  return new Int32Array(Bun.concatArrayBuffers(sorted))
}

/** Texts that divide all into equal parts, each half of a statement if so many parts suffice. */
async function sample(codes: Int32Array, pieceLength: number, texts: Texts, collation: Collation): Promise<string[]> {
  const parts = Math.min(PARTS_MAX, Math.ceil((2 * codes.length) / pieceLength))
  const stride = codes.length / Math.min(parts * SAMPLES_OF_PART, STATEMENT_TEXTS_MAX, codes.length)
  const picked = Int32Array.from({ length: Math.floor(codes.length / stride) }, (_, index) =>
    // Codes are in the order in which rows came, and may follow a pattern.
    Math.floor((index + Math.random()) * stride),
  )
  const some = takePiece(pick(codes, picked), 0, texts)
  const sorted = (await collation.order(some)).map((index) => some[index])
  const step = Math.max(1, sorted.length / parts)
  const thresholds: string[] = []
  for (let at = step / 2; at < sorted.length; at += step) thresholds.push(sorted[Math.floor(at)])
  return thresholds
}

/** The texts of the codes from an index on, as many as one statement takes: one at least. */
function takePiece(codes: Int32Array, from: number, texts: Texts): string[] {
  const piece: string[] = []
  let characters = 0
  for (let index = from; index < codes.length && piece.length < STATEMENT_TEXTS_MAX; index++) {
    const text = texts.text(codes[index])
    characters += text.length
    if (characters > STATEMENT_CHARACTERS_MAX && piece.length > 0) break
    piece.push(text)
  }
  return piece
}

function pick(codes: Int32Array, indexes: ArrayLike<number>): Int32Array {
  return Int32Array.from(indexes, (index) => codes[index])
}
