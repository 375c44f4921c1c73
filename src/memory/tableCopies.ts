// Copies of tables in the memory of a worker: loads them on demand, and decides what is removed when memory runs out.
import type { Reader } from '../columns/collation.ts'
import { ColumnTable } from '../columns/columnTable.ts'
import { TextsCollide } from '../columns/dictionary.ts'
import { KernelFull } from '../columns/kernel.ts'
import { Slices } from '../columns/slices.ts'
import type { ReadOrder } from '../columns/textRanks.ts'
import { errorOf } from '../errors.ts'
import { FairSemaphore } from '../execute/fairSemaphore.ts'
import type { Log } from '../log.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { ProcessLine } from './copyPieces.ts'
import { LoadPauses } from './loadPauses.ts'
import { QuestionQueue, type Version } from './questionQueue.ts'
import { ResponseCache } from './responseCache.ts'
import { CopyLost, TableCopy } from './tableCopy.ts'
import { type LoadedState, NotRecorded, readTable, readTexts } from './tableReader.ts'

/** Share of the memory for cached responses. */
const RESPONSES_SHARE = 1 / 8
/** Share of the copies' memory that optional parts, such as indexes, leave free for new rows and texts. */
const SPARE_SHARE = 1 / 32
/** `CODE_BYTES`: estimated bytes of a code. `INDEX_BYTES`: estimated bytes of a row in the index of ids. */
const CODE_BYTES = 4
const INDEX_BYTES = 6
/** Number of rows between two checks of the memory during a load. The checks are needed, because texts may have any length. */
const CHECKED_ROWS = 1_000
/** Pause in ms before a table is loaded again after its load has failed, or after the table did not fit into memory. */
const RETRY_MS = 60_000
/** Time without lists after which a copy can be evicted for another table. */
const IDLE_MS = 60_000
/** Interval at which copies are refreshed even if no list asks. Lines of `row_change` are kept for longer than this interval. */
const REFRESH_MS = 5_000
/** Time without lists after which a copy is evicted. */
const UNUSED_MS = 600_000
/** Time for which a table that did not fit is loaded again only if more memory is free than at the failed load. */
const LARGE_MS = 3_600_000
/** Time without lists after which an optional part of a copy counts as unused. Unused parts are freed before others. */
const UNUSED_PART_MS = 10_000
/** Minimum time between attempts to free memory for a new optional part. */
const GIVE_WAY_MS = 1_000
/** Maximum number of summaries at a time. `SUMMARIES_MAX`: of all API keys together; `SUMMARIES_PER_KEY_MAX`: of one API key. */
const SUMMARIES_MAX = 4
const SUMMARIES_PER_KEY_MAX = 2

/** Users of the semaphore `reads`, which take turns. `LOADS`: loads of tables; `ORDERS`: reads of the order of texts. */
const LOADS = 'loads'
const ORDERS = 'orders'

/** Optional parts of a copy, in the order in which they are freed. Lists can be found without them. */
const PARTS = ['bitmaps', 'checkpoints', 'indexes'] as const

interface TableEntry {
  readonly entity: Entity
  readonly pauses: LoadPauses
  copy: TableCopy | null
  /** Rows that the running load of this table has read so far; null: no load of the table is running. */
  loading: ColumnTable | null
  /** True if a load is due or running. */
  isDue: boolean
  /** Number of lists that PostgreSQL answered because there was no copy. */
  missed: number
  lastUsedMs: number
  /** Earliest time of the next load. */
  notBeforeMs: number
  /** Number of free bytes that were not enough to load the table, remembered until `untilMs`. Null: no such number is known. */
  missingRoom: { readonly bytes: number; readonly untilMs: number } | null
  isFailureLogged: boolean
}

export interface MemoryOptions {
  /** Connection over which PostgreSQL compares texts. */
  readonly database: Reader
  /** Connection for questions about the changed rows of one table. */
  readonly questions: Reader
  /** Connection for questions about several tables. Its statements never wait long for a lock. */
  readonly jointQuestions: Reader
  /** Maximum bytes of copies and cached responses together. */
  readonly bytesMax: number
  /** URL of the database from which tables are loaded. */
  readonly url: string
  readonly log: Log
}

