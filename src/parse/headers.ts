// Request headers: preconditions, Idempotency-Key, and the format of a list that Accept asks for.
import { ApiError } from '../errors.ts'
import { type Conditions, type EntityTags, readTags } from '../model/entityTag.ts'
import { excerpt } from '../model/excerpt.ts'
import { weightsOf } from '../model/preferences.ts'

/** Parses the preconditions of a request; null if it has none. @throws ApiError InvalidHeader. RFC 9110, 13.1 */
export function parseConditions(headers: Headers): Conditions | null {
  const match = headers.get('if-match')
  const noneMatch = headers.get('if-none-match')
  if (match === null && noneMatch === null) return null
  return { ifMatch: parseTags('If-Match', match), ifNoneMatch: parseTags('If-None-Match', noneMatch) }
}

function parseTags(target: 'If-Match' | 'If-None-Match', text: string | null): EntityTags | null {
  if (text === null) return null
  const tags = readTags(text)
  if (tags !== null) return tags
  const allowed = `${target} is * or one or more tags as ETag has them, in double quotes and separated by commas`
  throw new ApiError('InvalidHeader', `${allowed}, not ${excerpt(text) || 'empty'}.${hint(text)}`, { target })
}

/** Returns a hint for a tag that has lost its quotes; '' for any other text. */
function hint(text: string): string {
  const [, weak = '', bare] = /^(W\/)?['"]?([\w.-]{1,60})['"]?$/.exec(text) ?? []
  return bare === undefined ? '' : ` Did you mean ${weak}"${bare}"?`
}

const LENGTH_MAX = 255
/**
 * Matches a quoted Idempotency-Key: a string of structured fields, in which a backslash escapes quotes and backslashes. RFC 9651,
 * 3.3.3
 */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/
/** Matches an Idempotency-Key without quotes, such as a UUID, which most clients send; excludes lists, parameters and strings. */
const BARE = /^[!#-+\--:<-[\]-~]+$/

/**
 * Parses Idempotency-Key; null if it is missing. draft-ietf-httpapi-idempotency-key-header, 2.1 @throws ApiError InvalidHeader
 */
export function parseIdempotencyKey({ headers }: Request): string | null {
  const text = headers.get('idempotency-key')
  if (text === null) return null
  const key = QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1') ?? (BARE.test(text) ? text : null)
  if (key !== null && key.length > 0 && key.length <= LENGTH_MAX) return key
  const problem = key === null || key === '' ? `; it is ${excerpt(text)}` : `; it has ${key.length}`
  const message = `Idempotency-Key must be one text of 1 to ${LENGTH_MAX} visible ASCII characters, such as "8e03978e-40d5"${problem}.`
  throw new ApiError('InvalidHeader', message, { target: 'Idempotency-Key' })
}

/** Format of a list: pages of JSON, or all rows as a stream. */
export type ListForm = 'json' | StreamForm
export type StreamForm = 'csv' | 'ndjson'

/**
 * Chooses the format of a list. A client that prefers neither CSV nor NDJSON, such as a browser, gets pages. RFC 9110, 12.5.1.
 * D55
 */
export function formOf(accept: string | null): ListForm {
  // Fast path: most requests name neither CSV nor NDJSON.
  if (accept === null || !/csv|ndjson/i.test(accept)) return 'json'
  const weightOf = weightsOf(accept)
  const csv = weightOf('text/csv')
  const ndjson = weightOf('application/x-ndjson')
  const json = weightOf('application/json')
  const [form, weight] = ndjson > csv ? (['ndjson', ndjson] as const) : (['csv', csv] as const)
  // A type that the client names has precedence over a type that only a wildcard covers.
  const other = json > 0 ? json : weightOf('application/*', '*/*')
  return weight > 0 && (json > 0 ? weight > json : weight >= other) ? form : 'json'
}
