// Requests of `export` and `import` to a server that runs.
import { type Config, hostInUrl } from '../config/config.ts'
import { say } from './output.ts'
import { CommandError } from './run.ts'

/** Help of the option `--url`. */
export const URL_MEANING = 'the address of the server; by default that of the settings: PUBLIC_URL, else HOST and PORT'

/** Returns the server's URL without a slash at its end, by default the URL of the settings. @throws CommandError; ConfigError */
export function serverUrl(given: string | undefined, readSettings: () => Config): string {
  if (given !== undefined) return given.replace(/\/+$/, '')
  const { publicUrl, host, port, tlsCert } = readSettings()
  if (publicUrl !== null) return publicUrl
  if (port === 0) throw new CommandError('PORT is 0, so the address of the server is not known: give --url')
  return `${tlsCert === null ? 'http' : 'https'}://${hostInUrl(host)}:${port}`
}

export interface Detail {
  readonly Code: string
  readonly Target: string
  readonly Message: string
  /** Seconds to wait before a retry; only temporary errors have this member. */
  readonly RetryAfter?: number
}

/** Returns the error in a response; null if the response is not in Roster's form, such as the response of a proxy. */
export function errorOf(text: string): (Detail & { readonly Details?: readonly Detail[] }) | null {
  try {
    return JSON.parse(text).Error ?? null
  } catch {
    return null
  }
}

/** Returns the message for a response with an error. */
export function messageOf(text: string, status: number): string {
  return errorOf(text)?.Message ?? `the server answered with status ${status}, but not as Roster does`
}

/**
 * Maximum seconds to wait for a rate limit. If a server asks for more, the command ends with the error, and the operator decides.
 */
const WAIT_SECONDS_MAX = 3_600
/** Maximum attempts if the server does not answer, or answers a temporary failure without `RetryAfter`. */
const TRIES_MAX = 8
const PAUSE_SECONDS_MAX = 30
/** Timeout of a request in ms: a server answers earlier, or not at all. */
const ANSWER_MS_MAX = 120_000

/** Thrown if it is unknown whether the server has carried out a write. */
export class OutcomeUnknown extends CommandError {}

export interface Asked {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface Answer {
  /** Status of the response; NO_ANSWER, NOT_SENT or CANNOT_BE_SENT if there is no response. */
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const NO_ANSWER = 0
const NOT_SENT = -1
const CANNOT_BE_SENT = -2
/** Statuses of temporary failures, also those of a proxy whose server is down. */
const PASSING = [NO_ANSWER, NOT_SENT, CANNOT_BE_SENT, 502, 503, 504]
/** Matches error codes for a server that cannot be reached. */
const NO_CONNECTION = /^E(CONNREFUSED|NOTFOUND)$/
/** Matches error codes for a wrong certificate or address, with which a retry cannot succeed. */
const WRONG = /^(EPROTO|ERR_(INVALID|TLS)_|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/

/**
 * Sends a request, and repeats it while the answer is a rate limit or a temporary failure. `isFirst`: true to fail at once if no
 * server can be reached. `mayBeDone` of the answer: true if the server may have carried out an earlier attempt.
 * @throws CommandError; OutcomeUnknown for a write that may have been carried out
 */
export async function askUntilAnswered(request: Asked, isFirst: boolean): Promise<Answer & { readonly mayBeDone: boolean }> {
  let mayBeDone = false
  let tries = 1
  for (;;) {
    const answer = await ask(request)
    const { status, headers, text } = answer
    // A proxy can write a date instead of seconds; a date is ignored.
    const [given] = /^\d{1,9}$/.exec(headers.get('retry-after') ?? '') ?? []
    const retryAfter = given === undefined ? null : Math.max(1, Number(given))
    const isLimit = status === 429
    const isCostly = errorOf(text)?.Code === 'TooCostly'
    const isPassing = isLimit || (PASSING.includes(status) && !isCostly) || (status === 409 && retryAfter !== null)
    if (!isPassing) return { ...answer, mayBeDone }
    mayBeDone ||= !isLimit && status >= NO_ANSWER
    const reason = status > 0 ? messageOf(text, status) : text
    const seconds = retryAfter ?? Math.min(2 ** (tries - 1), PAUSE_SECONDS_MAX)
    const isHopeless = seconds > WAIT_SECONDS_MAX || status === CANNOT_BE_SENT || (isFirst && tries === 1 && status === NOT_SENT)
    // An attempt does not count if a rate limit refused it and said how long to wait.
    const isCounted = !isLimit || retryAfter === null
    if (isHopeless || (isCounted && tries === TRIES_MAX))
      throw mayBeDone && 'Idempotency-Key' in request.headers ? new OutcomeUnknown(reason) : new CommandError(reason)
    say(`waits ${seconds} s: ${reason}`)
    await Bun.sleep(seconds * 1_000)
    if (isCounted) tries++
  }
}

async function ask({ method, address, headers, body }: Asked): Promise<Answer> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    const response = await fetch(address, { method, headers, body, redirect: 'manual', signal })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (error) {
    const { message, code } = error as Error & { code?: unknown }
    const text = `${address.replace(/\?.*/, '')} cannot be reached: ${message} (--url names the server)`
    const unsent = NO_CONNECTION.test(String(code)) ? NOT_SENT : NO_ANSWER
    return { status: WRONG.test(String(code)) ? CANNOT_BE_SENT : unsent, headers: new Headers(), text }
  }
}
