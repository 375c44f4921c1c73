/** The texts of a property by code: 1 is the empty text, and 0 stands for no value. Codes are never given anew. */
export interface Texts {
  /** One more than the greatest code. */
  readonly size: number
  text(code: number): string
}

/** Of one statement: to write so many holds the event loop up for some 3 ms. */
export const PIECE_TEXTS_MAX = 2_048
const PIECE_CHARACTERS_MAX = 64 * 1_024

/** The next texts, from the index `from`, as many as one statement takes: one at least. */
export function takePiece(codes: Int32Array, from: number, texts: Texts): string[] {
  const piece: string[] = []
  let characters = 0
  for (let index = from; index < codes.length && piece.length < PIECE_TEXTS_MAX; index++) {
    const text = texts.text(codes[index] as number)
    characters += text.length
    if (characters > PIECE_CHARACTERS_MAX && piece.length > 0) break
    piece.push(text)
  }
  return piece
}

/** The texts of all codes, or null where one statement would not take so many. */
export function takeAll(codes: Int32Array, texts: Texts): string[] | null {
  const piece = takePiece(codes, 0, texts)
  return piece.length === codes.length ? piece : null
}

/** All codes, those of the first part first. */
export function concat(parts: readonly Int32Array[]): Int32Array {
  const whole = new Int32Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Lets the event loop do what waits. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
