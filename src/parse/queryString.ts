// Query strings: splits and decodes them, and keeps repeated names. Elysia keeps only the last one, and so loses one end of a
// range.
import { ApiError } from '../errors.ts'
import { excerpt } from '../model/excerpt.ts'

/** One `name=value` of a query string, decoded; `raw` as the client wrote it. */
export interface Parameter {
  readonly name: string
  readonly value: string
  readonly raw: string
}

/** Parses the parameters in order; `+` is a space. @throws ApiError InvalidQueryString for invalid escapes or UTF-8 */
export function parseQueryString(query: string): Parameter[] {
  const parameters: Parameter[] = []
  const read = query.includes('%') || query.includes('+') ? decode : verbatim
  let equals = -1
  let start = 0
  while (start < query.length) {
    const end = indexOrEnd(query, '&', start)
    if (end > start) {
      // An `=` after the end of this parameter belongs to a later one, and is not searched for again.
      if (equals < start) equals = indexOrEnd(query, '=', start)
      const nameEnd = Math.min(equals, end)
      const name = query.slice(start, nameEnd)
      const value = query.slice(nameEnd + 1, end)
      parameters.push({ name: read(name), value: read(value), raw: query.slice(start, end) })
    }
    start = end + 1
  }
  return parameters
}

function indexOrEnd(text: string, character: string, start: number): number {
  const index = text.indexOf(character, start)
  return index === -1 ? text.length : index
}

const verbatim = (text: string) => text

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    // Throws for invalid escapes and for bytes that are not UTF-8.
    return decodeURIComponent(spaced)
  } catch {
    const message = `The query string has a bad percent escape, or bytes that are not UTF-8, in "${excerpt(text, 60)}".`
    throw new ApiError('InvalidQueryString', message)
  }
}
