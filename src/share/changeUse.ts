import { monotonicMs } from './clock.ts'
import { OWN_WORD, type Region } from './region.ts'

const { load, store } = Atomics

/** When a process of this machine last asked for what is heard, or wrote; to a quarter of a second. */
const USED = OWN_WORD + 7
const USED_STEP_MS = 250
const TIME = 0x7fffffff

/** Says that what is heard matters at the moment. */
export function noteUse({ words }: Region, nowMs: number = monotonicMs()): void {
  // Hardly ever stored: all processes read the words beside it with each list.
  if (((nowMs - load(words, USED)) & TIME) >= USED_STEP_MS) store(words, USED, nowMs & TIME)
}

/** Whether a process has said so within the last `withinMs`. */
export function wasUsed({ words }: Region, withinMs: number): boolean {
  return ((monotonicMs() - load(words, USED)) & TIME) < withinMs
}
