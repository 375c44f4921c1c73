import { ApiError } from '../errors.ts'
import { shown } from '../model/shown.ts'
import { BODY_BYTES_MAX, BODY_MS_MAX, invalidJson, ROWS_BYTES_MAX, readText, tooLarge } from './bodyBytes.ts'
import { faultOf, isExcessive, isObject, parseJson } from './json.ts'
import { RowsText } from './rowTexts.ts'

const MEDIA_TYPE = /^application\/(json|[\w!#$&^.+-]+\+json)[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i
const LINES_TYPE = /^application\/x-ndjson[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i

type JsonObject = Record<string, unknown>

/**
 * Reads a request's body as one JSON object. Numbers in it are JsonNumber, so that none passes through a float.
 * @throws ApiError UnsupportedMediaType, PayloadTooLarge, RequestTimeout, InvalidJson. Spec 1, rule 2
 */
export async function readBody(request: Request, msMax = BODY_MS_MAX): Promise<JsonObject> {
  requireType(request, MEDIA_TYPE, 'application/json')
  return parseObject(await readText(request, BODY_BYTES_MAX, msMax))
}

/** Reads a body that may have several rows, an array or lines of objects, which are not parsed yet. @throws as `readBody`. D59 */
export async function readBodies(request: Request, msMax = BODY_MS_MAX): Promise<JsonObject | RowsText> {
  const isLines = LINES_TYPE.test(request.headers.get('content-type') ?? '')
  requireType(request, isLines ? LINES_TYPE : MEDIA_TYPE, 'application/json, or application/x-ndjson')
  const text = await readText(request, ROWS_BYTES_MAX, msMax)
  if (isLines || ARRAY.test(text)) return new RowsText(text, isLines ? 'lines' : 'array')
  if (Buffer.byteLength(text) > BODY_BYTES_MAX) throw tooLarge(BODY_BYTES_MAX)
  return parseObject(text)
}

/** Begin of an array, which is no object. */
const ARRAY = /^[ \t\r\n]*\[/

function requireType({ headers }: Request, pattern: RegExp, allowed: string) {
  const mediaType = headers.get('content-type')
  if (!mediaType || !pattern.test(mediaType)) {
    const message = `The body must be declared as ${allowed}${mediaType ? `, not as ${shown(mediaType)}` : ''}.`
    throw new ApiError('UnsupportedMediaType', message, { target: 'Body' })
  }
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    const message = 'The body must not be compressed: Content-Encoding is not supported.'
    throw new ApiError('UnsupportedMediaType', message, { target: 'Body' })
  }
}

function parseObject(text: string): JsonObject {
  if (text.trim() === '') throw invalidJson('The body is empty; it must be a JSON object.')
  if (isExcessive(text)) throw invalidJson('The body has more values or escapes, or is nested more deeply, than any entity.')
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    throw invalidJson(`The body is not JSON: ${faultOf(error)}.`)
  }
  if (!isObject(value)) throw invalidJson('The body must be a JSON object.')
  return value
}
