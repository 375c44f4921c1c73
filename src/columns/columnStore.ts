import type { Entity } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import { Arrivals } from './arrivals.ts'
import { Kernel, KernelFull } from './kernel.ts'
import { Slices } from './slices.ts'
import { type Sources, TableCopy } from './tableCopy.ts'
import * as tracking from './tracked.ts'
import { mayRead, type Tracked } from './tracked.ts'

/** An estimate: a row of a table that was never analyzed, in bytes of the table's file. */
const ROW_BYTES = 100
const CODE_BYTES = 4
const RETRY_MS = 60_000

export interface ColumnStoreOptions extends Omit<Sources, 'slices' | 'room'> {
  /** For the copies of all tables together. */
  readonly bytesMax: number
  /** What failed, or did not fit, is tried again after this time; default: a minute. */
  readonly retryMs?: number
}

/**
 * Copies of tables in columns, for totals and pages of lists that were not asked for before. A copy is made once counting
 * without it has cost more than making it would, in the background; one that has lost track of its table is refreshed by
 * the rows that have changed. Where the memory does not do for all tables, those have one that are asked for most.
 */
export class ColumnStore {
  private readonly tables = new Map<string, Tracked>()
  private readonly kernel: Kernel
  private readonly slices = new Slices()
  private readonly arrivals = new Arrivals()
  private isEnded = false
  private readonly retryMs: number

  constructor(private readonly options: ColumnStoreOptions) {
    this.retryMs = options.retryMs ?? RETRY_MS
    this.kernel = new Kernel(options.bytesMax)
    options.subscriber.onForget = (table) => this.keepUp(table)
  }

  /** Of all copies together. */
  get bytes(): number {
    return [...this.tables.values()].reduce((sum, { copy }) => sum + (copy?.table.bytes ?? 0), 0)
  }

  /** What there is of copies; the age is that of the oldest. */
  get use(): { tables: number; bytes: number; ageMs: number } {
    const copies = [...this.tables.values()].flatMap(({ copy }) => copy ?? [])
    const ageMs = copies.length === 0 ? 0 : performance.now() - Math.min(...copies.map(({ readMs }) => readMs))
    return { tables: copies.length, bytes: this.bytes, ageMs }
  }

  /** Whether there is a copy of the entity's table that is not being read anew. */
  has({ table }: Entity): boolean {
    return tracking.isReady(this.tables.get(table))
  }

  /** Whether the copy of the entity's table is being read anew. */
  isRefreshing({ table }: Entity): boolean {
    return tracking.isRefreshing(this.tables.get(table))
  }

  /** The copy of the entity's table, as of the last `catchUp` of the subscriber; null: there is none. */
  current(entity: Entity): TableCopy | null {
    const tracked = this.tables.get(entity.table)
    if (tracked === undefined || tracked.copy === null) return null
    tracking.noteAsked(tracked)
    if (tracked.reading !== null) return null
    const isCurrent = this.catchUp(tracked, tracked.copy)
    if (isCurrent) tracked.vain = 0
    else if (mayRead(tracked)) this.read(tracked, () => this.refresh(tracked))
    return isCurrent ? tracked.copy : null
  }

  /**
   * What a list has to wait for: a reading of its table, or how the texts lie that it compares or sorts, or, false, those lists that
   * have arrived with it; null: nothing.
   */
  prepare(entity: Entity, query: ListQuery): Promise<boolean> | null {
    const tracked = this.tables.get(entity.table)
    if (tracked === undefined) return null
    if (tracked.reading !== null) {
      // While that goes on the list comes from the database: it has nothing else to wait for.
      const prepareNow = () => (tracked.reading === null ? this.prepare(entity, query) : null)
      const hasWaited = () => true
      return tracking.readingOf(tracked)?.then(prepareNow).then(hasWaited) ?? null
    }
    if (tracked.copy === null) return null
    return tracked.copy.orderTexts(query)?.then(() => true) ?? this.arrivals.next()
  }

  /** What a list of this asker has to wait for before it is looked for; null: nothing. @throws ApiError 503, after 5 seconds */
  turn(entity: Entity, asker: string): Promise<void> | null {
    return this.has(entity) ? this.slices.next(asker) : null
  }

  /** Notes that the database has found a list of the entity, which took so long. */
  noteCost(entity: Entity, ms: number): void {
    const tracked = this.track(entity)
    tracking.noteListCost(tracked, ms)
    if (tracked.copy !== null) return
    tracking.noteAsked(tracked)
    tracked.spentMs += ms
    if (tracked.spentMs > tracked.priceMs && mayRead(tracked)) this.read(tracked, () => this.load(tracked))
  }

  /** Makes a copy of each of these now, one after the other. */
  async loadAll(entities: readonly Entity[]): Promise<void> {
    for (const entity of entities) {
      const tracked = this.track(entity)
      tracked.spentMs = Number.POSITIVE_INFINITY
      if (tracked.reading === null) await this.read(tracked, () => this.load(tracked))
    }
  }

