import { RosterError } from './error.ts'

const TIMER_MS_MAX = 2 ** 31 - 1

/** A request in progress. */
export interface Exchange {
  /** Signal of the request: aborted by the caller's signal, by a step that takes too long, and by `close`. */
  readonly signal: AbortSignal
  /**
   * Runs `work` within the timeout. `lack`: words for errors, such as `had no answer`. @throws RosterError, or the reason of the
   * caller's signal
   */
  step<Got>(lack: string, work: () => Promise<Got>): Promise<Got>
  /** Aborts the request if it has not ended. */
  close(): void
}

/** Begins a request. `named`: its name in errors. @throws the signal's reason if it is aborted already */
export function beginExchange(named: string, timeoutMs: number, signal: AbortSignal | undefined): Exchange {
  signal?.throwIfAborted()
  const ending = new AbortController()
  const close = () => ending.abort()
  // The listener is removed when the exchange has ended.
  signal?.addEventListener('abort', close, { signal: ending.signal })
  return {
    signal: ending.signal,
    close,
    async step(lack, work) {
      const message = `${named} ${lack} within ${timeoutMs} ms`
      const expire = () => ending.abort(new RosterError({ code: 'Timeout', target: 'Api', message }))
      const timer = setTimeout(expire, Math.min(timeoutMs, TIMER_MS_MAX))
      try {
        return await work()
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof RosterError) throw error
        if (ending.signal.reason instanceof RosterError) throw ending.signal.reason
        throw networkFailure(`${named} ${lack}`, error)
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

function networkFailure(problem: string, cause: unknown): RosterError {
  // Node throws an error that only says "fetch failed"; the cause of this error says why.
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const message = `${problem}: ${reason instanceof Error ? reason.message : reason}`
  return new RosterError({ code: 'NetworkFailure', target: 'Api', message, cause })
}

/** Waits `ms`; an abort ends the wait at once. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done, fail) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) fail(signal.reason)
      else done()
    }
    const timer = setTimeout(end, Math.min(ms, TIMER_MS_MAX))
    signal?.addEventListener('abort', end)
  })
}
