/** One of several faults of a request. */
export interface RosterFault {
  readonly code: string
  readonly target: string
  readonly message: string
}

interface ErrorParts extends RosterFault {
  readonly details?: readonly RosterFault[] | null
  readonly status?: number
  readonly headers?: Headers
  readonly cause?: unknown
}

/** Error that calls throw. Exceptions: an aborted call throws the signal's reason, and a call with invalid values a TypeError. */
export class RosterError extends Error {
  override readonly name = 'RosterError'
  /** HTTP status of the response; 200 if a stream ends with an error; 0 without a response. */
  readonly status: number
  /** Error code of the server, such as NotFound; or NetworkFailure, Timeout or UnexpectedAnswer. */
  readonly code: string
  /** Name of the faulty property or parameter; or Body, or Api. */
  readonly target: string
  /** All faults of a body; null if there are no details. */
  readonly details: readonly RosterFault[] | null
  /** Id of the request in the server's log; null if the response has none. */
  readonly requestId: string | null
  /** Time in ms that the server asks to wait before a retry; null if it does not say. */
  readonly retryAfterMs: number | null

  constructor({ code, target, message, details = null, status = 0, headers, cause }: ErrorParts) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.target = target
    this.details = details
    this.status = status
    this.requestId = headers?.get('X-Request-Id') ?? null
    this.retryAfterMs = waitOf(headers?.get('Retry-After') ?? null)
  }
}

/** Returns the error of a response, also of a response that a proxy wrote. */
export function errorOf(answer: Answered, text: string): RosterError {
  const { status, headers } = answer
  const body = readError(text)
  if (!body) return unexpected(answer, `was answered with status ${status}, but not by Roster`)
  return new RosterError({ ...faultOf(body), details: body.Details?.map(faultOf) ?? null, status, headers })
}

const faultOf = ({ Code, Target, Message }: Omit<ErrorBody, 'Details'>) => ({ code: Code, target: Target, message: Message })

/** Response that an error is about. `named`: method and address of its request. */
export interface Answered {
  readonly named: string
  readonly status: number
  readonly headers: Headers
}

/** Returns an error for a response that Roster never gives. */
export function unexpected({ named, status, headers }: Answered, problem: string): RosterError {
  const message = `${named} ${problem}: is the address that of a Roster, and nothing changed on the way?`
  return new RosterError({ code: 'UnexpectedAnswer', target: 'Api', message, status, headers })
}

interface ErrorBody {
  readonly Code: string
  readonly Target: string
  readonly Message: string
  readonly Details: readonly Omit<ErrorBody, 'Details'>[] | null
}

function readError(text: string): ErrorBody | null {
  try {
    const body: ErrorBody = JSON.parse(text).Error
    return typeof body.Code === 'string' && typeof body.Message === 'string' ? body : null
  } catch {
    return null
  }
}

/**
 * Returns the ms from now until the time in Retry-After: a number of seconds, or a date, which only proxies write. RFC 9110,
 * 10.2.3.
 */
function waitOf(retryAfter: string | null): number | null {
  if (retryAfter === null) return null
  const waitMs = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs)
}
