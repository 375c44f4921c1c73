/** A request's place in a trace of several programs. */
export interface TraceContext {
  readonly traceId: string
  /** Of the client's part. */
  readonly spanId: string
}

const PATTERN = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/
const FIRST_VERSION = '00'

/** What the header `traceparent` says; null where there is none, or one that is to be ignored. Trace Context, 2.2.2 */
export function readTraceParent({ headers }: Request): TraceContext | null {
  const text = headers.get('traceparent')
  if (text === null) return null
  const [, traceId, spanId, more] = PATTERN.exec(text) ?? []
  if (traceId === undefined || spanId === undefined) return null
  // Later versions may say more.
  return more !== undefined && text.startsWith(FIRST_VERSION) ? null : { traceId, spanId }
}
