import type { RosterError } from '../../src/client/error.ts'

/** The error that a call of the client ends with. @throws Error where it does not fail */
export function failureOf(call: Promise<unknown>): Promise<RosterError> {
  return call.then(
    () => Promise.reject(new Error('it did not fail')),
    (error) => error,
  )
}
