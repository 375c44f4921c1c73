export interface BackOff {
  /** After the first failure. */
  readonly firstMs: number
  readonly mostMs: number
  /** How long deliveries of a hook may fail before it is parked. */
  readonly parkMs: number
}

export const BACK_OFF: BackOff = { firstMs: 5_000, mostMs: 15 * 60_000, parkMs: 3 * 24 * 3_600_000 }

/** How long to wait after so many failures: twice as long each time, and of that between half and all. `random`: 0 to 1. */
export function pauseAfter(attempts: number, { firstMs, mostMs }: BackOff, random: number): number {
  const fullMs = Math.min(firstMs * 2 ** Math.min(attempts - 1, 30), mostMs)
  return Math.round(fullMs * (0.5 + random / 2))
}
