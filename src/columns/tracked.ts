import type { Entity } from '../model/entity.ts'
import { withDeadline } from '../os/deadline.ts'
import type { TableCopy } from './tableCopy.ts'

/** What a copy costs to make, the worker's and PostgreSQL's part together: at once, and for each row. */
const LOAD_MS = 25
const LOAD_MS_OF_ROW = 0.0024
/** Refreshes take at most one part in so many of the time, beyond so much that a pause saves up. */
const REFRESH_SHARE = 20
const REFRESH_MS_SAVED = 3_000
/** After so many refreshes in a row that no list could use, there is a pause. */
const VAIN_MAX = 3
const VAIN_PAUSE_MS = 30_000
/** A list waits so long for a refresh at least, and so long for any reading at most. */
const REFRESH_AWAITED_MS = 500
const AWAITED_MS_MAX = 5_000
/** Of what lists cost the database, the last one counts for so much. */
const COST_SHARE = 1 / 4
/** In this time the number of lists that were asked for counts half. */
const HALF_LIFE_MS = 60_000

/** One table, and what is known of it. */
export interface Tracked {
  readonly entity: Entity
  copy: TableCopy | null
  /** What is being read, and from when on; null: nothing. */
  reading: { readonly done: Promise<void>; readonly fromMs: number } | null
  /** The last reading has failed. */
  hasFailed: boolean
  /** What its lists have cost while there was no copy. */
  spentMs: number
  /** What one list has cost the database of late. */
  costMs: number
  /** What a copy would cost, as far as the size of the table is known. */
  priceMs: number
  /** No reading before. */
  notBeforeMs: number
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
  const nothing = { copy: null, reading: null, hasFailed: false, spentMs: 0, costMs: 0, notBeforeMs: 0 }
  const refreshes = { savedMs: REFRESH_MS_SAVED, savedAtMs: performance.now(), vain: 0 }
  return { entity, ...nothing, priceMs: priceMsOf(0), ...refreshes, isSaid: false, asked: 0, askedMs: 0 }
}

/** What it costs to make a copy of so many rows, an estimate. */
export function priceMsOf(rows: number): number {
  return LOAD_MS + LOAD_MS_OF_ROW * rows
}

/** Whether there is a copy that is not being read anew. */
export function isReady(tracked: Tracked | undefined): boolean {
  return tracked !== undefined && tracked.copy !== null && tracked.reading === null
}

/** Whether there is a copy that is being read anew. */
export function isRefreshing(tracked: Tracked | undefined): boolean {
  return tracked !== undefined && tracked.copy !== null && tracked.reading !== null
}

/** Whether the table may be read now. */
export function mayRead({ reading, notBeforeMs }: Tracked): boolean {
  return reading === null && performance.now() >= notBeforeMs
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

/** The database has found a list, which took so long. */
export function noteListCost(tracked: Tracked, ms: number): void {
  tracked.costMs += (ms - tracked.costMs) * COST_SHARE
}

/**
 * Resolves when what is being read has been, or takes longer than lists would by the database; null: it is not worth a wait.
 * A list that does not wait makes the reading longer, and the lists beside it. Behind one that has failed the next may fail, too.
 */
export function readingOf({ reading, copy, costMs, priceMs, hasFailed }: Tracked): Promise<unknown> | null {
  if (reading === null || hasFailed) return null
  const awaitedMs = Math.min(AWAITED_MS_MAX, Math.max(copy === null ? 0 : REFRESH_AWAITED_MS, 2 * costMs))
  const leftMs = reading.fromMs + awaitedMs - performance.now()
  if (leftMs <= 0 || (copy === null && priceMs > awaitedMs)) return null
  return withDeadline(reading.done, leftMs, () => undefined)
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
