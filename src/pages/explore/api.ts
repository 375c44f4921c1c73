// Sends requests to the API with the key or token of the session. Reads pages, totals and exact numbers from responses. An error
// becomes a `Problem`, which the page shows.
import { useLayoutEffect, useState } from 'preact/hooks'
import type { Row } from './resources.ts'
import { ISSUER_NAME, ROOT } from './server.ts'
import { endSession, endSignIn, noteAccepted, type Session, sessionStore, signedIn } from './session.ts'
import { RETRY_MS, sessionAfterRefusal, sessionForRequest } from './signIn.ts'

export { ROOT } from './server.ts'

/** A fault in the body of a request. `target`: name of the property at fault, as requests have it. */
export interface Fault {
  readonly code: string
  readonly target: string
  readonly message: string
}

/** An error that the page shows: an error response with the API's message, or a failure for which the page has a message. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly status = 0,
    readonly code = '',
    readonly target = '',
    /** Seconds until the server can answer; null if a retry does not help. */
    readonly retryAfter: number | null = null,
    /** Faults in the body of the request, one for each property at fault. */
    readonly details: readonly Fault[] = [],
    /** Present version of the row, from a response 412 to `If-Match`; empty if the response has no version. */
    readonly tag = '',
  ) {
    super(message)
  }
}

const UNKNOWN_KEY = 'This key is not known here, or was revoked.'

/** Sends a request with the key or token of the session. Ends a session that is not valid any more. @throws Problem */
export async function send(path: string, options: RequestInit = {}): Promise<Response> {
  const session = usable(await sessionForRequest())
  const response = await ask(path, options, session)
  if (response.status !== 401) return checked(response)
  if (session.kind === 'key') {
    const problem = await problemOf(response)
    if (sessionStore.value.session?.id === session.id) endSession(UNKNOWN_KEY)
    throw problem
  }
  const renewed = await sessionAfterRefusal(session)
  // The session of the tab has changed meanwhile. The request was meant for the earlier session, so it is not sent again.
  if (sessionStore.value.session?.id !== session.id) throw await problemOf(response)
  if (renewed === 'ended') return refusePerson(await problemOf(response))
  // An unread body would keep its connection busy.
  void response.body?.cancel()
  const second = await ask(path, options, usable(renewed))
  return second.status === 401 ? refusePerson(await problemOf(second)) : checked(second)
}

/** Returns the session. @throws Problem if it has ended, or cannot be renewed now */
function usable(session: Session | 'ended' | 'away'): Session {
  if (session === 'ended') throw new Problem('Your sign-in has ended.', 401)
  if (session === 'away')
    throw new Problem(`${ISSUER_NAME} does not answer, so your sign-in cannot be renewed.`, 0, '', '', RETRY_MS / 1_000)
  return session
}

/** @throws Problem if the server does not answer */
function ask(path: string, options: RequestInit, { authorization }: Session): Promise<Response> {
  const headers = { Authorization: authorization, Accept: 'application/json', ...options.headers }
  return fetch(ROOT + path, { ...options, headers }).catch((error) => {
    if (options.signal?.aborted) throw error
    throw new Problem('The server does not answer. Is this computer connected? The page asks again by itself.', 0, '', '', 5)
  })
}

/** @throws Problem for an error response */
async function checked(response: Response): Promise<Response> {
  if (response.ok || response.status === 403) noteAccepted()
  if (response.ok) return response
  throw await problemOf(response)
}

/**
 * Ends the sign-in of a person whose token the server refuses. If the server has accepted no token of this sign-in, the page
 * shows the server's reason, because a new token would be refused as well.
 */
function refusePerson(problem: Problem): never {
  const { session, isEnded } = sessionStore.value
  if (session === null || isEnded) throw problem
  if (signedIn()?.isAccepted === true) endSignIn()
  else endSession(`The server does not accept this sign-in. It says: ${problem.message.replace(/^The request needs .*?\. /, '')}`)
  throw problem
}

async function problemOf(response: Response): Promise<Problem> {
  const { status, headers } = response
  const { Code = '', Target = '', Message = '', Details } = (await response.json().catch(() => null))?.Error ?? {}
  const isPassing = status === 429 || (status === 503 && Code !== 'TooCostly') || Code === 'InProgress'
  const retryAfter = isPassing ? Math.max(1, Number(headers.get('retry-after')) || 5) : null
  const details = ((Details ?? []) as Record<'Code' | 'Target' | 'Message', string>[]).map((fault) => ({
    code: fault.Code,
    target: fault.Target,
    message: fault.Message,
  }))
  return new Problem(Message || wordsOf(status), status, Code, Target, retryAfter, details, tagOf(response))
}

