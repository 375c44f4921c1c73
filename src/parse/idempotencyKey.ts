import { ApiError } from '../errors.ts'
import { shown } from '../model/shown.ts'

const LENGTH_MAX = 255
/** A string of structured fields, whose quotes and backslashes stand behind a backslash. RFC 9651, 3.3.3 */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/
/** Key without quotes, such as a UUID, as most clients send it; no text that could also be a list, a parameter or a string. */
const BARE = /^[!#-+\--:<-[\]-~]+$/

/**
 * The key of the header Idempotency-Key, with quotes or without; null: there is none.
 * @throws ApiError InvalidHeader. draft-ietf-httpapi-idempotency-key-header, 2.1
 */
export function parseIdempotencyKey({ headers }: Request): string | null {
  const text = headers.get('idempotency-key')
  if (text === null) return null
  const key = QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1') ?? (BARE.test(text) ? text : null)
  if (key !== null && key.length > 0 && key.length <= LENGTH_MAX) return key
  const problem = key === null || key === '' ? `; it is ${shown(text)}` : `; it has ${key.length}`
  const message = `Idempotency-Key must be one text of 1 to ${LENGTH_MAX} visible ASCII characters, such as "8e03978e-40d5"${problem}.`
  throw new ApiError('InvalidHeader', message, { target: 'Idempotency-Key' })
}