/** Copies and cached responses. A table's first list starts a load. PostgreSQL answers the table's lists until the load ends. */
export class TableCopies {
  readonly responses: ResponseCache
  /** Limits how long lists and summaries may block the event loop. */
  readonly slices = new Slices()
  /** Limits the summaries that are computed at the same time. */
  readonly summaries = new FairSemaphore(SUMMARIES_MAX, SUMMARIES_PER_KEY_MAX)
  private readonly queue: QuestionQueue
  private readonly tables = new Map<string, TableEntry>()
  private readonly bytesMax: number
  /** Lets one load, or one read of the order of texts, run at a time. */
  private readonly reads = new FairSemaphore(1)
  private readonly timer: Timer
  private gaveWayMs = Number.NEGATIVE_INFINITY
  private isLoading = false
  private isEnded = false

  constructor(private readonly options: MemoryOptions) {
    this.bytesMax = options.bytesMax * (1 - RESPONSES_SHARE)
    this.responses = new ResponseCache(options.bytesMax * RESPONSES_SHARE)
    this.queue = new QuestionQueue(options.jointQuestions)
    this.timer = setInterval(() => this.keepUp(), REFRESH_MS)
    this.timer.unref()
  }

  /** Number of copies, and bytes of the copies and of the running load together. */
  get use(): { tables: number; bytes: number } {
    let tables = 0
    let bytes = 0
    for (const { copy, loading } of this.tables.values()) {
      tables += copy === null ? 0 : 1
      bytes += (copy?.columns.bytes ?? 0) + (loading?.bytes ?? 0)
    }
    return { tables, bytes }
  }

  /** Returns the copy of the entity's table; null if the table has none. */
  of(entity: Entity): TableCopy | null {
    const entry = this.tables.get(entity.table)
    if (entry === undefined || entry.copy === null) return null
    const { copy } = entry
    entry.lastUsedMs = performance.now()
    if (copy.columns.isWorn) this.startLoad(entry)
    return copy
  }

  /** Returns the copies of the tables, in the order of the tables; null if one of the tables has no copy. */
  allOf(entities: readonly Entity[]): readonly TableCopy[] | null {
    const copies: TableCopy[] = []
    for (const entity of entities) {
      const copy = this.of(entity)
      if (copy === null) return null
      copies.push(copy)
    }
    return copies
  }

  /**
   * Brings copies to snapshots taken after this call, and several copies to the same snapshot. If a copy could not be moved,
   * `versionOf` returns null afterwards. @throws ApiError
   */
  refresh(copies: readonly TableCopy[]): Promise<void> {
    return this.queue.refresh(copies)
  }

  /**
   * Returns the version of `part`, by default all copies; null if the copies are not of one snapshot, or if one of them is
   * unusable. The caller must find lists, and cache responses, in the same turn of the event loop as this call.
   */
  versionOf(copies: readonly TableCopy[], part: readonly TableCopy[] = copies): Version | null {
    return this.queue.versionOf(copies, part)
  }

  /** Starts to load a table that has no copy. */
  load(entity: Entity): void {
    const entry = this.tables.getOrInsertComputed(entity.table, () => ({
      entity,
      pauses: new LoadPauses(),
      copy: null,
      loading: null,
      isDue: false,
      missed: 0,
      lastUsedMs: 0,
      notBeforeMs: 0,
      missingRoom: null,
      isFailureLogged: false,
    }))
    entry.lastUsedMs = performance.now()
    // A copy that cannot answer this list is kept for the lists that it can answer.
    if (entry.copy !== null) return
    entry.missed++
    this.startLoad(entry)
  }

  /** Starts no more loads, and drops the copies. A running load ends with the process. */
  end(): void {
    this.isEnded = true
    clearInterval(this.timer)
    this.tables.clear()
  }

  private startLoad(entry: TableEntry) {
    if (entry.isDue || performance.now() < entry.notBeforeMs) return
    entry.isDue = true
    if (!this.isLoading) this.loadDue()
  }

