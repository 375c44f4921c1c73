import type { CacheParts } from '../cache/cacheParts.ts'
import { ListCache } from '../cache/listCache.ts'
import { Inclusion } from '../changes/inclusion.ts'
import { FlagReader, FlagWriter } from '../changes/inFlight.ts'
import { ChangeLogReader, ChangeLogWriter } from '../changes/log.ts'
import type { ChangeLogAccess } from '../changes/owner.ts'
import { ChangePublisher } from '../changes/publisher.ts'
import { InFlightWrites } from '../changes/settling.ts'
import { ChangeSubscriber } from '../changes/subscriber.ts'
import { ColumnStore } from '../columns/columnStore.ts'
import { TableReader } from '../columns/tableReader.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../execute/database.ts'
import type { Log } from '../log.ts'
import type { Region } from '../os/region.ts'

/** Others that write thousands of rows a second fill a ring in more than this time. */
const KEEP_UP_MS = 250

interface Sources {
  /** For whole tables; not of a pooler. */
  readonly databaseUrl: string
  readonly database: Database
  readonly changes: ChangeLogAccess
  /** Where the change log lies. */
  readonly region: Region
  readonly log: Log
}

/** What a worker keeps of lists, and of tables in columns. */
export function openMemory({ listCacheMb, columnsMb }: Config, sources: Sources): CacheParts {
  const { region, changes, database, log } = sources
  const bytes = listCacheMb * 2 ** 20
  const bytesMax = columnsMb * 2 ** 20
  const subscriber = new ChangeSubscriber(new ChangeLogReader(region), bytes / 8)
  setInterval(() => subscriber.keepUp(), KEEP_UP_MS).unref()
  const inFlight = new InFlightWrites(new FlagReader(region), subscriber)
  const reader = new TableReader(sources.databaseUrl)
  const columns = bytesMax === 0 ? null : new ColumnStore({ subscriber, reader, database, bytesMax, log })
  return {
    cache: new ListCache(subscriber, inFlight, bytes, columns),
    columns,
    inFlight,
    inclusion: new Inclusion(subscriber, region),
    publisher: new ChangePublisher(new ChangeLogWriter(region, changes.ring), region),
    flags: new FlagWriter(region, changes.ring),
  }
}
