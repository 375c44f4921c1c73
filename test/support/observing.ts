import type { WriteObserver } from '../../src/execute/work.ts'

/** An observer of the outcome alone. */
export function observing(settle: WriteObserver['settle']): WriteObserver {
  return { identify: () => undefined, settle }
}