  /**
   * Loads one table after the other, so that the size of every copy is known when the next load begins. The table with the most
   * missed lists comes first.
   */
  private async loadDue() {
    this.isLoading = true
    const release = await this.reads.take(LOADS)
    for (let next = this.nextDue(); next !== null; next = this.nextDue()) {
      const entry = next
      const startMs = performance.now()
      const fail = (error: unknown) => {
        this.noteSize(entry, error)
        this.noteFailure(entry, error, () => entry.pauses.afterOvertaken(performance.now() - startMs))
      }
      await this.loadCopy(entry, startMs).catch(fail)
      entry.loading = null
      entry.isDue = false
      entry.missed = 0
    }
    release()
    this.isLoading = false
  }

  /** Returns the table to load next; null if none is due. Tables that already have a copy come last. */
  private nextDue(): TableEntry | null {
    const due = [...this.tables.values()].filter(({ isDue }) => isDue)
    const [most = null] = due.sort((one, other) => other.missed - one.missed)
    return this.isEnded ? null : most
  }

  private async loadCopy(entry: TableEntry, startMs: number) {
    const { entity } = entry
    const { questions, log } = this.options
    const { table, moment } = await this.readRows(entry)
    const onLost = (cause: unknown) => {
      entry.copy = null
      // The copy was full, although there was free memory. The next load makes a larger copy.
      const error = cause instanceof KernelFull && table.isWorn ? new CopyLost('the table has outgrown its copy') : cause
      if (error instanceof CopyLost || error instanceof KernelFull || error instanceof TextsCollide)
        this.noteFailure(entry, error, () => entry.pauses.afterLoss(performance.now()))
      else log.warn('a table is in memory no more', { table: entity.table, reason: errorOf(error).message })
    }
    const copy = new TableCopy(entity, table, moment, { questions, onLost })
    await copy.catchUpAfterLoad()
    this.evict(entry)
    this.requireRoom()
    entry.copy = copy
    entry.loading = null
    entry.isFailureLogged = false
    const endMs = performance.now()
    entry.pauses.noteLoad(endMs - startMs, endMs)
    log.info('a table is in memory', {
      table: entity.table,
      rows: table.rows,
      mb: Math.ceil(table.bytes / 2 ** 20),
      ms: Math.round(endMs - startMs),
    })
  }

  private async readRows(entry: TableEntry): Promise<{ table: ColumnTable; moment: LoadedState }> {
    const { entity } = entry
    const { database, url } = this.options
    const readOrder =
      (property: Property): ReadOrder =>
      (onText) =>
        this.readOrder(entity, property, onText)
    const texts = { database, slices: this.slices, readOrder }
    const rowBytes = entity.properties.length * CODE_BYTES + INDEX_BYTES
    let table: ColumnTable | null = null
    const begin = (rows: number): ProcessLine => {
      this.makeRoom(entry, rows * rowBytes)
      const own = new ColumnTable(entity, rows, texts, { has: (bytes) => this.hasRoom(bytes) })
      entry.loading = own
      table = own
      return (bytes, from, to) => {
        own.addLine(bytes, from, to)
        if (own.rows % CHECKED_ROWS === 0) this.requireRoom()
      }
    }
    const rowsMax = Math.ceil(this.bytesMax / rowBytes) + 1
    const moment = await readTable(url, entity, rowsMax, begin)
    return { table: table as unknown as ColumnTable, moment }
  }

  /** Remembers how much memory was free when a load ran out of it, so that the same load is not tried again too soon. */
  private noteSize(entry: TableEntry, error: unknown) {
    const { loading } = entry
    if (loading === null || !(error instanceof KernelFull)) return
    const free = this.bytesMax - this.use.bytes + loading.bytes
    entry.missingRoom = { bytes: free, untilMs: performance.now() + LARGE_MS }
  }

  /** Reads the texts of a property in their order: one property at a time, and not while a table is loaded. */
  private async readOrder(entity: Entity, property: Property, onText: (text: string) => void): Promise<void> {
    const release = await this.reads.take(ORDERS)
    await readTexts(this.options.url, entity, property, onText).finally(release)
  }

