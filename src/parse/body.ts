import { ApiError } from '../errors.ts'
import { JsonNumber } from '../model/kinds.ts'
import { shown } from '../model/shown.ts'
import { isExcessive, parseJson } from './json.ts'
import { findJsonFault } from './jsonFault.ts'

export const BODY_BYTES_MAX = 1024 * 1024

/** A slower sender holds a connection and a place in memory for nothing. */
const BODY_MS_MAX = 10_000

// The rest of the body is still on its way; only a closed connection stops its sender.
const LEAVE = { Connection: 'close' }

const MEDIA_TYPE = /^application\/(json|[\w!#$&^.+-]+\+json)[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i

/**
 * Reads a request's body as one JSON object. Numbers in it are JsonNumber, so that none passes through a float.
 * @throws ApiError UnsupportedMediaType, PayloadTooLarge, RequestTimeout, InvalidJson. Spec 1, rule 2
 */
export async function readBody(request: Request, msMax = BODY_MS_MAX): Promise<Record<string, unknown>> {
  const mediaType = request.headers.get('content-type')
  if (!mediaType || !MEDIA_TYPE.test(mediaType)) {
    const message = `The body must be declared as application/json${mediaType ? `, not as ${shown(mediaType)}` : ''}.`
    throw new ApiError('UnsupportedMediaType', message, { target: 'Body' })
  }
  const encoding = request.headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    const message = 'The body must not be compressed: Content-Encoding is not supported.'
    throw new ApiError('UnsupportedMediaType', message, { target: 'Body' })
  }
  const declared = request.headers.get('content-length')
  if (Number(declared) > BODY_BYTES_MAX) throw tooLarge()
  return parseObject(decodeUtf8(await (declared === null ? readPieces(request, msMax) : readWhole(request, msMax))))
}

/** A body of a declared length, where HTTP ends it; a stream would cost several times as much. */
async function readWhole(request: Request, msMax: number): Promise<Uint8Array> {
  let timer: Timer | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), msMax)
  })
  try {
    return await Promise.race([request.bytes(), deadline])
  } catch (error) {
    throw error instanceof ApiError ? error : invalidJson('The body was cut short.')
  } finally {
    clearTimeout(timer)
  }
}

async function readPieces(request: Request, msMax: number): Promise<Uint8Array> {
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let bytes = 0
  let late = false
  const timer = setTimeout(() => {
    late = true
    leave(reader)
  }, msMax)
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes += part.value.length
      if (bytes > BODY_BYTES_MAX) throw tooLarge()
      chunks.push(part.value)
    }
  } catch (error) {
    leave(reader)
    throw error instanceof ApiError ? error : invalidJson('The body was cut short.')
  } finally {
    clearTimeout(timer)
  }
  if (late) throw tooLate()
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)
}

/** A connection that has broken may refuse even this. */
function leave(reader: { cancel(): Promise<void> }) {
  reader.cancel().catch(() => undefined)
}

function tooLate(): ApiError {
  return new ApiError('RequestTimeout', 'The body took longer than 10 seconds.', { target: 'Body', headers: LEAVE })
}

function tooLarge(): ApiError {
  return new ApiError('PayloadTooLarge', 'The body may have up to 1 MiB.', { target: 'Body', headers: LEAVE })
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalidJson('The body is not UTF-8.')
  }
}

function parseObject(text: string): Record<string, unknown> {
  if (text.trim() === '') throw invalidJson('The body is empty; it must be a JSON object.')
  if (isExcessive(text))
    throw invalidJson('The body has more values or escapes, or is nested more deeply, than any entity.')
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    // A RangeError is JSON nested deeper than the parser's stack; no entity is.
    const isDeep = error instanceof RangeError
    throw invalidJson(isDeep ? 'The body is nested too deeply.' : `The body is not JSON${whereIn(text)}.`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof JsonNumber)
    throw invalidJson('The body must be a JSON object.')
  return value as Record<string, unknown>
}

function whereIn(text: string): string {
  const fault = findJsonFault(text)
  return fault === null ? '' : `: at line ${fault.line}, column ${fault.column} there must be ${fault.expected}`
}

function invalidJson(message: string): ApiError {
  return new ApiError('InvalidJson', message, { target: 'Body' })
}
