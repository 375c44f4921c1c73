import type { KeyRecord } from '../model/key.ts'
import { monotonicMs } from '../os/clock.ts'
import type { KeyStore } from './store.ts'

export interface KeyWatch {
  /** Resolves when `onChange` has had the keys for the first time, or the watch has been stopped. */
  readonly first: Promise<void>
  /** From now on nothing is called. */
  stop(): void
}

interface Options {
  /** Between the end of one look and the next. */
  everyMs?: number
  /** All keys are read that often, whatever the version says: somebody may have changed the table by hand. */
  reloadEveryMs?: number
  /** Has all valid keys, after each change of any. What it throws is a failed look: the same keys come again with the next one. */
  onChange(keys: readonly KeyRecord[]): void
  /** After each look that worked: what `onChange` had last is how the keys were at `ms` of the monotonic clock. */
  onNews?(ms: number): void
  /** Once when looks begin to fail; they go on, and meanwhile the keys stay as they were. */
  onError(error: unknown): void
}

const DEADLINE_MS = 500
/** A database that is merely slow must be given the time, or its revocations would never be seen. */
const DEADLINE_MS_MAX = 5_000

/** Follows the keys in the database: a change, also by the passing of time, is seen at the next look. */
export function watchKeys(store: KeyStore, options: Options): KeyWatch {
  const { everyMs = 500, reloadEveryMs = 60_000, onChange, onNews, onError } = options
  const { promise: first, resolve: tellFirst } = Promise.withResolvers<void>()
  let isStopped = false
  let wake = () => {}
  let failures = 0
  let seen: Seen = { version: '', keys: '', loadedMs: Number.NEGATIVE_INFINITY }

  async function look() {
    const deadlineMs = Math.min(DEADLINE_MS * 2 ** failures, DEADLINE_MS_MAX)
    const newsMs = monotonicMs()
    // Before the keys: what changes in between is read twice, never missed.
    const version = await store.version(deadlineMs)
    const nowMs = performance.now()
    if (version === seen.version && nowMs - seen.loadedMs < reloadEveryMs) return tellNews(newsMs)
    const keys = await store.current(deadlineMs)
    const text = JSON.stringify(keys)
    if (isStopped) return
    // Also when they are the same as before: a key that came and went between two looks may have been met by a worker.
    if (text !== seen.keys || version !== seen.version) onChange(keys)
    seen = { version, keys: text, loadedMs: nowMs }
    tellNews(newsMs)
    tellFirst()
  }

  function tellNews(ms: number) {
    if (!isStopped) onNews?.(ms)
  }

  async function lookOn() {
    while (!isStopped) {
      try {
        await look()
        failures = 0
      } catch (error) {
        if (!isStopped && failures++ === 0) onError(error)
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, isStopped ? 0 : everyMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  lookOn()
  return {
    first,
    stop() {
      isStopped = true
      wake()
      tellFirst()
    },
  }
}

/** Version and keys, as texts to compare, of the last look that worked. */
interface Seen {
  readonly version: string
  readonly keys: string
  readonly loadedMs: number
}
