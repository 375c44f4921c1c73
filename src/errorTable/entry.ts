// Entry of the error table: its type, and functions that make answers of examples.

/**
 * An error that a client can get: status, explanation, cause and remedy for its page, and an example. Tests send the example to a
 * real server that has the sample data, by default with a key that has all rights.
 */
export interface ErrorEntry {
  readonly status: number
  readonly title: string
  readonly explanation: string
  readonly remedy: string
  /** Method and target of the example, percent-encoded, separated by a space. */
  readonly request: string
  /** Additional headers. Authorization, and Content-Type: application/json for a body, are not listed here. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Rights of the example's key; null: the example sends no key. */
  readonly rights?: string | null
  /** Condition under which the example gets this answer, as words that follow "when". */
  readonly when?: string
  readonly answer: ErrorAnswer
}

/** Adds the same status to all entries. */
export function ofStatus<Code extends string>(status: number, entries: Record<Code, Omit<ErrorEntry, 'status'>>) {
  const list = Object.entries<Omit<ErrorEntry, 'status'>>(entries).map(([code, entry]) => [code, { status, ...entry }])
  return Object.fromEntries(list) as Record<Code, ErrorEntry>
}

/** Members of an error's body that differ between errors of one code. */
interface ErrorAnswer {
  readonly Target: string
  readonly Message: string
  readonly Details: readonly { readonly Code: string; readonly Target: string; readonly Message: string }[] | null
}

/** Makes the answer for an error of the request as a whole. */
export const api = (Message: string): ErrorAnswer => ({ Target: 'Api', Message, Details: null })
/** Makes the answer for an error of one property, parameter or header. */
export const about = (Target: string, Message: string): ErrorAnswer => ({ Target, Message, Details: null })
/** Makes the answer for a body with one fault, which is also the only entry of `Details`. */
export const fault = (Code: string, Target: string, Message: string): ErrorAnswer => ({
  ...about(Target, Message),
  Details: [{ Code, Target, Message }],
})

/** A valid body of a company, for examples whose fault is not in the body. */
export const COMPANY = '{"Name": "Blue Moon", "Enabled": true}'
