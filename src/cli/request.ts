// Requests of `export` and `import` to a server that runs.
import { type Config, hostInUrl } from '../config/config.ts'
import { say } from './output.ts'
import { CommandError } from './run.ts'

/** Help of the option `--url`. */
export const URL_MEANING = 'the address of the server; by default that of the settings: PUBLIC_URL, else HOST and PORT'

/** The address of the server without a slash at its end: as given, or of the settings. @throws CommandError; ConfigError */
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
}

/** The error that a response has; null: it is none of Roster's. */
export function errorOf(text: string): (Detail & { readonly Details?: readonly Detail[] }) | null {
  try {
    return JSON.parse(text).Error ?? null
  } catch {
    return null
  }
}

/** Message of a response that is not the one that was asked for. */
export function messageOf(text: string, status: number): string {
  return errorOf(text)?.Message ?? `the server answered with status ${status}, but not as Roster does`
}

/** Waits that are longer are the operator's to decide on. */
const WAIT_SECONDS_MAX = 3_600
/** Maximum attempts at a server that does not answer, or cannot for now, and names no delay. */
const TRIES_MAX = 8
const PAUSE_SECONDS_MAX = 30
/** A server answers earlier, or not at all. */
const ANSWER_MS_MAX = 120_000

/** Thrown if it is unknown whether the server has carried out a write. */
export class OutcomeUnknown extends CommandError {}

export interface Asked {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface Answer {
  /** NO_ANSWER, NOT_SENT, CANNOT_BE_SENT: there is none. */
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const NO_ANSWER = 0
const NOT_SENT = -1
const CANNOT_BE_SENT = -2
/** Temporary failures, with those of proxies whose server is gone. */
const PASSING = [NO_ANSWER, NOT_SENT, CANNOT_BE_SENT, 502, 503, 504]
/** Error codes: the server could not be reached; a certificate or an address is wrong, so that a retry cannot succeed. */
const NO_CONNECTION = /^E(CONNREFUSED|NOTFOUND)$/
const WRONG = /^(EPROTO|ERR_(INVALID|TLS)_|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/

/**
 * Sends a request until its answer is not a limit or a passing failure; the first one of a run only if the server is there at
 * all. `mayBeDone`: an earlier try may have been carried out. @throws CommandError; OutcomeUnknown where a write is not answered
 */
export async function askUntilAnswered(request: Asked, isFirst: boolean): Promise<Answer & { readonly mayBeDone: boolean }> {
  let mayBeDone = false
  for (let tries = 1; ; ) {
    const answer = await ask(request)
    const { status, headers, text } = answer
    // Proxies may write a date.
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
    // A limit that says when it ends does end.
    if (isHopeless || ((!isLimit || retryAfter === null) && tries++ === TRIES_MAX))
      throw mayBeDone && 'Idempotency-Key' in request.headers ? new OutcomeUnknown(reason) : new CommandError(reason)
    say(`waits ${seconds} s: ${reason}`)
    await Bun.sleep(seconds * 1_000)
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
