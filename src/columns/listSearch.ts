import type { Log } from '../log.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import type { ClusteredRows } from './clusteredRows.ts'
import type { Reader } from './collation.ts'
import type { ColumnTable } from './columnTable.ts'
import type { FoundPage } from './foundPage.ts'
import { OrderedTexts } from './orderedTexts.ts'
import type { Slices } from './slices.ts'

export interface SearchParts {
  /** Says how texts lie in their order. */
  readonly database: Reader
  /** What lists take of the process's time. */
  readonly slices: Slices
  /** Bytes that may be taken still, of the kernel's memory and of the program's own. */
  readonly room: () => number
  readonly log: Log
}

/** Slots that are taken over between two looks at the time. */
const CLUSTER_SLOTS = 256
const CLUSTER_SLICE_MS = 3
const CLUSTER_PAUSE_MS = 9

/** Totals and pages of lists from the columns of a table. */
export class ListSearch {
  private isClustering = false
  private readonly texts: OrderedTexts

  constructor(
    private readonly entity: Entity,
    private readonly table: ColumnTable,
    private readonly parts: SearchParts,
  ) {
    this.texts = new OrderedTexts(entity, table, parts.database)
  }

  /** Asks PostgreSQL how the texts lie that a list compares or sorts; null: that is known. */
  prepare(query: ListQuery): Promise<void> | null {
    return this.texts.prepare(query)
  }

  /** The total and the rows of a page, in the order of the sorts; null: codes cannot tell. */
  find({ filters, sorts, page, pageSize, seek }: ListQuery): FoundPage | null {
    const startMs = performance.now()
    this.texts.useFor(sorts)
    const bounds = this.texts.boundsOf(filters)
    const found =
      seek === null
        ? this.table.page(filters, sorts, (page - 1) * pageSize, pageSize, bounds)
        : this.table.pageBeside(filters, sorts, seek, pageSize, bounds)
    this.parts.slices.note(performance.now() - startMs)
    if (!this.isClustering) this.clusterIfDue()
    return found
  }

  /** Once lists have cost more than that, the rows are laid beside each other by a property of which they ask for ranges. */
  private clusterIfDue() {
    const { clusters } = this.table
    const { due } = clusters
    if (due === null || clusters.nextBytes > this.parts.room()) return
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
    this.parts.log.info('a table in memory lies by a property, too', {
      table,
      property: (properties[rows.place] as Property).name,
      mb: Math.ceil(rows.bytes / 2 ** 20),
      ms: Math.round(performance.now() - startMs),
    })
  }
}
