// Request bodies that no handler has read: a small one is read to its end; of any other the connection is closed.
import { readPieces } from '../parse/body.ts'

/** Maximum length of a body that is read although no handler needs it. */
const REST_BYTES_MAX = 16 * 1024
/** Maximum time to read such a body, longer than a client pauses between head and body. */
const REST_MS_MAX = 1_000

/** Returns whether a body may still be arriving, by the headers: `request.body` is null for GET and HEAD even with a body. */
export function hasUnreadBody({ bodyUsed, headers }: Request): boolean {
  if (bodyUsed) return false
  const length = headers.get('content-length')
  return length === null ? headers.has('transfer-encoding') : length !== '0'
}

/**
 * Reads a small body to its end; false: it has not ended, so the connection must be closed. A client that is still sending when
 * its connection is closed gets a reset, and may never see the response. RFC 9112, 9.6
 */
export function readRest(request: Request): Promise<boolean> | boolean {
  if (Number(request.headers.get('content-length')) > REST_BYTES_MAX || request.body === null) return false
  const read = readPieces(request, REST_BYTES_MAX, REST_MS_MAX).then(() => true)
  return read.catch(() => false)
}
