// Responses before they are bytes: status, headers and body. http/ adds the common headers.
import type { ApiError } from '../errors.ts'

export interface Reply {
  readonly status: number
  /** Without the common headers. A cached response is sent many times with the same object. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer> | Streamed | null
}

/** A body that is made while it is sent. */
export interface Streamed {
  readonly texts: AsyncGenerator<string>
  readonly isGzipped: boolean
  /** True if a fault gets a line of its own; if not, the body breaks off. */
  readonly reportsErrorInBody: boolean
  readonly slot: StreamSlot
}

/** The place that a stream holds while it is sent: a process sends a bounded number at a time. */
export interface StreamSlot {
  /** When the client last stopped reading; null: the server is preparing its next rows. */
  idleSinceMs: number | null
  /** Ends the stream with this error when it is evicted; null: the stream has not started, and cannot be evicted. */
  onEvict: ((error: ApiError) => void) | null
  /** Bytes that it holds in memory until its end. */
  bytes: number
  /** Gives the place back; further calls have no effect. */
  release(): void
}

export function isStreamed(body: Reply['body']): body is Streamed {
  return body !== null && typeof body === 'object' && 'texts' in body
}

export type TextReply = Reply & { readonly body: string }
export type BytesReply = Reply & { readonly body: Uint8Array<ArrayBuffer> }

/** Content type of JSON, to the letter. Spec 1, rule 3. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** Content type of rows in lines. */
export const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8'

/** Rows are people's data, and the next moment others: no cache on the way keeps them, nor a browser's disk. RFC 9111, 5.2.2.5 */
export const NO_STORE = 'no-store'

/** Responds with JSON; `headers` override the default ones. */
export function respondJson(status: number, body: string, headers?: Record<string, string>): TextReply {
  const own = { 'Content-Type': JSON_TYPE, 'Cache-Control': NO_STORE }
  return { status, headers: headers ? { ...own, ...headers } : own, body }
}

/** Responds with a row. `tag`: its version, without quotes; `location`: the address of a new one. RFC 9110, 8.8.3 */
export function respondRow(status: number, body: string, tag: string, location?: string): TextReply {
  const headers: Record<string, string> = { 'Content-Type': JSON_TYPE, 'Cache-Control': NO_STORE, ETag: `"${tag}"` }
  if (location !== undefined) headers.Location = location
  return { status, headers, body }
}

/** Responds 304 for a row that the client has already. RFC 9110, 15.4.5 */
export function respondUnchanged(tag: string): Reply {
  return { status: 304, headers: { 'Cache-Control': NO_STORE, ETag: `"${tag}"` }, body: null }
}

export function respondEmpty(headers: Record<string, string> = {}): Reply {
  return { status: 204, headers, body: null }
}