  /** Requires that all copies and the running load fit into the memory, and frees optional parts for that. @throws KernelFull */
  private requireRoom() {
    if (this.fits(0)) return
    for (const unusedMs of [UNUSED_PART_MS, 0]) this.freeUnused(0, unusedMs)
    if (!this.fits(0)) throw new KernelFull('texts take too much')
  }

  private fits(bytes: number): boolean {
    return this.use.bytes + bytes <= this.bytesMax
  }

  /**
   * Returns whether an optional part of a copy may use `bytes`. To make room, frees unused parts, and then evicts idle tables.
   */
  private hasRoom(bytes: number): boolean {
    const wanted = bytes + SPARE_SHARE * this.bytesMax
    const nowMs = performance.now()
    if (this.fits(wanted)) return true
    if (nowMs - this.gaveWayMs < GIVE_WAY_MS) return false
    this.gaveWayMs = nowMs
    this.freeUnused(wanted, UNUSED_PART_MS)
    for (const idle of this.idleSince(nowMs - IDLE_MS)) if (!this.fits(wanted)) this.evict(idle)
    return this.fits(wanted)
  }

  /** Frees optional parts that no list has used for `unusedMs`, until `bytes` more bytes fit into memory. */
  private freeUnused(bytes: number, unusedMs: number) {
    for (const part of PARTS)
      for (const { copy } of this.leastRecent()) {
        if (this.fits(bytes)) return
        copy?.columns.freeUnused(part, unusedMs)
      }
  }

  /** Makes room for a table: frees unused parts of copies, evicts idle tables, then frees parts in use. @throws KernelFull */
  private makeRoom(entry: TableEntry, bytesOfRows: number) {
    const { missingRoom } = entry
    const nowMs = performance.now()
    const known = missingRoom !== null && nowMs < missingRoom.untilMs ? missingRoom.bytes + 1 : 0
    const bytes = Math.max(known, bytesOfRows)
    this.freeUnused(bytes, UNUSED_PART_MS)
    const idle = this.idleSince(nowMs - IDLE_MS).filter((one) => one !== entry)
    const freed = this.leastRecent().map((one) => (idle.includes(one) ? one.copy?.columns.bytes : one.copy?.columns.partsBytes))
    // If the table cannot fit, all other tables stay as they are.
    if (!this.fits(bytes - freed.reduce((sum: number, own = 0) => sum + own, 0))) throw new KernelFull()
    for (const least of idle) if (!this.fits(bytes)) this.evict(least)
    this.freeUnused(bytes, 0)
  }

  /** Returns the tables that have a copy, the least recently used table first. */
  private leastRecent(): TableEntry[] {
    const kept = [...this.tables.values()].filter(({ copy }) => copy !== null)
    return kept.sort((one, other) => one.lastUsedMs - other.lastUsedMs)
  }

  private idleSince(beforeMs: number): TableEntry[] {
    return this.leastRecent().filter(({ lastUsedMs }) => lastUsedMs < beforeMs)
  }

  private evict(entry: TableEntry) {
    entry.copy?.release()
    entry.copy = null
  }

  /**
   * Handles a failed load or a lost copy: until a pause has ended, no list starts a load of the table. `pauseOfLost`: returns
   * this pause in ms if writes are the cause.
   */
  private noteFailure(entry: TableEntry, error: unknown, pauseOfLost: () => number) {
    const { log } = this.options
    const { table } = entry.entity
    const pauseMs = error instanceof CopyLost ? pauseOfLost() : RETRY_MS
    entry.notBeforeMs = Math.max(entry.notBeforeMs, performance.now() + pauseMs)
    if (error instanceof CopyLost) {
      log.debug('a table is in memory no more', { table, reason: error.message })
      return
    }
    // If the table still has its former copy, that copy serves lists.
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
      else this.refresh([copy]).catch(() => undefined)
    }
    // Copies grow with new rows and texts, so optional parts may have to be freed.
    for (const unusedMs of [UNUSED_PART_MS, 0]) this.freeUnused(0, unusedMs)
    const [least] = this.leastRecent()
    if (least === undefined || this.fits(0)) return
    // The other tables may fit without this one. The pause keeps lists from loading this table again and again.
    this.evict(least)
    least.notBeforeMs = nowMs + RETRY_MS
  }
}
