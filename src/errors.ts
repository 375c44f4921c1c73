// ApiError, with which any room refuses a request, and the table of all error codes.
import { badRequests } from './errorTable/badRequests.ts'
import type { ErrorEntry } from './errorTable/entry.ts'
import { refusals } from './errorTable/refusals.ts'

const entries = { ...badRequests, ...refusals }

export type ErrorCode = keyof typeof entries
/** Every error that a client can get, by its code, in the order of statuses. Spec 7. */
export const errorTable: Readonly<Record<ErrorCode, ErrorEntry>> = entries

/** One fault, as an entry of `Error.Details`. */
export interface Fault {
  code: ErrorCode
  target: string
  message: string
}

interface Options {
  /** The property or parameter at fault, `Body`, or `Api`. */
  target?: string
  details?: readonly Fault[]
  headers?: Record<string, string>
  cause?: unknown
}

/** Thrown to answer a request with an error. Only `respond/` turns it into HTTP. */
export class ApiError extends Error {
  readonly target: string
  readonly details: readonly Fault[] | null
  readonly headers: Record<string, string>

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: Options = {},
  ) {
    super(message, { cause: options.cause })
    this.target = options.target ?? 'Api'
    this.details = options.details ?? null
    this.headers = options.headers ?? {}
  }
}

/** Returns what was thrown as an error: JavaScript can throw any value. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Thrown if stored data do not allow a change; the message is for an operator. */
export class Refused extends Error {}

/**
 * Maximum faults that an answer lists. The search for faults ends at this number, so that no answer is many times as long as the
 * body.
 */
export const FAULTS_MAX = 100

/**
 * Returns the error for the faults of a body, at least one. A single fault decides the code. Several faults have the code
 * `ValidationFailed`; if all are about stored rows, or all about rights, they have the code of the first fault.
 */
export function faultsError(faults: readonly Fault[]): ApiError {
  const [first] = faults
  if (first === undefined) throw new Error('an error for no fault')
  if (faults.length === 1) return new ApiError(first.code, first.message, { target: first.target, details: faults })
  // Stored rows are only read if the body has no other faults, so either all faults are about stored rows, or none.
  const isStored = first.code === 'ReferenceNotFound' || first.code === 'AlreadyExists'
  // The answer is 403 only if the body has no other faults.
  const isRefused = faults.every(({ code }) => code === 'Forbidden')
  const code = isStored || isRefused ? first.code : 'ValidationFailed'
  const count = `${faults.length >= FAULTS_MAX ? 'at least ' : ''}${faults.length}`
  const message = isRefused
    ? `You have no right to this, for ${count} reasons; Details lists them.`
    : `The body has ${count} faults; Details lists them.`
  return new ApiError(code, message, { target: 'Body', details: faults })
}
