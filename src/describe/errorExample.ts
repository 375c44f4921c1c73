import type { ErrorCode } from '../errors.ts'

/** A request that is refused, and what the server answers; on the sample, with a key of all rights, unless it says otherwise. */
export interface ErrorExample {
  readonly method: string
  /** Path and query string, percent-encoded. */
  readonly target: string
  /** Beside Authorization, and Content-Type: application/json where there is a body. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The rights of its key; null: it sends none. */
  readonly rights?: string | null
  /** Continues "when": what must be so for this answer. */
  readonly when?: string
  readonly answer: ErrorAnswer
}

/** The parts of an error's body that differ from error to error of one code. */
interface ErrorAnswer {
  readonly Target: string
  readonly Message: string
  readonly Details: readonly Detail[] | null
}

interface Detail {
  readonly Code: ErrorCode
  readonly Target: string
  readonly Message: string
}

/** An error about the request as a whole. */
export const api = (Message: string): ErrorAnswer => ({ Target: 'Api', Message, Details: null })
/** An error about one property, parameter or header. */
export const about = (Target: string, Message: string): ErrorAnswer => ({ Target, Message, Details: null })
/** Example of a body's single fault, which is repeated in the details. */
export const fault = (Code: ErrorCode, Target: string, Message: string): ErrorAnswer => ({
  ...{ Target, Message },
  Details: [{ Code, Target, Message }],
})
