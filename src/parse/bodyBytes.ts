import { ApiError } from '../errors.ts'

/** Maximum body of one row. */
export const BODY_BYTES_MAX = 1024 * 1024
/** Maximum body of several rows. */
export const ROWS_BYTES_MAX = 2 * BODY_BYTES_MAX

/** A slower sender holds a connection and memory for nothing. */
export const BODY_MS_MAX = 10_000

// The rest of the body is still on its way; only a closed connection stops its sender.
const LEAVE = { Connection: 'close' }

/** Reads a body of up to what one row may have. @throws ApiError PayloadTooLarge, RequestTimeout, InvalidJson */
export async function readBytes(request: Request, msMax = BODY_MS_MAX): Promise<Uint8Array> {
  return readBody(request, BODY_BYTES_MAX, msMax)
}

/** Reads a body of up to `bytesMax` as text. @throws ApiError PayloadTooLarge, RequestTimeout, InvalidJson */
export async function readText(request: Request, bytesMax: number, msMax: number): Promise<string> {
  return decodeUtf8(await readBody(request, bytesMax, msMax))
}

function readBody(request: Request, bytesMax: number, msMax: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length')
  if (Number(declared) > bytesMax) throw tooLarge(bytesMax)
  return declared === null ? readPieces(request, bytesMax, msMax) : readWhole(request, msMax)
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

async function readPieces(request: Request, bytesMax: number, msMax: number): Promise<Uint8Array> {
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
      if (bytes > bytesMax) throw tooLarge(bytesMax)
      chunks.push(part.value)
    }
  } catch (error) {
    leave(reader)
    if (!(error instanceof ApiError)) throw invalidJson('The body was cut short.')
    Object.assign(error.headers, LEAVE)
    throw error
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

/** `bytesMax`: what the body may have. */
export function tooLarge(bytesMax: number): ApiError {
  const message = `The body may have up to 1 MiB${bytesMax > BODY_BYTES_MAX ? ', of several rows 2 MiB' : ''}.`
  return new ApiError('PayloadTooLarge', message, { target: 'Body', headers: LEAVE })
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalidJson('The body is not UTF-8.')
  }
}

/** The body as a whole cannot be read. */
export function invalidJson(message: string): ApiError {
  return new ApiError('InvalidJson', message, { target: 'Body' })
}
