import { ApiError } from '../errors.ts'
import { shown } from '../model/shown.ts'

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
  const read = query.includes('%') || query.includes('+') ? decode : verbatim
  for (const raw of query === '' ? [] : query.split('&')) {
    if (raw === '') continue
    const equals = raw.indexOf('=')
    const nameEnd = equals === -1 ? raw.length : equals
    parameters.push({ name: read(raw.slice(0, nameEnd)), value: read(raw.slice(nameEnd + 1)), raw })
  }
  return parameters
}

const verbatim = (text: string) => text

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    // Strict in both respects: bad escapes and bytes that are not UTF-8 throw.
    return decodeURIComponent(spaced)
  } catch {
    const message = `The query string has a bad percent escape, or bytes that are not UTF-8, in "${shown(text, 60)}".`
    throw new ApiError('InvalidQueryString', message)
  }
}
