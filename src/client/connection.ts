import { type Answered, errorOf, RosterError, unexpected } from './error.ts'
import { beginExchange, type Exchange, pause } from './exchange.ts'

/** Options of a client: the address of a Roster, and how long to try. */
export interface RosterOptions {
  /** The server's base address, as https://roster.example.com. */
  readonly url: string
  /** It belongs into back ends: who reads it can do all that it may do. */
  readonly key: string
  /** How long each try may take until its answer is read, of a stream each piece; 30,000 without it. */
  readonly timeoutMs?: number | undefined
  /** How often a request is sent at most; 5 without it, 1 for no second try. */
  readonly triesMax?: number | undefined
  /** How long a call may wait between its tries, in sum; 60,000 without it. A server that asks for more gets no other try. */
  readonly waitMsMax?: number | undefined
  /** Sends requests; default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With the query string. */
  readonly path: string
  readonly body?: string | undefined
  /** The version that the row must have. */
  readonly ifMatch?: string | undefined
  /** How much longer than others the server may take. */
  readonly waitMs?: number
  readonly signal: AbortSignal | undefined
}

export interface Answer extends Answered {
  /** Null where there is none. */
  readonly body: unknown
}

/** A body that is read as it comes. */
export interface Opened extends Answered {
  /** Bytes that came with the response's head; null: the body is empty. */
  readonly first: Uint8Array | null
  /** The next piece, or null at the end. @throws RosterError where the connection breaks, or the signal's reason */
  next(): Promise<Uint8Array | null>
  /** Ends the request where it has not ended. */
  close(): void
}

export interface Connection {
  /** Without a slash at its end. */
  readonly url: string
  /** @throws RosterError, or the signal's reason */
  send(request: ApiRequest): Promise<Answer>
  /** The rows of a list, of which the first have come. @throws RosterError, or the signal's reason */
  open(request: ApiRequest): Promise<Opened>
}

const FIRST_WAIT_MS = 250

/** @throws TypeError when the address or the key can be none */
export function connect(options: RosterOptions): Connection {
  const { timeoutMs = 30_000, triesMax = 5, waitMsMax = 60_000 } = options
  const url = baseUrl(options.url)
  const authorization = `ApiKey ${checkedKey(options.key)}`
  const call = options.fetch ?? ((target: string, init: RequestInit) => fetch(target, init))

  /** One try; `read` makes of its answer what the call is for, within the time, and ends the exchange when it is done with it. */
  async function attempt(request: ApiRequest, headers: Record<string, string>, read: Reading): Promise<Answer> {
    const { method, path, body, waitMs = 0, signal } = request
    const named = `${method} ${url}${path.replace(/\?.*$/s, '')}`
    const exchange = beginExchange(named, timeoutMs + waitMs, signal)
    try {
      return await exchange.step('had no answer', async () => {
        // A redirect would take the key along.
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
      // However often it is sent, the server does it once.
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

/** The form of streams. */
const NDJSON = 'application/x-ndjson'

/** Returns whether a repetition differs from one request: by a second row, or a version that the first try has changed. */
function isOnce({ method, ifMatch }: ApiRequest): boolean {
  return method === 'POST' || ifMatch !== undefined
}

/**
 * A 429 was not carried out, nor was what is answered with 503; a list that would cost too much would do so again. What may
 * have been done is repeated where it only reads or has a key: another client may have written the row meanwhile. InProgress
 * is the answer to a request whose earlier try has not ended.
 */
function mayRepeat(request: ApiRequest, { status, code }: RosterError): boolean {
  if (code === 'TooCostly') return false
  if (code === 'NetworkFailure' || code === 'OutcomeUnknown') return request.method === 'GET' || isOnce(request)
  return status === 429 || status === 503 || code === 'InProgress'
}

/** 128 random bits; `randomUUID` is not there on pages without TLS. */
function newKey(): string {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))]
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Reads the body of a success. */
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

/** With the first piece, so that where none comes the request is sent again like any other that reads. */
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

/** Without the line feed of the file that it was read from. The error does not show it: errors are logged. */
function checkedKey(text: string): string {
  const key = text.trim()
  if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('the key is empty, or has characters that no key has')
  return key
}
