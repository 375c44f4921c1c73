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

/** Error of every call, except that an aborted one throws the signal's reason, and one that cannot be written a TypeError. */
export class RosterError extends Error {
  override readonly name = 'RosterError'
  /** The answer's HTTP status, 200 of a stream that ends with an error; 0: there was no answer. */
  readonly status: number
  /** One of the server's codes, as NotFound; NetworkFailure, Timeout or UnexpectedAnswer where it is not the server's. */
  readonly code: string
  /** The property or parameter at fault, Body, or Api. */
  readonly target: string
  /** Every fault of a body; null: there is no more to say. */
  readonly details: readonly RosterFault[] | null
  /** The id under which the server's log has the request; null: the server has given none. */
  readonly requestId: string | null
  /** How long the server asks to wait, in milliseconds; null: it does not say. */
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

/** The error that an answer tells of, which a proxy may have made. */
export function errorOf(answer: Answered, text: string): RosterError {
  const { status, headers } = answer
  const body = readError(text)
  if (!body) return unexpected(answer, `was answered with status ${status}, but not by Roster`)
  return new RosterError({ ...faultOf(body), details: body.Details?.map(faultOf) ?? null, status, headers })
}

const faultOf = ({ Code, Target, Message }: Omit<ErrorBody, 'Details'>) => ({ code: Code, target: Target, message: Message })

/** An answer as far as its errors say where it is from; `named`: its request. */
export interface Answered {
  readonly named: string
  readonly status: number
  readonly headers: Headers
}

/** The error of an answer that Roster does not give. */
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

/** Seconds, or the date that a proxy may write, in milliseconds from now. RFC 9110, 10.2.3. */
function waitOf(retryAfter: string | null): number | null {
  if (retryAfter === null) return null
  const waitMs = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs)
}
