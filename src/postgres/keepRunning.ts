import type { EmbeddedPostgres } from './embedded.ts'

interface Events {
  /** PostgreSQL has ended, `log` says why, and is started again after `pauseMs`. */
  onEnd(log: string, pauseMs: number): void
  onBack(): void
  /** PostgreSQL has ended too often and is not started again. */
  onFailure(log: string): void
}

/** Restarts in a row; one that has run for `STEADY_MS` begins another row. */
const RESTARTS_MAX = 5
const STEADY_MS = 60_000
/** The pause before the second restart; each one after it is twice as long. */
const PAUSE_MS = 100

/** Starts PostgreSQL again each time it ends by itself, until it ends too often. */
export async function keepRunning(postgres: EmbeddedPostgres, events: Events): Promise<void> {
  let restarts = 0
  let startedMs = Number.NEGATIVE_INFINITY
  for (let log = await postgres.failed; ; ) {
    if (performance.now() - startedMs > STEADY_MS) restarts = 0
    if (restarts === RESTARTS_MAX) return events.onFailure(log)
    const pauseMs = restarts === 0 ? 0 : PAUSE_MS * 2 ** (restarts - 1)
    restarts++
    events.onEnd(log, pauseMs)
    await Bun.sleep(pauseMs)
    const fault = await postgres.restart().then(nothing, String)
    startedMs = performance.now()
    if (fault === null) events.onBack()
    log = fault ?? (await postgres.failed)
  }
}

const nothing = () => null
