import type { RosterError } from '../../src/client/error.ts'

/** Returns the error of a call. @throws Error if the call succeeds */
export function failureOf(call: Promise<unknown>): Promise<RosterError> {
  return call.then(
    () => Promise.reject(new Error('it did not fail')),
    (error) => error,
  )
}
