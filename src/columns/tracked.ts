import type { Entity } from '../model/entity.ts'
import type { TableCopy } from './tableCopy.ts'

/** Refreshes take at most one part in so many of the time, beyond so much that a pause saves up. */
const REFRESH_SHARE = 20
const REFRESH_MS_SAVED = 3_000
/** After so many refreshes in a row that no list could use, there is a pause. */
const VAIN_MAX = 3
const VAIN_PAUSE_MS = 30_000
/** In this time the number of lists that were asked for counts half. */
const HALF_LIFE_MS = 60_000

/** One table, and what is known of it. */
export interface Tracked {
  readonly entity: Entity
  copy: TableCopy | null
  isReading: boolean
  /** What its lists have cost while there was no copy. */
  spentMs: number
  /** What a copy would cost; null: not known yet. */
  priceMs: number | null
  /** No reading before. */
  notBeforeMs: number
  /** While a refresh is under way, and not for long: resolves when it has ended, or need not be waited for. */
  refreshing: Promise<unknown> | null
  /** How long refreshes may take without a pause, as of `savedAtMs`. */
  savedMs: number
  savedAtMs: number
  /** Refreshes in a row that no list has used. */
  vain: number
  /** Whether it was said that there is no room for it. */
  isSaid: boolean
  /** How many lists were asked for of late, as of `askedMs`. */
  asked: number
  askedMs: number
}

/** Nothing is known yet. */
export function trackedOf(entity: Entity): Tracked {
  const nothing = { copy: null, isReading: false, spentMs: 0, priceMs: null, notBeforeMs: 0 }
  const refreshes = { refreshing: null, savedMs: REFRESH_MS_SAVED, savedAtMs: performance.now(), vain: 0 }
  return { entity, ...nothing, ...refreshes, isSaid: false, asked: 0, askedMs: 0 }
}

/** Whether the table may be read now. */
export function mayRead({ isReading, notBeforeMs }: Tracked): boolean {
  return !isReading && performance.now() >= notBeforeMs
}

/** A list was asked for. */
export function noteAsked(tracked: Tracked): void {
  tracked.asked = askedOf(tracked) + 1
  tracked.askedMs = performance.now()
}

/** How many lists were asked for of late. */
export function askedOf({ asked, askedMs }: Tracked): number {
  return asked * 0.5 ** ((performance.now() - askedMs) / HALF_LIFE_MS)
}

/** A refresh that began at `startMs` has ended: says when the next one may begin. */
export function noteRefresh(tracked: Tracked, startMs: number): void {
  const endMs = performance.now()
  const isVain = ++tracked.vain >= VAIN_MAX
  const saved = Math.min(REFRESH_MS_SAVED, tracked.savedMs + (startMs - tracked.savedAtMs) / REFRESH_SHARE)
  tracked.savedMs = saved - (endMs - startMs)
  tracked.savedAtMs = endMs
  tracked.notBeforeMs = endMs + Math.max(-REFRESH_SHARE * tracked.savedMs, isVain ? VAIN_PAUSE_MS : 0)
}
