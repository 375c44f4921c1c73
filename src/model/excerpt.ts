// Excerpts of a client's texts, for messages.

/** Truncates a text to `lengthMax` UTF-16 units, between characters. Lone surrogates become U+FFFD, for strict JSON readers. */
export function excerpt(text: string, lengthMax = 100): string {
  if (text.length <= lengthMax) return text.toWellFormed()
  const cutsPair = (text.codePointAt(lengthMax - 1) as number) > 0xffff
  return text.slice(0, cutsPair ? lengthMax - 1 : lengthMax).toWellFormed()
}
