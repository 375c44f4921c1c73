// Writes to the API: each is done once, however often it is sent, and its errors are explained in words for people.
import { type Fault, Problem, readJson, send, tagOf } from './api.ts'
import type { Attempt } from './drafts.ts'
import { say } from './notices.tsx'
import type { Row } from './resources.ts'
import { Store } from './store.ts'

/** Number of writes of this page so far; lists and rows are read again after each. */
export const writesStore = new Store(0)

/** Makes the page read lists and rows again, and shows a message about what was done. Shows nothing if `message` is empty. */
export function announce(message: string): void {
  writesStore.set(writesStore.value + 1)
  if (message !== '') say(message)
}

/** A row as an answer has it, with its version. */
export interface Versioned {
  readonly row: Row
  readonly tag: string
}

export async function readVersioned(response: Response): Promise<Versioned> {
  return { row: await readJson(response), tag: tagOf(response) }
}

/** Returns an attempt with a new `Idempotency-Key`. */
export function attemptOf(body: string, tag = ''): Attempt {
  return { body, key: uuid(), madeMs: Date.now(), tag }
}

/** Returns a random UUID. Browsers have `crypto.randomUUID` only over HTTPS and for pages of the same machine. */
function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Sends a write. An attempt whose key is empty, as for a dry run, is sent without `Idempotency-Key`. @throws Problem */
export async function write(method: 'POST' | 'PATCH' | 'DELETE', path: string, attempt: Attempt): Promise<Response> {
  const { body, key, tag } = attempt
  const headers: Record<string, string> = key === '' ? {} : { 'Idempotency-Key': `"${key}"` }
  if (body !== '') headers['Content-Type'] = 'application/json'
  if (tag !== '') headers['If-Match'] = tag
  return send(path, { method, headers, ...(body === '' ? {} : { body }) })
}

/** Sends a write, and returns the row of the answer: only its id if the reader may not read the row. @throws Problem */
export async function writeRow(method: 'POST' | 'PATCH', path: string, attempt: Attempt): Promise<Versioned> {
  return readVersioned(await write(method, path, attempt))
}

/** Returns the `Problem` that the page shows for an exception: the exception itself, or a `Problem` with its text. */
export function problemOf(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(String(error))
}

/** True if the write may have been done. It must then be sent again unchanged. */
export function isUncertain({ status, code }: Problem): boolean {
  return status === 0 || status === 500 || status === 502 || status === 504 || code === 'OutcomeUnknown' || code === 'InProgress'
}

/** Statuses of refusals that do not depend on what the request asks for. */
const UNREAD: ReadonlySet<number> = new Set([401, 408, 429, 503])

/** True if the answer to a repeated write does not tell whether an earlier attempt was done. */
export function tellsNothing({ status }: Problem): boolean {
  return UNREAD.has(status)
}

/**
 * Returns the faults of a refused write, each with the property at fault. Returns no faults if the write was not refused for its
 * content.
 */
export function faultsOf({ target, code, message, details, status }: Problem): readonly Fault[] {
  if (status !== 400 && status !== 403 && status !== 409) return []
  return details.length > 0 ? details : [{ code, target, message }]
}

const AGAIN = 'What you typed stays here, and is sent again.'
const BY_STATUS: Readonly<Record<number, string>> = {
  0: `The server does not answer. ${AGAIN}`,
  401: 'Your sign-in has ended. What you typed stays here: sign in again, and save.',
  408: 'The connection was too slow. What you typed stays here: save again.',
  405: 'This server takes no changes at the moment. What you typed stays here: try again later.',
  413: 'This is too long to be saved: shorten the texts.',
  422: 'This was not saved: save again.',
  429: `That was more than you may send in this time. ${AGAIN}`,
  500: 'The server failed, and it is not certain whether this was saved. To send it again does nothing twice.',
  502: `The server cannot be reached. ${AGAIN}`,
  503: `The server is busy. Nothing was saved yet. ${AGAIN}`,
  504: `The server took too long. ${AGAIN}`,
}
const BY_CODE: Readonly<Record<string, string>> = {
  OutcomeUnknown: 'It is not certain whether this was saved. It is sent again, which does nothing twice.',
  InProgress: 'This is being saved. The page asks again whether it is done.',
  InvalidJson: 'The server did not understand this. Reload the page: what you typed stays here.',
}

/** Returns a problem with a message for people, which says what was wrong with the write and what to do next. */
export function inWordsOf(problem: Problem): Problem {
  const { status, code, message, retryAfter } = problem
  const words = BY_CODE[code] ?? BY_STATUS[status] ?? (status === 403 ? forbidden(message) : message)
  const waits = isUncertain(problem) && status !== 500 ? (retryAfter ?? 5) : retryAfter
  return new Problem(words, status, '', '', waits)
}

function forbidden(message: string): string {
  return `You may not do this, or not any more: ${message} Nothing was saved; what you typed stays here. Reload the page to see what you may do now.`
}
