import { monotonicMs } from '../os/clock.ts'
import { OWN_WORD, type Region } from '../os/region.ts'

const { load, store } = Atomics

/** When a process of this machine last needed the change log, or wrote; to a quarter of a second. */
const USED = OWN_WORD + 7
const USED_STEP_MS = 250
/** Between a process's look at the clock and at the word another may have stored a later time. */
const AHEAD_MS_MAX = 1_000
const TIME = 0x7fffffff
/** Short of the time after which the listener may rest, so that no use falls between the two. */
const RESTED_MS = 750

const wakers = new WeakMap<Region, () => void>()

/** Calls `wake` when this process is the first to need the log after a rest. */
export function onWake(region: Region, wake: () => void): void {
  wakers.set(region, wake)
}

/** Notes that this process needs the change log at the moment. */
export function noteUse(region: Region, nowMs: number = monotonicMs()): void {
  const restMs = sinceMs(load(region.words, USED), nowMs)
  // Hardly ever stored: all processes read the words beside it with each list.
  if (restMs < USED_STEP_MS) return
  store(region.words, USED, nowMs & TIME)
  if (restMs >= RESTED_MS) wakers.get(region)?.()
}

/** Whether a process has needed the log within the last `withinMs`. */
export function wasUsed({ words }: Region, withinMs: number): boolean {
  return sinceMs(load(words, USED), monotonicMs()) < withinMs
}

function sinceMs(usedMs: number, nowMs: number): number {
  const ms = (nowMs - usedMs) & TIME
  return ms > TIME - AHEAD_MS_MAX ? 0 : ms
}
