// Replies: status, headers and body of a response, to which http/ adds the common headers.
import type { ApiError } from '../errors.ts'

export interface Reply {
  readonly status: number
  /**
   * Headers of the response, to which http/ adds the common headers. This object is never edited, because a cached reply is sent
   * many times.
   */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer> | Streamed | null
}

/** A body that is made while it is sent. */
export interface Streamed {
  readonly texts: AsyncGenerator<string>
  readonly isGzipped: boolean
  /** True: an error is written as the last line of the body. False: an error breaks the connection. */
  readonly reportsErrorInBody: boolean
  readonly slot: StreamSlot
}

/** A slot of the concurrency limit of streams, held while the stream is sent. */
export interface StreamSlot {
  /** Time by `performance.now()` at which the client last stopped reading; null: the server is preparing the next rows. */
  idleSinceMs: number | null
  /** Called with the error when the stream is evicted, to end it; null: the stream has not started, and cannot be evicted. */
  onEvict: ((error: ApiError) => void) | null
  /** Bytes that the stream holds in memory until its end. */
  bytes: number
  /** Gives the slot back; further calls have no effect. */
  release(): void
}

export function isStreamed(body: Reply['body']): body is Streamed {
  return body !== null && typeof body === 'object' && 'texts' in body
}

export type TextReply = Reply & { readonly body: string }
export type BytesReply = Reply & { readonly body: Uint8Array<ArrayBuffer> }

/** Content type of JSON, exactly as Spec 1, rule 3 spells it. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** Content type of a stream with one JSON value per line. */
export const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8'

/**
 * Value of Cache-Control that keeps rows out of caches and off a browser's disk: they are people's data, and can change at any
 * time. RFC 9111, 5.2.2.5
 */
export const NO_STORE = 'no-store'

/** Responds with JSON; `headers` override the default headers. */
export function respondJson(status: number, body: string, headers?: Record<string, string>): TextReply {
  const own = { 'Content-Type': JSON_TYPE, 'Cache-Control': NO_STORE }
  return { status, headers: headers ? { ...own, ...headers } : own, body }
}

/** Responds with a row. `tag`: its version, without quotes; `location`: its address, for a new row. RFC 9110, 8.8.3 */
export function respondRow(status: number, body: string, tag: string, location?: string): TextReply {
  const headers: Record<string, string> = { 'Content-Type': JSON_TYPE, 'Cache-Control': NO_STORE, ETag: `"${tag}"` }
  if (location !== undefined) headers.Location = location
  return { status, headers, body }
}

/** Responds 304 for a row of which the client has this version already. RFC 9110, 15.4.5 */
export function respondUnchanged(tag: string): Reply {
  return { status: 304, headers: { 'Cache-Control': NO_STORE, ETag: `"${tag}"` }, body: null }
}

export function respondEmpty(headers: Record<string, string> = {}): Reply {
  return { status: 204, headers, body: null }
}
