import type { Random } from './random.ts'

/** The text in pieces that end anywhere: short ones of a short text, up to a fifth of a long one. */
export async function* inPieces(text: string, random: Random): AsyncGenerator<string> {
  for (let at = 0; at < text.length; ) {
    const end = at + random.below(text.length / 5 + 3)
    yield text.slice(at, end)
    at = end
  }
}
