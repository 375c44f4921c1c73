import type { Watch } from '../../src/model/sql.ts'

/** A watch that hears of the outcome alone. */
export function watching(settle: Watch['settle']): Watch {
  return { identify: () => undefined, settle }
}
