// Request bodies: reads them within limits of size, time and nesting, and parses JSON with exact numbers.
import { ApiError, errorOf } from '../errors.ts'
import { excerpt } from '../model/excerpt.ts'
import { JsonNumber } from '../model/kinds.ts'
import { withDeadline } from '../os/time.ts'

/** Maximum size of a body with one row, in bytes. */
export const BODY_BYTES_MAX = 1024 * 1024
const ROWS_BYTES_MAX = 2 * BODY_BYTES_MAX
/** Maximum time until a body is complete: a slow sender occupies a connection and memory. */
const BODY_MS_MAX = 10_000
// A client that is still sending the body stops only when the connection is closed.
const CLOSE_CONNECTION = { Connection: 'close' }

/**
 * Pattern of media type parameters: unknown parameters are ignored (RFC 6838, 4.3); a charset must be UTF-8, also spelled utf8.
 */
const PARAMETERS = /(?!.*;[ \t]*charset=(?!"?utf-?8"?[ \t]*(?:;|$)))[ \t]*(?:;.*)?$/.source
const MEDIA_TYPE = new RegExp(`^application/(?:json|[\\w!#$&^.+-]+\\+json)${PARAMETERS}`, 'i')
const LINES_TYPE = new RegExp(`^application/x-ndjson${PARAMETERS}`, 'i')
/** Matches the start of a JSON array. */
const ARRAY = /^[ \t\r\n]*\[/
/** Bytes that may precede a value of JSON: white space and a byte order mark. */
const LEADING = [0x20, 0x09, 0x0d, 0x0a, 0xef, 0xbb, 0xbf]
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Maximum number of values in the JSON of one row. No entity has as many properties, and each value takes a third of a
 * microsecond to parse.
 */
const VALUES_MAX = 1_000
/** Maximum length of a text that is parsed without counting its values. Counting takes a millisecond or two for 1 MiB. */
const SMALL_LENGTH = 2_000
const DEPTH_MAX = 64
/** Maximum number of escapes in the JSON of one row: a text of 1 MiB that consists of escapes takes 20 ms to parse. */
const ESCAPES_MAX = 100_000
const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const ARRAY_BEGIN = 0x5b
const ARRAY_END = 0x5d
const OBJECT_BEGIN = 0x7b
const OBJECT_END = 0x7d

/** A JSON object, with numbers as JsonNumber. */
export type JsonObject = Record<string, unknown>

/** A body with several rows, which are not parsed yet: a JSON array, or NDJSON. */
export class UnparsedRows {
  constructor(
    readonly text: string,
    readonly form: 'array' | 'lines',
  ) {}
}

/**
 * Reads a request's body as one JSON object. Numbers become JsonNumber, so that no number is rounded to a float. @throws ApiError
 * UnsupportedMediaType, PayloadTooLarge, RequestTimeout, InvalidJson. Spec 1, rule 2
 */
export async function readBody(request: Request, msMax = BODY_MS_MAX): Promise<JsonObject> {
  requireType(request, MEDIA_TYPE, 'application/json')
  return parseObject(decodeUtf8(await readBytes(request, BODY_BYTES_MAX, msMax)))
}

/**
 * Reads a body: one object, which is parsed, or an array or lines of objects, which are not parsed yet. @throws as `readBody`.
 * D59
 */
export async function readBodies(request: Request): Promise<JsonObject | UnparsedRows> {
  const isLines = LINES_TYPE.test(request.headers.get('content-type') ?? '')
  requireType(request, isLines ? LINES_TYPE : MEDIA_TYPE, 'application/json, or application/x-ndjson')
  const text = decodeUtf8(await (isLines ? readBytes(request, ROWS_BYTES_MAX) : readJson(request)))
  if (isLines || ARRAY.test(text)) return new UnparsedRows(text, isLines ? 'lines' : 'array')
  return parseObject(text)
}

/**
 * Reads a JSON body. Only an array of rows may be larger than `BODY_BYTES_MAX`, so the first byte tells which maximum applies.
 */
function readJson(request: Request): Promise<Uint8Array> {
  const declared = declaredLength(request)
  if (declared !== null && declared <= BODY_BYTES_MAX) return readWhole(request, BODY_MS_MAX)
  if (declared !== null && declared > ROWS_BYTES_MAX) throw tooLarge(ROWS_BYTES_MAX)
  let first: number | undefined
  return readPieces(request, ROWS_BYTES_MAX, BODY_MS_MAX, (piece, bytes) => {
    first ??= piece.find((byte) => !LEADING.includes(byte))
    const isOneRow = first !== undefined && first !== ARRAY_BEGIN
    if (isOneRow && (declared ?? bytes) > BODY_BYTES_MAX) throw tooLarge(BODY_BYTES_MAX)
  })
}

/** Reads a body, by default up to the maximum for one row. @throws ApiError PayloadTooLarge, RequestTimeout, InvalidJson */
export function readBytes(request: Request, bytesMax = BODY_BYTES_MAX, msMax = BODY_MS_MAX): Promise<Uint8Array> {
  const declared = declaredLength(request)
  if (declared === null) return readPieces(request, bytesMax, msMax)
  if (declared > bytesMax) throw tooLarge(bytesMax)
  return readWhole(request, msMax)
}

/** Reads a body of known length whole, since a stream would cost several times as much. @throws as `readBytes` */
function readWhole(request: Request, msMax: number): Promise<Uint8Array> {
  return withDeadline(request.bytes(), msMax, tooLate).catch(fail)
}

/**
 * Returns the declared Content-Length; null if there is no valid one. Equal headers arrive as one, `12, 12`, which counts as 12.
 * RFC 9110, 8.6
 */
function declaredLength({ headers }: Request): number | null {
  const [, length] = /^(\d+)(?:, *\1)*$/.exec(headers.get('content-length') ?? '') ?? []
  return length === undefined ? null : Number(length)
}

/**
 * Reads a body piece by piece. `onPiece` gets each piece and the number of bytes so far; an ApiError that it throws ends the
 * reading. @throws ApiError PayloadTooLarge, RequestTimeout, InvalidJson
 */
export async function readPieces(
  request: Request,
  bytesMax: number,
  msMax: number,
  onPiece?: (piece: Uint8Array, bytes: number) => void,
): Promise<Uint8Array> {
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const read = async () => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes += part.value.length
      if (bytes > bytesMax) throw tooLarge(bytesMax)
      onPiece?.(part.value, bytes)
      chunks.push(part.value)
    }
    return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)
  }
  return withDeadline(read(), msMax, tooLate).catch((error) => {
    // Canceling fails, too, if the connection is broken.
    reader.cancel().catch(() => undefined)
    return fail(error)
  })
}