  /** Ends what is being read. */
  async end(): Promise<void> {
    this.isEnded = true
    await this.options.reader.end()
  }

  private track(entity: Entity): Tracked {
    let tracked = this.tables.get(entity.table)
    if (tracked === undefined) {
      tracked = tracking.trackedOf(entity)
      this.tables.set(entity.table, tracked)
    }
    return tracked
  }

  private keepUp(table: string) {
    const tracked = this.tables.get(table)
    if (!tracked?.copy || tracked.reading !== null || !this.catchUp(tracked, tracked.copy)) return
    // Texts grow with changes, and are not in the kernel's memory. A copy that is loaded anew has those of now alone.
    if (this.bytes > this.options.bytesMax) this.giveUpClusters()
    if (this.bytes <= this.options.bytesMax) return
    this.giveUp(tracked)
    tracked.notBeforeMs = performance.now() + this.retryMs
  }

  /** False: the copy has lost track, or has grown beyond the memory there is. */
  private catchUp(tracked: Tracked, copy: TableCopy): boolean {
    try {
      return copy.catchUp(this.options.subscriber)
    } catch (error) {
      if (!(error instanceof KernelFull)) throw error
      this.giveUp(tracked)
      this.noteFull(tracked)
      return false
    }
  }

  private async read(tracked: Tracked, work: () => Promise<void>) {
    const { promise: done, resolve } = Promise.withResolvers<void>()
    tracked.reading = { done, fromMs: performance.now() }
    try {
      await work()
      tracked.hasFailed = false
    } catch (error) {
      tracked.hasFailed = true
      tracked.notBeforeMs = performance.now() + this.retryMs
      if (error instanceof KernelFull) this.noteFull(tracked)
      else if (!this.isEnded)
        this.options.log.warn('a table cannot be read into columns', {
          table: tracked.entity.table,
          error: String(error),
        })
    } finally {
      tracked.reading = null
      resolve()
    }
  }

  private async load(tracked: Tracked) {
    const { entity } = tracked
    const { reader, bytesMax, log } = this.options
    const size = await reader.size(entity)
    const rows = size.rows ?? size.bytes / ROW_BYTES
    tracked.priceMs = tracking.priceMsOf(rows)
    if (tracked.spentMs < tracked.priceMs) return
    const bytes = rows * (entity.properties.length * CODE_BYTES + 1 / 8)
    if (bytes > bytesMax) throw new KernelFull()
    if (bytes > bytesMax - this.bytes) this.giveUpClusters()
    const startMs = performance.now()
    const copy = await TableCopy.load(entity, this.kernel, {
      ...this.options,
      slices: this.slices,
      room: () => bytesMax - this.bytes,
    })
    if (this.bytes + copy.table.bytes > bytesMax) {
      copy.release()
      throw new KernelFull('texts take too much')
    }
    tracked.copy?.release()
    tracked.copy = copy
    tracked.spentMs = 0
    tracked.isSaid = false
    log.info('a table is in columns', {
      table: entity.table,
      rows: copy.table.rows,
      mb: Math.ceil(copy.table.bytes / 2 ** 20),
      ms: Math.round(performance.now() - startMs),
    })
  }

  private async refresh(tracked: Tracked) {
    const { subscriber, reader } = this.options
    const copy = tracked.copy as TableCopy
    const startMs = performance.now()
    try {
      if (!(await copy.refresh(subscriber, reader))) this.giveUp(tracked)
    } catch (error) {
      if (error instanceof KernelFull) this.giveUp(tracked)
      throw error
    } finally {
      tracking.noteRefresh(tracked, startMs)
    }
    // What cannot be refreshed is worth loading: lists have asked for it.
    if (tracked.copy === null) tracked.spentMs = Number.POSITIVE_INFINITY
  }

  /** What only makes lists quicker gives way to what they need. */
  private giveUpClusters() {
    for (const { copy } of this.tables.values()) copy?.table.giveUpClusters()
  }

  private giveUp(tracked: Tracked) {
    tracked.copy?.release()
    tracked.copy = null
    tracked.spentMs = 0
  }

  /** Its memory goes to this table where another is asked for much less. */
  private noteFull(tracked: Tracked) {
    const { log, bytesMax } = this.options
    const others = [...this.tables.values()].filter((other) => other !== tracked && tracking.isReady(other))
    const [least] = others.sort((one, other) => tracking.askedOf(one) - tracking.askedOf(other))
    tracked.notBeforeMs = performance.now() + this.retryMs
    if (least && 2 * tracking.askedOf(least) < tracking.askedOf(tracked)) {
      this.giveUp(least)
      least.notBeforeMs = tracked.notBeforeMs
      tracked.notBeforeMs = 0
      return
    }
    if (tracked.isSaid) return
    tracked.isSaid = true
    const { table } = tracked.entity
    log.info('COLUMNS_MB is too little for a table: the database counts its lists', { table, mb: bytesMax / 2 ** 20 })
  }
}
