import type { WriteObserver } from '../../src/execute/writeObserver.ts'

/** An observer of the outcome alone. */
export function observing(settle: WriteObserver['settle']): WriteObserver {
  return { identify: () => undefined, settle }
}