function fail(error: unknown): never {
  throw error instanceof ApiError ? error : invalidJson('The body was cut short.')
}

function tooLate(): never {
  throw new ApiError('RequestTimeout', 'The body took longer than 10 seconds.', { target: 'Body', headers: CLOSE_CONNECTION })
}

function tooLarge(bytesMax: number): ApiError {
  const message = `The body may have up to 1 MiB${bytesMax > BODY_BYTES_MAX ? ', of several rows 2 MiB' : ''}.`
  return new ApiError('PayloadTooLarge', message, { target: 'Body', headers: CLOSE_CONNECTION })
}

function requireType({ headers }: Request, pattern: RegExp, allowed: string) {
  const mediaType = headers.get('content-type')
  const fail = (what: string) => {
    throw new ApiError('UnsupportedMediaType', `The body must ${what}.`, { target: 'Body' })
  }
  if (!mediaType || !pattern.test(mediaType))
    fail(`be declared as ${allowed}${mediaType ? `, not as ${excerpt(mediaType)}` : ''}`)
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') fail('not be compressed: Content-Encoding is not supported')
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalidJson('The body is not UTF-8.')
  }
}

function parseObject(text: string): JsonObject {
  if (text.trim() === '') throw invalidJson('The body is empty; it must be a JSON object.')
  checkComplexity(text, 'Body')
  const value = parseOrThrow(text, 'Body')
  if (!isObject(value)) throw invalidJson('The body must be a JSON object.')
  return value
}

/** Makes the error for a body that cannot be read as JSON. */
export function invalidJson(message: string, target = 'Body'): ApiError {
  return new ApiError('InvalidJson', message, { target })
}

/**
 * Returns the position of the comma or closing bracket that ends the value at `from`; -1 if the text has no such character. Reads
 * each character once. @throws ApiError InvalidJson if the value has too many values, escapes or levels to be parsed without
 * delaying other requests
 */
export function elementEnd(text: string, from: number, target: string): number {
  let values = 0
  let depth = 0
  let escapes = 0
  let isString = false
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) isString = !isString
    else if (isString) {
      if (unit !== BACKSLASH) continue
      at++
      escapes++
    } else if (unit === COMMA) {
      if (depth === 0) return at
      values++
    } else if (unit === ARRAY_BEGIN || unit === OBJECT_BEGIN) {
      values++
      depth++
    } else if (unit === ARRAY_END || unit === OBJECT_END) {
      if (depth === 0) return at
      depth--
    }
    if (values > VALUES_MAX || depth > DEPTH_MAX || escapes > ESCAPES_MAX)
      throw invalidJson(`${nameOf(target)} has more values or escapes, or is nested more deeply, than any entity.`, target)
  }
  return -1
}

/**
 * Checks that the text can be parsed without delaying other requests. `target`: `Body`, or a row such as `[3]`. @throws ApiError
 * InvalidJson
 */
export function checkComplexity(text: string, target: string): void {
  if (text.length > SMALL_LENGTH) elementEnd(text, 0, target)
}

/** Parses JSON, with each number as a JsonNumber. `target`: `Body`, or a row such as `[3]`. @throws ApiError InvalidJson */
export function parseOrThrow(text: string, target: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw invalidJson(`${nameOf(target)} is not JSON: ${faultOf(error)}.`, target)
  }
}

function nameOf(target: string): string {
  return target === 'Body' ? 'The body' : target
}

/** Parses JSON, with each number as a JsonNumber. @throws SyntaxError, RangeError */
export function parseJson(text: string): unknown {
  return JSON.parse(text, withNumbersAsWritten)
}

function withNumbersAsWritten(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && context ? new JsonNumber(context.source) : value
}

/** Returns the reason why a text is not JSON. The caller puts it after "is not JSON: ". `error`: thrown by JSON.parse. */
export function faultOf(error: unknown): string {
  return excerpt(errorOf(error).message.replace('JSON Parse error: ', ''))
}

/** Returns whether a JSON value is an object. An array or a number is none. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
}
