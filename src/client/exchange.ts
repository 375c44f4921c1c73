import { RosterError } from './error.ts'

const TIMER_MS_MAX = 2 ** 31 - 1

/** One request under way. */
export interface Exchange {
  /** For the request: aborted by the caller's signal, by a step that takes too long, and by `close`. */
  readonly signal: AbortSignal
  /** Runs one step of it within the timeout. @throws RosterError, or the reason of the caller's signal */
  step<Got>(lack: string, take: () => Promise<Got>): Promise<Got>
  /** Ends the request where it has not ended. */
  close(): void
}

/** A request that errors call `named`. @throws the signal's reason, where it was aborted before */
export function beginExchange(named: string, timeoutMs: number, signal: AbortSignal | undefined): Exchange {
  signal?.throwIfAborted()
  const ending = new AbortController()
  const close = () => ending.abort()
  // Listens until the exchange has ended.
  signal?.addEventListener('abort', close, { signal: ending.signal })
  return {
    signal: ending.signal,
    close,
    async step(lack, take) {
      const message = `${named} ${lack} within ${timeoutMs} ms`
      const expire = () => ending.abort(new RosterError({ code: 'Timeout', target: 'Api', message }))
      const timer = setTimeout(expire, Math.min(timeoutMs, TIMER_MS_MAX))
      try {
        return await take()
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
  // Node says "fetch failed", and in the cause of that, why.
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const message = `${problem}: ${reason instanceof Error ? reason.message : reason}`
  return new RosterError({ code: 'NetworkFailure', target: 'Api', message, cause })
}

/** Waits; an abort ends the wait at once. */
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
