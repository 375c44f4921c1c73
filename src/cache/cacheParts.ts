import type { Inclusion } from '../changes/inclusion.ts'
import type { FlagWriter } from '../changes/inFlight.ts'
import type { ChangePublisher } from '../changes/publisher.ts'
import type { InFlightWrites } from '../changes/settling.ts'
import type { ColumnStore } from '../columns/columnStore.ts'
import type { Reply } from '../respond/reply.ts'
import type { ListCache } from './listCache.ts'

/** The parts of a worker's list cache, which all its entities share. */
export interface CacheParts {
  readonly cache: ListCache<Reply>
  /** Null: tables are not kept in columns. */
  readonly columns: ColumnStore | null
  readonly publisher: ChangePublisher
  readonly flags: FlagWriter
  readonly inFlight: InFlightWrites
  readonly inclusion: Inclusion
}
