import type { KeyRecord } from '../model/key.ts'
import { monotonicMs } from '../os/clock.ts'
import type { KeyStore } from './store.ts'

/** Follows the keys until it is stopped. */
export interface KeyWatch {
  /** Resolves after the first `onChange`, or when the watch was stopped. */
  readonly first: Promise<void>
  /** Ends all calls. */
  stop(): void
}

interface Options {
  /** The pause between the end of one round and the next. */
  everyMs?: number
  /** All keys are read this often, whatever the version says: an operator may have changed the table by hand. */
  reloadEveryMs?: number
  /** Gets all valid keys, after each change. Where it throws, the round has failed, and the next one brings the keys again. */
  onChange(keys: readonly KeyRecord[]): void
  /** After each round that worked: at `ms` of the monotonic clock the keys were what `onChange` had last. */
  onNews?(ms: number): void
  /** Called once when rounds begin to fail; they go on, and meanwhile the keys stay as they were. */
  onError(error: unknown): void
}

const DEADLINE_MS = 500
/** The deadline grows up to this: a database that is merely slow has revocations too. */
const DEADLINE_MS_MAX = 5_000

/** Follows the keys in the database: a change, or the expiry of a key, is seen in the next round. */
export function watchKeys(store: KeyStore, options: Options): KeyWatch {
  const { everyMs = 500, reloadEveryMs = 60_000, onChange, onNews, onError } = options
  const { promise: first, resolve: resolveFirst } = Promise.withResolvers<void>()
  let isStopped = false
  let wake = () => {}
  let failures = 0
  let seen: Seen = { version: '', keys: '', loadedMs: Number.NEGATIVE_INFINITY }

  async function readChanges() {
    const deadlineMs = Math.min(DEADLINE_MS * 2 ** failures, DEADLINE_MS_MAX)
    const newsMs = monotonicMs()
    // The version before the keys: a change in between is read twice, never missed.
    const version = await store.version(deadlineMs)
    const nowMs = performance.now()
    if (version === seen.version && nowMs - seen.loadedMs < reloadEveryMs) return reportNews(newsMs)
    const keys = await store.current(deadlineMs)
    const text = JSON.stringify(keys)
    if (isStopped) return
    // Also with equal keys and another version: a worker may have met a key that came and went between two rounds.
    if (text !== seen.keys || version !== seen.version) onChange(keys)
    seen = { version, keys: text, loadedMs: nowMs }
    reportNews(newsMs)
    resolveFirst()
  }

  function reportNews(ms: number) {
    if (!isStopped) onNews?.(ms)
  }

  async function repeat() {
    while (!isStopped) {
      try {
        await readChanges()
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

  repeat()
  return {
    first,
    stop() {
      isStopped = true
      wake()
      resolveFirst()
    },
  }
}

/** Version and keys of the last round that worked, as texts to compare. */
interface Seen {
  readonly version: string
  readonly keys: string
  readonly loadedMs: number
}
