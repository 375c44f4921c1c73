import type { ChangeSubscriber } from '../changes/subscriber.ts'
import type { Log } from '../log.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Filter, ListQuery } from '../model/query.ts'
import type { ClusteredRows } from './clusteredRows.ts'
import type { ClusterOptions } from './clusters.ts'
import type { Reader } from './collation.ts'
import { ColumnTable } from './columnTable.ts'
import { readLine } from './copyText.ts'
import type { FoundPage } from './foundPage.ts'
import type { Kernel } from './kernel.ts'
import { OrderedTexts } from './orderedTexts.ts'
import type { Slices } from './slices.ts'
import type { Moment, TableReader } from './tableReader.ts'

export interface Sources {
  readonly subscriber: ChangeSubscriber
  readonly reader: TableReader
  /** Says how texts lie in their order. */
  readonly database: Reader
  /** What lists take of the process's time. */
  readonly slices: Slices
  /** Bytes that may be taken still, of the kernel's memory and of the program's own. */
  readonly room: () => number
  readonly log: Log
  readonly clusters?: ClusterOptions
  /** A change that waits so long for the one before it waits in vain; default: ten seconds. */
  readonly waitMs?: number
}

/** Slots that are taken over between two looks at the time. */
const CLUSTER_SLOTS = 256
const CLUSTER_SLICE_MS = 3
const CLUSTER_PAUSE_MS = 9
/** No generation of a subscriber. */
const LOST = -1
/** Longer than any write is on its way of which servers know: they end it, or all start anew. */
const WAIT_MS = 10_000

/**
 * A table in columns, and as of what it is so: it includes all changes of the table before number `next` of the log, and
 * those that its snapshot sees, which are never taken in again.
 */
export class TableCopy {
  /** When its rows were read, or last refreshed. */
  readMs = performance.now()
  private generation = LOST
  private next = 0
  private isClustering = false
  private readonly texts: OrderedTexts

  private constructor(
    private readonly entity: Entity,
    readonly table: ColumnTable,
    private moment: Moment,
    private readonly sources: Sources,
  ) {
    this.texts = new OrderedTexts(entity, table, sources.database)
  }

  /** Reads the table. @throws KernelFull, and what the driver throws */
  static async load(entity: Entity, kernel: Kernel, sources: Sources): Promise<TableCopy> {
    const { subscriber, reader } = sources
    // The log's end before the rows: a change before it is in their snapshot, and of each later one that snapshot says so.
    const end = endOf(subscriber, entity)
    const table = new ColumnTable(entity, kernel, sources.clusters)
    try {
      const moment = await reader.all(entity, (bytes, from, to) => table.addLine(bytes, from, to))
      return Object.assign(new TableCopy(entity, table, moment, sources), end)
    } catch (error) {
      table.release()
      throw error
    }
  }

  /** What the rows were read under: of changes from number `next` on it says which they include. */
  get snapshot(): Moment['snapshot'] {
    return this.moment.snapshot
  }

  /** Whether it is as of these of the log. */
  isAsOf(generation: number, next: number): boolean {
    return this.generation === generation && this.next === next
  }

  /** How many rows match, by the codes and what waits; null: these cannot tell. */
  count(filters: readonly Filter[]): number | null {
    const startMs = performance.now()
    const total = this.table.count(filters, this.texts.boundsOf(filters))
    this.sources.slices.note(performance.now() - startMs)
    if (!this.isClustering) this.clusterIfDue()
    return total
  }

  /** The rows of a page, in the order of the sorts; null: codes cannot tell, or changes wait. */
  page({ filters, sorts, page, pageSize }: ListQuery): FoundPage | null {
    // Meanwhile it may have been given back, or be read anew.
    if (this.generation === LOST) return null
    const startMs = performance.now()
    this.texts.useFor(sorts)
    const found = this.table.page(filters, sorts, (page - 1) * pageSize, pageSize, this.texts.boundsOf(filters))
    this.sources.slices.note(performance.now() - startMs)
    return found
  }

  /** Once lists have cost more than that, the rows are laid beside each other by a property of which they ask for ranges. */
  private clusterIfDue() {
    const { clusters } = this.table
    const { due } = clusters
    if (due === null || clusters.nextBytes > this.sources.room()) return
    this.isClustering = true
    this.cluster(clusters.begin(due)).finally(() => (this.isClustering = false))
  }

  /** In slices, since this is the only thread of the process. */
  private async cluster(rows: ClusteredRows) {
    const startMs = performance.now()
    for (let isLeft = true; isLeft; await Bun.sleep(CLUSTER_PAUSE_MS)) {
      const endMs = performance.now() + CLUSTER_SLICE_MS
      while (isLeft && performance.now() < endMs) isLeft = this.table.takeOver(rows, CLUSTER_SLOTS)
    }
    if (!rows.isWhole) return
    const { table, properties } = this.entity
    this.sources.log.info('a table in columns lies by a property, too', {
      table,
      property: (properties[rows.place] as Property).name,
      mb: Math.ceil(rows.bytes / 2 ** 20),
      ms: Math.round(performance.now() - startMs),
    })
  }

  /** Asks PostgreSQL how the texts lie that a list compares or sorts; null: that is known. */
  orderTexts(query: ListQuery): Promise<void> | null {
    return this.texts.prepare(query)
  }

  /** Gives its memory back; from then on it finds nothing. */
  release(): void {
    this.generation = LOST
    this.table.release()
  }

  /** Takes in what the subscriber has taken in. False: some of it is not known, and the copy must be refreshed. */
  catchUp(subscriber: ChangeSubscriber): boolean {
    if (this.generation !== subscriber.generation) return false
    const changes = subscriber.since(this.entity.table, this.next)
    if (changes === null) return false
    if (changes.length > 0) {
      this.next += changes.length
      this.table.take(changes.filter(({ transaction }) => !this.snapshot.sees(transaction)))
    }
    return !this.waitsInVain
  }

  /** Whether a change was heard of without the one before it, which was made in silence: what else there was is not known. */
  private get waitsInVain(): boolean {
    const { waitsSinceMs } = this.table
    return waitsSinceMs !== null && performance.now() - waitsSinceMs > (this.sources.waitMs ?? WAIT_MS)
  }

  /**
   * Reads what has changed since its snapshot. False: that cannot be known, or rows were deleted meanwhile, and the copy is of
   * no use any more. Where it throws, the copy is lost, and the next refresh reads the same again.
   */
  async refresh(subscriber: ChangeSubscriber, reader: TableReader): Promise<boolean> {
    const { table, entity } = this
    if (this.waitsInVain)
      this.sources.log.warn('a change of a table does not fit those heard of before: its rows are read again', {
        table: entity.table,
      })
    this.generation = LOST
    const end = endOf(subscriber, entity)
    table.forgetWaiting()
    const read = await reader.since(entity, this.moment, (bytes, from, to) => table.put(readLine(bytes, from, to)))
    // Each row that is there is among those read, or as it was: so there can only be rows too many here.
    if (read === null || read.rows !== table.rows) return false
    this.moment = read.moment
    this.readMs = performance.now()
    Object.assign(this, end)
    return true
  }
}

function endOf(subscriber: ChangeSubscriber, { table }: Entity): { generation: number; next: number } {
  subscriber.catchUp()
  return { generation: subscriber.generation, next: subscriber.next(table) }
}
