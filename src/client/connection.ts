import { type Answered, errorOf, RosterError, unexpected } from './error.ts'
import { beginExchange, type Exchange, pause } from './exchange.ts'

/** Options of a client: address, key, and limits on time and retries. */
export interface RosterOptions {
  /** Base address of the server, such as https://roster.example.com. */
  readonly url: string
  /** An API key. Keep it on your server: anyone who reads it has all of its rights. */
  readonly key: string
  /** Timeout in ms of each attempt until its response is read; for a stream, timeout of each piece. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /** Maximum attempts of a request; 1 means no retry. Default: 5. */
  readonly triesMax?: number | undefined
  /**
   * Maximum total pause between the attempts of a call, in ms; default: 60,000. If a server asks for a longer pause, there is no
   * retry.
   */
  readonly waitMsMax?: number | undefined
  /** Sends requests; default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with the query string. */
  readonly path: string
  readonly body?: string | undefined
  /** Version that the row must have, for the header If-Match. */
  readonly ifMatch?: string | undefined
  /**
   * True if sending the request twice can have a different effect than sending it once, as with a write of all rows that match.
   */
  readonly isOnce?: boolean
  /** Time in ms that the server may take in addition to the timeout; default: 0. */
  readonly waitMs?: number
  readonly signal: AbortSignal | undefined
}

export interface Answer extends Answered {
  /** Null for a response without a body. */
  readonly body: unknown
}

/** A response whose body is read while it arrives. */
export interface Opened extends Answered {
  /** First bytes of the body; null if the body is empty. */
  readonly first: Uint8Array | null
  /** Returns the next piece, or null at the end. @throws RosterError if the connection breaks, or the signal's reason */
  next(): Promise<Uint8Array | null>
  /** Aborts the request if it has not ended. */
  close(): void
}

export interface Connection {
  /** Base address without a slash at its end. */
  readonly url: string
  /** Sends a request, with retries, and reads the whole response. @throws RosterError, or the signal's reason */
  send(request: ApiRequest): Promise<Answer>
  /** Sends a request for a stream; resolves when its first rows have arrived. @throws RosterError, or the signal's reason */
  open(request: ApiRequest): Promise<Opened>
}

const FIRST_WAIT_MS = 250

/** Checks the options, and returns a connection. @throws TypeError if the address or the key is not valid */
export function connect(options: RosterOptions): Connection {
  const { timeoutMs = 30_000, triesMax = 5, waitMsMax = 60_000 } = options
  const url = baseUrl(options.url)
  const authorization = `ApiKey ${checkedKey(options.key)}`
  const call = options.fetch ?? ((target: string, init: RequestInit) => fetch(target, init))

  /**
   * Sends a request once. `read` reads the response within the timeout, and returns its result. When a response is read whole,
   * `read` also closes the exchange.
   */
  async function attempt(request: ApiRequest, headers: Record<string, string>, read: Reading): Promise<Answer> {
    const { method, path, body, waitMs = 0, signal } = request
    const named = `${method} ${url}${path.replace(/\?.*$/s, '')}`
    const exchange = beginExchange(named, timeoutMs + waitMs, signal)
    try {
      return await exchange.step('had no answer', async () => {
        // A redirect would send the key to another address.
        const init = { method, headers, body: body ?? null, redirect: 'manual', signal: exchange.signal } as const
        const response = await call(url + path, init)
        const answered = { named, status: response.status, headers: response.headers }
        if (!response.ok) throw errorOf(answered, await response.text())
        return { ...answered, body: await read(response, answered, exchange) }
      })
    } catch (error) {
      exchange.close()
      throw error
    }
  }

  async function send(request: ApiRequest, read: Reading, own?: Record<string, string>): Promise<Answer> {
    const { body, ifMatch } = request
    const headers: Record<string, string> = {
      Authorization: authorization,
      ...own,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
      // With an Idempotency-Key, a write that is repeated is done once.
      ...(isOnce(request) ? { 'Idempotency-Key': newKey() } : {}),
    }
    let leftMs = waitMsMax
    for (let tries = 1; ; tries++) {
      try {
        return await attempt(request, headers, read)
      } catch (error) {
        if (!(error instanceof RosterError)) throw error
        const waitMs = error.retryAfterMs ?? FIRST_WAIT_MS * 2 ** (tries - 1)
        if (tries >= triesMax || waitMs > leftMs || !mayRepeat(request, error)) throw error
        leftMs -= waitMs
        await pause(waitMs, request.signal)
      }
    }
  }

  return {
    url,
    send: async (request) => send(request, readWhole),
    open: async (request) => (await send(request, openBody, { Accept: NDJSON })).body as Opened,
  }
}

/** Media type of streams. */
const NDJSON = 'application/x-ndjson'

/**
 * Returns whether sending the request twice can have a different effect than sending it once. The second attempt could create
 * another row, fail because the first attempt has changed the version, or write rows that match only after the first attempt.
 */
function isOnce({ method, ifMatch, isOnce: isOwn = false }: ApiRequest): boolean {
  return isOwn || method === 'POST' || ifMatch !== undefined
}

/**
 * Returns whether the request may be sent again. After a 429 or 503 nothing was done, so the request is repeated. A list that is
 * too costly is not repeated. If the outcome is unknown, only reads and requests with an Idempotency-Key are repeated: a write
 * without this header could overwrite what another client has written in the meantime. `InProgress` means that an earlier attempt
 * still runs.
 */
function mayRepeat(request: ApiRequest, { status, code }: RosterError): boolean {
  if (code === 'TooCostly') return false
  if (code === 'NetworkFailure' || code === 'OutcomeUnknown') return request.method === 'GET' || isOnce(request)
  return status === 429 || status === 503 || code === 'InProgress'
}

/** Returns 128 random bits; `randomUUID` is missing on pages without TLS. */
function newKey(): string {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))]
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Reads the body of a successful response. */
type Reading = (response: Response, answered: Answered, exchange: Exchange) => Promise<unknown>

async function readWhole(response: Response, answered: Answered, exchange: Exchange): Promise<unknown> {
  const text = await response.text()
  exchange.close()
  try {
    return response.status === 204 ? null : JSON.parse(text)
  } catch {
    throw unexpected(answered, 'was answered with something else than JSON')
  }
}

/** Reads the first piece of a body. If the connection breaks before this piece, the request is retried like any other read. */
async function openBody(response: Response, answered: Answered, exchange: Exchange): Promise<Opened> {
  if (!answered.headers.get('Content-Type')?.startsWith(NDJSON))
    throw unexpected(answered, 'was answered with something else than a stream of rows')
  const reader = response.body?.getReader()
  const read = async () => (await reader?.read())?.value ?? null
  const first = await read()
  const next = () => exchange.step('broke off: no more came', read)
  return { ...answered, first, next, close: exchange.close }
}

function baseUrl(text: string): string {
  const { protocol, origin, pathname, search, hash, username } = new URL(text)
  if (!/^https?:$/.test(protocol) || search || hash || username)
    throw new TypeError('the url of a Roster is http or https, a host, and a path where there is one')
  return origin + pathname.replace(/\/+$/, '')
}

/** Returns the key without the line feed of the file it was read from. Errors do not show the key, because errors are logged. */
function checkedKey(text: string): string {
  const key = text.trim()
  if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('the key is empty, or has characters that no key has')
  return key
}