/**
 * Returns the version of the row in a response, from its `ETag`; empty if there is none. Proxies that compress responses make the
 * tag weak, but `If-Match` accepts only strong tags. So `W/` is removed.
 */
export function tagOf({ headers }: Response): string {
  return (headers.get('etag') ?? '').replace(/^W\//, '')
}

/** Returns words for an error response that has no message, such as the response of a proxy. */
function wordsOf(status: number): string {
  if (status >= 500) return `The server cannot do this at the moment (${status}). If it goes on, tell whoever runs it.`
  return `The server does not take this request (${status}). Go back to Start, or tell whoever runs the server.`
}

/** Parses JSON; keeps a number as text if a double would round it. */
export function parseExact(text: string) {
  const exact = (_: string, value: unknown, context?: { source?: string }) => {
    if (typeof value !== 'number' || context?.source === undefined) return value
    const digits = context.source.replace(/[-.]|e.*$/gi, '').replace(/^0+|0+$/g, '')
    return digits.length > 15 ? context.source : value
  }
  return JSON.parse(text, exact as (name: string, value: unknown) => unknown)
}

export interface Page {
  readonly rows: readonly Row[]
  readonly total: number
  /** Page and cursor of the links `first`, `previous`, `next` and `last`. */
  readonly links: Record<string, { page: string; cursor: string }>
}

export async function readPage(response: Response): Promise<Page> {
  const links: Page['links'] = {}
  for (const [, url = '', relation = ''] of (response.headers.get('location') ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)) {
    const parameters = new URL(url, ROOT).searchParams
    links[relation] = { page: parameters.get('page') ?? '1', cursor: parameters.get('cursor') ?? '' }
  }
  return { rows: parseExact(await response.text()), total: Number(response.headers.get('x-total-count')), links }
}

/**
 * Requests that were sent before a component needed their answers, by path. Each answer is used once, and only by the session
 * that sent the request.
 */
const ahead = new Map<string, { readonly sessionId: string | undefined; readonly response: Promise<Response> }>()
/** Time for which an answer can be used, in ms. A component that asks later sends the request again. */
const AHEAD_MS = 10_000

/** Sends a request before a component needs its answer. `useAnswer` takes the answer once a component asks for this path. */
export function sendAhead(path: string): void {
  const response = send(path)
  ahead.set(path, { sessionId: sessionStore.value.session?.id, response })
  // Avoids an unhandled rejection. `useAnswer`, which takes the answer, handles the failure.
  response.catch(() => {})
  setTimeout(() => ahead.delete(path), AHEAD_MS)
}

function takeAhead(path: string): Promise<Response> | null {
  const sent = ahead.get(path)
  ahead.delete(path)
  return sent !== undefined && sent.sessionId === sessionStore.value.session?.id ? sent.response : null
}

/** State of a request to the API. The last answer stays until the next answer arrives. */
export interface Asked<T> {
  readonly answer: T | null
  readonly problem: Problem | null
  /** 1: the request has taken more than 150 ms; 2: more than 500 ms; 0: less, or it is answered. */
  readonly lateness: 0 | 1 | 2
  /** Sends the request again. */
  retry(): void
}

/**
 * Hook that requests a path, and requests again whenever the path changes. If `path` is null, it requests nothing. `also`: if
 * this text changes, the request is repeated.
 */
export function useAnswer<T>(path: string | null, read: (response: Response) => Promise<T>, also = '', method = 'GET'): Asked<T> {
  const [state, setState] = useState<{ answer: T | null; problem: Problem | null }>({ answer: null, problem: null })
  const [lateness, setLateness] = useState<0 | 1 | 2>(0)
  const [attempt, setAttempt] = useState(0)
  // Sends the request before the page is painted. `useEffect` would send it later.
  useLayoutEffect(() => {
    if (path === null) return
    const controller = new AbortController()
    const { signal } = controller
    const timers = [setTimeout(() => setLateness(1), 150), setTimeout(() => setLateness(2), 500)]
    const end = () => {
      timers.forEach(clearTimeout)
      setLateness(0)
    }
    const sent = method === 'GET' ? takeAhead(path) : null
    ;(sent ?? send(path, { method, signal }))
      .then(read)
      .then((answer) => !signal.aborted && setState({ answer, problem: null }))
      .catch((error) => {
        const problem = error instanceof Problem ? error : new Problem(String(error))
        if (!signal.aborted) setState(({ answer }) => ({ answer, problem }))
      })
      .finally(() => !signal.aborted && end())
    return () => {
      controller.abort()
      end()
    }
  }, [path, also, attempt])
  return { ...state, lateness, retry: () => setAttempt(attempt + 1) }
}

export const readTotal = async (response: Response) => Number(response.headers.get('x-total-count'))
export const readJson = async (response: Response) => parseExact(await response.text())
