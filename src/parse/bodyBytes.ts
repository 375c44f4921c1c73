import { ApiError } from '../errors.ts'

/** Of one row. */
export const BODY_BYTES_MAX = 1024 * 1024
/** Of several rows. */
const ROWS_BYTES_MAX = 8 * BODY_BYTES_MAX

/** A slower sender holds a connection and a place in memory for nothing. */
export const BODY_MS_MAX = 10_000

// The rest of the body is still on its way; only a closed connection stops its sender.
const LEAVE = { Connection: 'close' }

/** What a body may have: one row, several, or either, which its first character says. */
export type Extent = 'row' | 'rows' | 'either'

const ARRAY_BEGIN = 0x5b
const SPACES = [0x20, 0x09, 0x0a, 0x0d]

/** Reads a body of up to what one row may have. @throws ApiError PayloadTooLarge, RequestTimeout, InvalidJson */
export async function readBytes(request: Request, msMax = BODY_MS_MAX): Promise<Uint8Array> {
  return readBody(request, 'row', msMax, () => undefined)
}

/**
 * Reads a body as text. `onRows` is called before more is read than one row may have. @throws ApiError PayloadTooLarge,
 * RequestTimeout, InvalidJson; what `onRows` throws
 */
export async function readText(
  request: Request,
  extent: Extent,
  msMax: number,
  onRows: () => unknown = () => undefined,
): Promise<string> {
  return decodeUtf8(await readBody(request, extent, msMax, onRows))
}

function readBody(request: Request, extent: Extent, msMax: number, onRows: () => unknown): Promise<Uint8Array> {
  const declared = request.headers.get('content-length')
  const bytes = Number(declared)
  if (bytes > (extent === 'row' ? BODY_BYTES_MAX : ROWS_BYTES_MAX)) throw tooLarge(extent)
  // A longer one may have to be refused by its first character.
  if (extent === 'rows') onRows()
  const isWhole = declared !== null && (bytes <= BODY_BYTES_MAX || extent === 'rows')
  return isWhole ? readWhole(request, msMax) : readPieces(request, extent, bytes, msMax, onRows)
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

async function readPieces(
  request: Request,
  extent: Extent,
  declared: number,
  msMax: number,
  onRows: () => unknown,
): Promise<Uint8Array> {
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let own = extent
  let bytes = 0
  let late = false
  const timer = setTimeout(() => {
    late = true
    leave(reader)
  }, msMax)
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (own === 'either' && (own = extentOf(part.value)) === 'rows') onRows()
      bytes += part.value.length
      const sum = own === 'either' ? bytes : Math.max(bytes, declared)
      if (sum > (own === 'rows' ? ROWS_BYTES_MAX : BODY_BYTES_MAX)) throw tooLarge(own)
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

/** Of nothing but spaces it is not known yet. */
function extentOf(bytes: Uint8Array): Extent {
  for (const byte of bytes) if (!SPACES.includes(byte)) return byte === ARRAY_BEGIN ? 'rows' : 'row'
  return 'either'
}

/** A connection that has broken may refuse even this. */
function leave(reader: { cancel(): Promise<void> }) {
  reader.cancel().catch(() => undefined)
}

function tooLate(): ApiError {
  return new ApiError('RequestTimeout', 'The body took longer than 10 seconds.', { target: 'Body', headers: LEAVE })
}

const TOO_LARGE = {
  row: 'The body may have up to 1 MiB.',
  rows: 'A body of several rows may have up to 8 MiB.',
  either: 'The body may have up to 1 MiB, of several rows 8 MiB.',
}

function tooLarge(extent: Extent): ApiError {
  return new ApiError('PayloadTooLarge', TOO_LARGE[extent], { target: 'Body', headers: LEAVE })
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
