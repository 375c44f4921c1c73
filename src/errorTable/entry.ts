// Entry of the error table: its type, and the parts that entries have in common.

/**
 * An error that a client can get: its status; what it means, why it is so, and what to do, for its page; and a request that is
 * refused with it, on the sample, with a key of all rights, unless it says otherwise. Tests send each of these to a real server.
 */
export interface ErrorEntry {
  readonly status: number
  readonly title: string
  readonly explanation: string
  readonly remedy: string
  /** Method and target of the request, percent-encoded, with a space between. */
  readonly request: string
  /** Beside Authorization, and Content-Type: application/json where there is a body. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The rights of its key; null: it sends none. */
  readonly rights?: string | null
  /** Continues "when": what must be so for this answer. */
  readonly when?: string
  readonly answer: ErrorAnswer
}

/** Returns entries that have one status. */
export function ofStatus<Code extends string>(status: number, entries: Record<Code, Omit<ErrorEntry, 'status'>>) {
  const list = Object.entries<Omit<ErrorEntry, 'status'>>(entries).map(([code, entry]) => [code, { status, ...entry }])
  return Object.fromEntries(list) as Record<Code, ErrorEntry>
}

/** The parts of an error's body that differ from error to error of one code. */
interface ErrorAnswer {
  readonly Target: string
  readonly Message: string
  readonly Details: readonly { readonly Code: string; readonly Target: string; readonly Message: string }[] | null
}

/** An error about the request as a whole. */
export const api = (Message: string): ErrorAnswer => ({ Target: 'Api', Message, Details: null })
/** An error about one property, parameter or header. */
export const about = (Target: string, Message: string): ErrorAnswer => ({ Target, Message, Details: null })
/** The single fault of a body, which is repeated in the details. */
export const fault = (Code: string, Target: string, Message: string): ErrorAnswer => ({
  ...about(Target, Message),
  Details: [{ Code, Target, Message }],
})

/** A body that is right. */
export const COMPANY = '{"Name": "Blue Moon", "Enabled": true}'
