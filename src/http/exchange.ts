// Facts about a request and its response, for metrics and the access log.
import type { PeerAddresses } from '../admit/admission.ts'
import type { Log, LogFields } from '../log.ts'
import { countRequest } from '../metrics/counts.ts'
import type { KindOfRequest } from '../metrics/declared.ts'
import type { Charged, ResourceRequest } from '../operations/resourceRequest.ts'
import { noteAnswered } from '../operations/streams.ts'
import type { Location } from './router.ts'
import { pathOf } from './target.ts'

/** A request with the facts that its response and its log line need. */
export interface Exchange extends Charged {
  readonly request: Request
  readonly server: (ResourceRequest['server'] & PeerAddresses) | null
  readonly requestId: string
  readonly startMs: number
  /** Address of the client when the request arrived; Bun forgets it when the client leaves. */
  readonly address: string
  readonly location: Location | null
}

/** Facts about a response that was sent. */
interface Answered {
  readonly status: number
  readonly bytes: number
  readonly isStream?: boolean
  /** True if the client or the server ended the response early. */
  readonly isCut?: boolean
}

/** Counts an answered request, and writes its line of the access log. */
export function noteAnswer({ log }: { log: Log }, call: Exchange, answered: Answered): void {
  const { location } = call
  const { method } = call.request
  const nowMs = performance.now()
  const ms = nowMs - call.startMs
  noteAnswered(nowMs)
  const kind = location === null ? 'other' : kindOf(location, method, answered.isStream === true)
  countRequest(location === null ? null : location.endpoint.route, method, answered.status, kind, ms)
  if (!log.isEnabled('info')) return
  const { principal, address: client } = call
  const fields: LogFields = { ms: Math.round(ms * 100) / 100, bytes: answered.bytes, client, ...idsOf(call) }
  if (answered.isCut) fields.cut = true
  if (location !== null) fields.route = location.endpoint.route
  if (principal !== null) fields[principal.isPerson ? 'person' : 'key'] = principal.id
  log.info(`${method} ${pathOf(call.request.url)} ${answered.status}`, fields)
}

function kindOf({ endpoint, id }: Location, method: string, isStream: boolean): KindOfRequest {
  const { entity, route } = endpoint
  if (entity === null) return route === '/Changes' ? 'changes' : 'other'
  if (method !== 'GET' && method !== 'HEAD') return method === 'OPTIONS' ? 'other' : 'write'
  if (id === '') return isStream ? 'stream' : 'list'
  return route.endsWith('/Changes') ? 'changes' : 'row'
}

/** Correlation ids: the request id, and the ids of the client's trace. */
export function idsOf({ request, requestId }: Exchange): LogFields {
  return { requestId, ...readTraceParent(request) }
}

const PATTERN = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/

/**
 * Parses `traceparent`. Returns the ids of the trace and of the client's span; null if the header is missing, or must be ignored.
 * Trace Context, 2.2.2
 */
export function readTraceParent({ headers }: Request): { readonly traceId: string; readonly spanId: string } | null {
  const text = headers.get('traceparent')
  if (text === null) return null
  const [, traceId, spanId, more] = PATTERN.exec(text) ?? []
  if (traceId === undefined || spanId === undefined) return null
  // Only later versions than 00 may have further fields.
  return more !== undefined && text.startsWith('00') ? null : { traceId, spanId }
}
