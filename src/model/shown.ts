/**
 * Text of a client's, as messages show it: its beginning of up to `lengthMax` UTF-16 units, cut between characters.
 * Half of a surrogate pair becomes U+FFFD: in an answer it would be no JSON to a strict reader.
 */
export function shown(text: string, lengthMax = 100): string {
  if (text.length <= lengthMax) return text.toWellFormed()
  const cutsPair = (text.codePointAt(lengthMax - 1) as number) > 0xffff
  return text.slice(0, cutsPair ? lengthMax - 1 : lengthMax).toWellFormed()
}
