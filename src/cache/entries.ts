import type { Change } from '../changes/publishing.ts'
import type { Snapshot } from '../changes/snapshot.ts'
import type { Note, Positions } from './positionIndex.ts'
import type { Selection } from './selection.ts'

/** True as of change number `next` of its table, but for those that the snapshot has seen already. */
export interface Known {
  readonly selection: Selection
  readonly generation: number
  next: number
  readonly snapshot: Snapshot | null
}

export interface Total extends Known {
  total: number
  readonly snapshot: Snapshot
}

export interface Noted extends Known {
  readonly snapshot: Snapshot
  readonly positions: Positions
  readonly bytes: number
  /** Pages that were found by them. */
  served: number
}

export interface Page<T> extends Known {
  readonly content: T
  readonly bytes: number
}

/** What is known of a selection before the database is asked. */
export interface Look {
  readonly selection: Selection
  readonly generation: number
  readonly next: number
  /** Null: not known. */
  readonly total: number | null
  /** Under which the total was counted. */
  readonly counted: Snapshot | null
}

/** What an answer has seen: its snapshot, and the total of the selection under that very snapshot. */
export interface Sight {
  readonly snapshot: Snapshot
  readonly total: number
  /** Changes since the look that the answer has seen. */
  readonly seen: readonly Change[]
}

/** A noted position, as of a look. */
export interface Place extends Note {
  /** Under which it was learnt. */
  readonly snapshot: Snapshot
}
