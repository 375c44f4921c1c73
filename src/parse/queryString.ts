import { ApiError } from '../errors.ts'

/** One `name=value` of a query string, decoded; `raw` as the client wrote it. */
export interface Parameter {
  readonly name: string
  readonly value: string
  readonly raw: string
}

/**
 * Splits and decodes a query string; repeated names stay apart, `+` is a space.
 * Frameworks keep the last of repeated names, which would lose one end of a range, so this is ours.
 * @throws ApiError InvalidQueryString for a bad percent escape or bytes that are not UTF-8
 */
export function parseQueryString(query: string): Parameter[] {
  const parameters: Parameter[] = []
  for (let start = 0; start < query.length; ) {
    let end = query.indexOf('&', start)
    if (end === -1) end = query.length
    if (end > start) {
      const raw = query.slice(start, end)
      const equals = raw.indexOf('=')
      const name = decode(equals === -1 ? raw : raw.slice(0, equals))
      parameters.push({ name, value: equals === -1 ? '' : decode(raw.slice(equals + 1)), raw })
    }
    start = end + 1
  }
  return parameters
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    // Strict in both respects: bad escapes and bytes that are not UTF-8 throw.
    return decodeURIComponent(spaced)
  } catch {
    const message = `The query string has a bad percent escape, or bytes that are not UTF-8, in "${text.slice(0, 60)}".`
    throw new ApiError('InvalidQueryString', message)
  }
}
