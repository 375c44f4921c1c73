import { errorOf, RosterError, unexpected } from './error.ts'

/** Where a Roster is, and how long to try. */
export interface RosterOptions {
  /** The server's base address, as https://roster.example.com. */
  readonly url: string
  /** It belongs into back ends: who reads it can do all that it may do. */
  readonly key: string
  /** How long each try may take until its answer is read; 30,000 without it. */
  readonly timeoutMs?: number | undefined
  /** How often a request is sent at most; 5 without it, 1 for no second try. */
  readonly triesMax?: number | undefined
  /** How long a call may wait between its tries, in sum; 60,000 without it. A server that asks for more gets no other try. */
  readonly waitMsMax?: number | undefined
  /** Whether reads include what this client has written before, whichever server has done it; they do without it. */
  readonly readsOwnWrites?: boolean | undefined
  /** What sends requests; the `fetch` of the surroundings without it. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With the query string. */
  readonly path: string
  readonly body?: string
  /** The version that the row must have. */
  readonly ifMatch?: string | undefined
  /** Whether what the server has in memory does not do. */
  readonly now?: boolean | undefined
  /** How much longer than others the server may take. */
  readonly waitMs?: number
  readonly signal: AbortSignal | undefined
}

interface Answer {
  readonly headers: Headers
  /** Null where there is none. */
  readonly body: unknown
}

export interface Connection {
  /** Without a slash at its end. */
  readonly url: string
  /** @throws RosterError, or the signal's reason */
  send(request: ApiRequest): Promise<Answer>
}

const TIMER_MS_MAX = 2 ** 31 - 1
const FIRST_WAIT_MS = 250
/** A server takes no more; each is of a write that was under way beside the others. */
const POSITIONS_MAX = 8

/** @throws TypeError when the address or the key can be none */
export function connect(options: RosterOptions): Connection {
  const { timeoutMs = 30_000, triesMax = 5, waitMsMax = 60_000, readsOwnWrites = true } = options
  const url = baseUrl(options.url)
  const authorization = `ApiKey ${checkedKey(options.key)}`
  const call = options.fetch ?? ((target: string, init: RequestInit) => fetch(target, init))

  /** Those of the writes that were answered last, the newest first. */
  let positions: readonly string[] = []

  /** An answer to a write stands for those, too, that the client had been answered when it sent it. */
  function note({ headers }: Answer, sent: readonly string[]) {
    const position = headers.get('X-Roster-Position')
    if (!readsOwnWrites || position === null) return
    const others = positions.filter((one) => one !== position && !sent.includes(one))
    positions = [position, ...others].slice(0, POSITIONS_MAX)
  }

  /** One try. */
  async function attempt(
    { method, path, body, waitMs = 0, signal }: ApiRequest,
    own: Record<string, string>,
  ): Promise<Answer> {
    signal?.throwIfAborted()
    const ending = new AbortController()
    const end = () => ending.abort()
    const timer = setTimeout(end, Math.min(timeoutMs + waitMs, TIMER_MS_MAX))
    signal?.addEventListener('abort', end)
    const named = `${method} ${url}${path.replace(/\?.*$/s, '')}`
    try {
      const headers = { Authorization: authorization, ...(body === undefined ? {} : JSON_BODY), ...own }
      // A redirect would take the key along.
      const response = await call(url + path, {
        method,
        headers,
        body: body ?? null,
        redirect: 'manual',
        signal: ending.signal,
      })
      return readAnswer(named, response, await response.text())
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof RosterError) throw error
      throw ending.signal.aborted ? timeout(named, timeoutMs + waitMs) : networkFailure(named, error)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
    }
  }

  async function send(request: ApiRequest): Promise<Answer> {
    const { ifMatch, now } = request
    let sent = positions
    const own: Record<string, string> = {
      ...(sent.length > 0 ? { [AFTER]: sent.join(', ') } : {}),
      ...(now === true ? { 'Cache-Control': 'no-cache' } : {}),
      ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
      // However often it is sent, the server does it once.
      ...(isOnce(request) ? { 'Idempotency-Key': newKey() } : {}),
    }
    let leftMs = waitMsMax
    let isUncertain = false
    for (let tries = 1; ; tries++) {
      try {
        const answer = await attempt(request, own)
        note(answer, sent)
        return answer
      } catch (error) {
        if (!(error instanceof RosterError)) throw error
        if (error.code === 'InvalidHeader' && error.target === AFTER && sent.length > 0) {
          // The address leads to another database by now, or a failover has lost the writes: they will be in no answer.
          positions = positions.filter((one) => !sent.includes(one))
          sent = []
          delete own[AFTER]
          tries--
          continue
        }
        // An earlier try, whose answer did not say so, has deleted it.
        if (isUncertain && request.method === 'DELETE' && error.code === 'NotFound') return GONE
        const waitMs = tries < triesMax && mayRepeat(request, error) ? waitMsBefore(tries, error) : null
        if (waitMs === null || waitMs > leftMs) throw error
        isUncertain ||= error.status !== 429
        leftMs -= waitMs
        await pause(waitMs, request.signal)
      }
    }
  }
  return { url, send }
}

const AFTER = 'X-Roster-After'
const JSON_BODY = { 'Content-Type': 'application/json' }
const GONE: Answer = { headers: new Headers(), body: null }

/** Whether twice would not do the same as once: a second row, or a version that the first try has changed. */
function isOnce({ method, ifMatch }: ApiRequest): boolean {
  return method === 'POST' || ifMatch !== undefined
}

/**
 * A 429 was not carried out; a list that would cost too much would do so again. What else was answered with 503 may have
 * been, as OutcomeUnknown says: it is repeated, since twice does the same as once, where not by its key. Where the network
 * fails, reading and what has a key are repeated; InProgress is the answer to a request whose earlier try has not ended.
 */
function mayRepeat(request: ApiRequest, { status, code }: RosterError): boolean {
  if (code === 'TooCostly') return false
  if (status === 429 || status === 503 || code === 'InProgress') return true
  return code === 'NetworkFailure' && (request.method === 'GET' || isOnce(request))
}

/** 128 random bits; `randomUUID` is not there on pages without TLS. */
function newKey(): string {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))]
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

function waitMsBefore(tries: number, { retryAfterMs }: RosterError): number {
  return retryAfterMs ?? FIRST_WAIT_MS * 2 ** (tries - 1)
}

function readAnswer(request: string, response: Response, text: string): Answer {
  const { ok, status, headers } = response
  if (!ok) throw errorOf(request, response, text)
  try {
    return { headers, body: status === 204 ? null : JSON.parse(text) }
  } catch {
    throw unexpected(request, 'was answered with something else than JSON', status, headers)
  }
}

function timeout(request: string, timeoutMs: number): RosterError {
  return new RosterError({ code: 'Timeout', target: 'Api', message: `${request} had no answer within ${timeoutMs} ms` })
}

function networkFailure(request: string, cause: unknown): RosterError {
  // Node says "fetch failed", and in the cause of that, why.
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const message = `${request} had no answer: ${reason instanceof Error ? reason.message : reason}`
  return new RosterError({ code: 'NetworkFailure', target: 'Api', message, cause })
}

/** Waits; an abort ends the wait at once. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done, fail) => {
    const abort = () => {
      clearTimeout(timer)
      fail(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', abort)
        done()
      },
      Math.min(ms, TIMER_MS_MAX),
    )
    signal?.addEventListener('abort', abort, { once: true })
  })
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
