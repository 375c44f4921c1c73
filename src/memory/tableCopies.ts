// Copies of tables in the memory of a worker: loads them on demand, and evicts idle ones when memory runs out.
import { ColumnTable } from '../columns/columnTable.ts'
import { TextsCollide } from '../columns/dictionary.ts'
import { Kernel, KernelFull } from '../columns/kernel.ts'
import { orderFor } from '../columns/orderDemand.ts'
import { ID } from '../columns/rowStore.ts'
import { Slices } from '../columns/slices.ts'
import { errorOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { FiltersAndSorts } from '../model/query.ts'
import { LoadPauses } from './loadPauses.ts'
import { ResponseCache } from './responseCache.ts'
import { CopyLost, type CopyParts, TableCopy } from './tableCopy.ts'
import { type Begin, NotRecorded, readTable } from './tableReader.ts'

/** Share of the memory for cached responses. */
const RESPONSES_SHARE = 1 / 8
const CODE_BYTES = 4
/** Estimate of how full segments are, and of the id index's bytes for a row. */
const FILL_SHARE = 0.8
const INDEX_BYTES = 6
/** Rows between two checks of the memory during a load, because texts may have any length. */
const CHECKED_ROWS = 1_000
/** Pause after a failed load, or after a table that did not fit. */
const RETRY_MS = 60_000
/** Time without lists after which a copy may be evicted for another table. */
const IDLE_MS = 60_000
/** Interval of refreshes without lists, shorter than the time for which lines of `row_change` are kept. */
const REFRESH_MS = 5_000
/** Time without lists after which a copy is evicted. */
const UNUSED_MS = 600_000
/** Time for which a table that did not fit is not loaded again, unless more memory is free. */
const LARGE_MS = 3_600_000

/** State of one table. */
interface TableEntry {
  readonly entity: Entity
  readonly pauses: LoadPauses
  copy: TableCopy | null
  /** Column that orders the rows of the load that is due or running; null: no load is due. */
  dueOrder: number | null
  /** Lists that PostgreSQL answered because there was no copy. */
  missed: number
  lastUsedMs: number
  /** Earliest time of the next load. */
  notBeforeMs: number
  /** Free bytes that were not enough for the table, and until when that counts. */
  missingRoom: { readonly bytes: number; readonly untilMs: number } | null
  isFailureLogged: boolean
}

export interface MemoryOptions extends Pick<CopyParts, 'database' | 'questions'> {
  /** Memory for copies and cached responses together. */
  readonly bytesMax: number
  /** URL of the database from which tables are loaded. */
  readonly url: string
  readonly log: Log
}

/** Copies and cached responses. The first list of a table starts its load; until it is done PostgreSQL answers. */
export class TableCopies {
  readonly responses: ResponseCache
  private readonly tables = new Map<string, TableEntry>()
  private readonly bytesMax: number
  /** Limits the time that lists and summaries take of the process. */
  readonly slices = new Slices()
  private readonly timer: Timer
  private isLoading = false
  private isEnded = false

  constructor(private readonly options: MemoryOptions) {
    this.bytesMax = options.bytesMax * (1 - RESPONSES_SHARE)
    this.responses = new ResponseCache(options.bytesMax * RESPONSES_SHARE)
    this.timer = setInterval(() => this.keepUp(), REFRESH_MS)
    this.timer.unref()
  }

  /** Number of copies, and their bytes. */
  get use(): { tables: number; bytes: number } {
    const copies = [...this.tables.values()].flatMap(({ copy }) => copy ?? [])
    return { tables: copies.length, bytes: copies.reduce((sum, { bytes }) => sum + bytes, 0) }
  }

  /** Returns the copy of the entity's table; null if there is no usable one. */
  of(entity: Entity): TableCopy | null {
    const entry = this.tables.get(entity.table)
    if (entry === undefined || entry.copy === null) return null
    const { copy } = entry
    entry.lastUsedMs = performance.now()
    if (copy.search === null) return null
    const { dueOrder } = copy.search
    if (dueOrder !== null) this.startLoad(entry, dueOrder)
    return copy
  }

  /** Starts to load a table that has no copy, in the order that serves lists like this one best. */
  load(entity: Entity, query: FiltersAndSorts): void {
    const entry = this.tables.getOrInsertComputed(entity.table, () => ({
      entity,
      pauses: new LoadPauses(),
      copy: null,
      dueOrder: null,
      missed: 0,
      lastUsedMs: 0,
      notBeforeMs: 0,
      missingRoom: null,
      isFailureLogged: false,
    }))
    entry.lastUsedMs = performance.now()
    // A copy that cannot answer this list stays for the lists that it can answer.
    if (entry.copy !== null) return
    entry.missed++
    this.startLoad(entry, orderFor(entity, query))
  }

  /** Starts no further loads; a running one ends with the process. */
  end(): void {
    this.isEnded = true
    clearInterval(this.timer)
  }

  private startLoad(entry: TableEntry, orderedBy: number) {
    if (entry.dueOrder !== null || performance.now() < entry.notBeforeMs) return
    entry.dueOrder = orderedBy
    if (!this.isLoading) this.loadDue()
  }

  /**
   * Loads one table after the other, so that the sizes of all copies are known. The table with the most missed lists comes first.
   */
  private async loadDue() {
    this.isLoading = true
    for (let next = this.nextDue(); next !== null; next = this.nextDue()) {
      const entry = next
      const startMs = performance.now()
      const fail = (error: unknown) =>
        this.noteFailure(entry, error, () => entry.pauses.afterOvertaken(performance.now() - startMs))
      await this.loadCopy(entry, entry.dueOrder as number).catch(fail)
      entry.dueOrder = null
      entry.missed = 0
    }
    this.isLoading = false
  }

  /** Returns the table to load next; null if none is due. Tables that have a copy in another order come last. */
  private nextDue(): TableEntry | null {
    const due = [...this.tables.values()].filter(({ dueOrder }) => dueOrder !== null)
    const [most = null] = due.sort((one, other) => other.missed - one.missed)
    return this.isEnded ? null : most
  }

  private async loadCopy(entry: TableEntry, orderedBy: number) {
    const { entity } = entry
    const { database, questions, url, log } = this.options
    const startMs = performance.now()
    const { properties } = entity
    // Rows arrive in the order of ids anyway, so that order needs no sample.
    const sampled = orderedBy === ID ? null : (properties[orderedBy] as Property)
    let table: ColumnTable | null = null
    let room = 0
    const begin: Begin = (rows, sample) => {
      this.makeRoom(entry, rows)
      room = this.bytesMax - this.use.bytes
      const own = new ColumnTable(entity, new Kernel(room), orderedBy)
      own.prepare(rows, sample)
      table = own
      return (bytes, from, to) => {
        own.addLine(bytes, from, to)
        if (own.rows % CHECKED_ROWS === 0 && own.bytes > room) throw new KernelFull('texts take too much')
      }
    }
    const noteSize = (error: unknown): never => {
      if (table !== null && error instanceof KernelFull)
        entry.missingRoom = { bytes: room, untilMs: performance.now() + LARGE_MS }
      throw error
    }
    const moment = await readTable(url, entity, sampled, begin).catch(noteSize)
    const onLost = (error: unknown) => {
      entry.copy = null
      if (error instanceof CopyLost || error instanceof KernelFull || error instanceof TextsCollide)
        this.noteFailure(entry, error, () => entry.pauses.afterLoss(performance.now()))
      else log.warn('a table is in memory no more', { table: entity.table, reason: errorOf(error).message })
    }
    const parts = { database, questions, slices: this.slices, onLost }
    const copy = new TableCopy(entity, table as unknown as ColumnTable, moment, parts)
    await copy.catchUpAfterLoad().catch(noteSize)
    entry.copy?.release()
    entry.copy = copy
    if (this.use.bytes > this.bytesMax) {
      this.evict(entry)
      return noteSize(new KernelFull('texts take too much'))
    }
    entry.isFailureLogged = false
    const endMs = performance.now()
    entry.pauses.noteLoad(endMs - startMs, endMs)
    log.info('a table is in memory', {
      table: entity.table,
      rows: copy.rows,
      order: (properties[orderedBy] as Property).name,
      mb: Math.ceil(copy.bytes / 2 ** 20),
      ms: Math.round(endMs - startMs),
    })
  }

  /** Evicts idle tables until a table of about this size fits. Evicts none if it cannot fit. @throws KernelFull */
  private makeRoom(entry: TableEntry, rows: number) {
    const { entity, missingRoom } = entry
    const nowMs = performance.now()
    const known = missingRoom !== null && nowMs < missingRoom.untilMs ? missingRoom.bytes + 1 : 0
    const bytes = Math.max(known, rows * ((entity.properties.length * CODE_BYTES) / FILL_SHARE + INDEX_BYTES))
    const idle = [...this.tables.values()]
      .filter((one) => one !== entry && one.copy !== null && nowMs - one.lastUsedMs > IDLE_MS)
      .sort((one, other) => one.lastUsedMs - other.lastUsedMs)
    const free = () => this.bytesMax - this.use.bytes
    if (bytes > idle.reduce((sum, { copy }) => sum + (copy?.bytes ?? 0), free())) throw new KernelFull()
    for (const least of idle) if (bytes > free()) this.evict(least)
  }

  private evict(entry: TableEntry) {
    entry.copy?.release()
    entry.copy = null
  }

  /** Handles a failed load or a lost copy. The next list starts another load, after `pauseOfLost` if writes are the cause. */
  private noteFailure(entry: TableEntry, error: unknown, pauseOfLost: () => number) {
    const { log } = this.options
    const { table } = entry.entity
    const pauseMs = error instanceof CopyLost ? pauseOfLost() : RETRY_MS
    entry.notBeforeMs = Math.max(entry.notBeforeMs, performance.now() + pauseMs)
    if (error instanceof CopyLost) {
      log.debug('a table is in memory no more', { table, reason: error.message })
      return
    }
    // A copy in another order still serves lists.
    if (entry.copy !== null || entry.isFailureLogged || this.isEnded) return
    entry.isFailureLogged = true
    if (error instanceof KernelFull)
      log.info('MEMORY_MB is too little for a table: the database finds its lists', {
        table,
        mb: Math.floor(this.bytesMax / 2 ** 20),
      })
    else if (error instanceof TextsCollide)
      log.warn('memory off for a table: the hashes of its texts collide, whatever the seed', { table })
    else if (error instanceof NotRecorded)
      log.info('memory off for a table: its triggers of changes are missing or disabled', { table })
    else log.warn('a table cannot be read into memory', { table, error: String(error) })
  }

  private keepUp() {
    const nowMs = performance.now()
    for (const entry of this.tables.values()) {
      const { copy, lastUsedMs } = entry
      if (copy === null) continue
      if (nowMs - lastUsedMs > UNUSED_MS) this.evict(entry)
      // If the database is unreachable, the next list asks again.
      else copy.refresh().catch(() => undefined)
    }
    // Copies grow with the texts and orders that they collect; new copies have only those in use. Lists may need as many again at
    // once, and the pause keeps them from loading the tables again and again.
    if (this.use.bytes <= this.bytesMax) return
    for (const entry of this.tables.values()) {
      this.evict(entry)
      entry.notBeforeMs = nowMs + RETRY_MS
    }
  }
}
