// Responses before they are bytes: status, headers and body. http/ adds the common headers.
import type { ApiError } from '../errors.ts'

export interface Reply {
  readonly status: number
  /** Without the common headers. A cached response is sent many times with the same object. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer> | Streamed | null
}

/** A body that is produced while it is sent. */
export interface Streamed {
  readonly texts: AsyncGenerator<string>
  readonly isGzipped: boolean
  /** True if an error becomes a last line of the body; if not, the connection is broken off. */
  readonly reportsErrorInBody: boolean
  readonly slot: StreamSlot
}

/** The slot that a stream occupies while it is sent; each process has a limited number. */
export interface StreamSlot {
  /** Time at which the client stopped reading; null while the server prepares rows. */
  idleSinceMs: number | null
  /** Ends the stream with this error if it is evicted; null until the stream has started, before which it is never evicted. */
  onEvict: ((error: ApiError) => void) | null
  /** Bytes of memory that the stream holds until its end. */
  bytes: number
  /** Frees the slot; further calls have no effect. */
  release(): void
}

export function isStreamed(body: Reply['body']): body is Streamed {
  return body !== null && typeof body === 'object' && 'texts' in body
}

export type TextReply = Reply & { readonly body: string }
export type BytesReply = Reply & { readonly body: Uint8Array<ArrayBuffer> }

/** Content type of JSON, exactly as Spec 1, rule 3, has it. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** Content type of NDJSON. */
export const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8'

/** Keeps responses out of caches and off browsers' disks: rows are personal data, and may change at once. RFC 9111, 5.2.2.5 */
export const NO_STORE = 'no-store'

/** Responds with JSON; `headers` override the defaults. */
export function respondJson(status: number, body: string, headers?: Record<string, string>): TextReply {
  const own = { 'Content-Type': JSON_TYPE, 'Cache-Control': NO_STORE }
  return { status, headers: headers ? { ...own, ...headers } : own, body }
}

/** Responds with a row. `tag`: its version, without quotes; `location`: address of a created row. RFC 9110, 8.8.3 */
export function respondRow(status: number, body: string, tag: string, location?: string): TextReply {
  const headers: Record<string, string> = { 'Content-Type': JSON_TYPE, 'Cache-Control': NO_STORE, ETag: `"${tag}"` }
  if (location !== undefined) headers.Location = location
  return { status, headers, body }
}

/** Responds 304: the client's version of the row is current. RFC 9110, 15.4.5 */
export function respondUnchanged(tag: string): Reply {
  return { status: 304, headers: { 'Cache-Control': NO_STORE, ETag: `"${tag}"` }, body: null }
}

export function respondEmpty(headers: Record<string, string> = {}): Reply {
  return { status: 204, headers, body: null }
}
