import { ApiError } from '../../src/errors.ts'

export interface Refusal {
  /** Code and target: `InvalidSort sort`. */
  readonly outcome: string
  readonly message: string
  readonly details: ApiError['details']
}

/** Returns how a request is refused by the parser that `parse` calls. @throws Error if it is accepted, or fails otherwise */
export function refusalOf(parse: () => unknown): Refusal {
  let accepted: unknown
  try {
    accepted = parse()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code, target, message, details } = error
    return { outcome: `${code} ${target}`, message, details }
  }
  throw new Error(`it was accepted: ${JSON.stringify(accepted)}`)
}
