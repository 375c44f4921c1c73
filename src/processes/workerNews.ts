import type { Log } from '../log.ts'
import type { ToWorker } from './messages.ts'
import type { Worker } from './worker.ts'

/**
 * Hands on what a worker is to know: keys, or that the database has come. Waits for its start; where that fails, its caller reports it.
 * A fault of the database's tables ends the process, as it would have ended the start.
 */
export async function takeNews(
  worker: Promise<Worker> | undefined,
  message: ToWorker & { kind: 'keys' | 'begin' },
  log: Log | undefined,
): Promise<void> {
  const running = await worker?.catch(() => null)
  try {
    running?.replaceKeys(message.keys, message.tables)
  } catch (error) {
    log?.error('a rate limit table of a key cannot be opened: RATE_LIMITS apply to keys without one', {
      error: String(error),
    })
  }
  if (message.kind === 'begin') await running?.begin(message.cursorSecret)
}
