import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Baseline } from '../../src/cache/entries.ts'
import { ListCache } from '../../src/cache/listCache.ts'
import { selectionOf } from '../../src/cache/selection.ts'
import { FlagReader, FlagWriter, type InFlightWrite, tableBit, type WriteFlag } from '../../src/changes/inFlight.ts'
import { changeLogWords, FLAGS_MAX } from '../../src/changes/layout.ts'
import {
  addUnknownOutcome,
  bumpEpoch,
  ChangeLogReader,
  ChangeLogWriter,
  clearWriter,
  renewLease,
  settleUnknownOutcome,
} from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { InFlightWrites } from '../../src/changes/settling.ts'
import { Snapshot } from '../../src/changes/snapshot.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import { ColumnStore } from '../../src/columns/columnStore.ts'
import type { TakeLine } from '../../src/columns/copyPieces.ts'
import { type Moment, TableReader, type TableSize } from '../../src/columns/tableReader.ts'
import { createLog } from '../../src/log.ts'
import { defineEntity, identity, integer } from '../../src/model/entity.ts'
import type { ListQuery } from '../../src/model/query.ts'
import { privateRegion } from '../support/region.ts'
import { rounds } from '../support/rounds.ts'

const entity = defineEntity('Thing', { id: identity(), rank: integer() })
const [TABLE_MASK, OTHER_MASK] = [tableBit(0), tableBit(1)]
const IDS = 6
const IN_FLIGHT_MAX = 3
const RUNS = rounds(250, 5_000)
const TIMEOUT_MS = 120_000
/** The owner, which publishes what others write, is writer 0; each of the others is a process. */
const PROCESSES = [1, 2] as const
const MB = 2 ** 20
const ALL: ListQuery = { filters: [], sorts: [], page: 1, pageSize: 2 * IDS, seek: null, kept: '', choice: null }

interface Row {
  readonly id: number
  readonly before: number | null
  readonly after: number | null
}

/** A transaction of one process, or, by writer 0, of another program. */
interface Write {
  readonly writer: number
  readonly flag: InFlightWrite | null
  readonly epoch: number
  state: 'sent' | 'running' | 'committed' | 'published' | 'ended'
  transaction: number
  rows: Row[]
  /** How many of them are published. */
  heard: number
  /** Its process has ended, and what becomes of it is not known. */
  isLost: boolean
}

const operations = {
  ...{ send: 6, run: 10, commit: 10, publish: 14, end: 10, others: 1, othersRow: 6 },
  ...{ rename: 1, die: 1, fence: 3, load: 2, loaded: 16, ask: 3, look: 30 },
} as const
type Operation = keyof typeof operations
const MEANWHILE = ['send', 'run', 'commit', 'publish', 'end'] as const
type Step = readonly [Operation, number]

const step = fc.tuple(
  fc.oneof(
    ...Object.entries(operations).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as Operation) })),
  ),
  fc.noBias(fc.nat(1_000_000)),
)

/** Reads the model's rows: under a snapshot of now, and gives them when it is let. */
class ModelReader extends TableReader {
  private let: (() => void)[] = []

  constructor(private readonly site: Site) {
    super('')
  }

  goOn() {
    for (const resolve of this.let.splice(0)) resolve()
  }

  override async size(): Promise<TableSize> {
    return { rows: 1, bytes: 1 }
  }

  override async all(_: unknown, take: TakeLine): Promise<Moment> {
    const moment = { snapshot: new Snapshot(this.site.snapshot), run: '' }
    const rows = [...this.site.rows].sort(([one], [other]) => one - other)
    await new Promise<void>((resolve) => this.let.push(resolve))
    for (const [id, rank] of rows) {
      const line = Buffer.from(`${id}\t${rank}`)
      take(line, 0, line.length)
    }
    return moment
  }

  override async since(_: unknown, __: unknown, take: TakeLine) {
    const rows = this.site.rows.size
    return { moment: await this.all(_, take), rows }
  }
}

/** What one process knows; others go on between its look at the writes in flight and its look at the log. */
class Process {
  readonly reader: ModelReader
  readonly cache: ListCache<string>
  readonly store: ColumnStore
  asked: Baseline | null = null
  /** What was published when the log was read last. */
  known: readonly Write[] = []
  between: (() => void) | null = null

  constructor(site: Site) {
    const process = this
    const log = new (class extends ChangeLogReader {
      override read(take: (text: string) => void) {
        process.known = site.writes.filter(({ state }) => state === 'published' || state === 'ended')
        return super.read(take)
      }
    })(site.region)
    const flags = new (class extends FlagReader {
      override now(tableMask: number): WriteFlag[] {
        const found = super.now(tableMask)
        const { between } = process
        process.between = null
        between?.()
        return found
      }
    })(site.region)
    const subscriber = new ChangeSubscriber(log, MB)
    this.reader = new ModelReader(site)
    const options = { subscriber, reader: this.reader, bytesMax: 32 * MB, retryMs: 0, log: createLog('error', null) }
    this.store = new ColumnStore({ ...options, database: { read: async () => [] } as never })
    this.cache = new ListCache(subscriber, new InFlightWrites(flags, subscriber), MB, this.store)
  }
}

/** So often columns were a state, while writes were in flight too, and were none. */
const compared = { states: 0, beside: 0, refused: 0 }

/** Processes and other programs that write to one table, and two processes that have it in columns. */
class Site {
  readonly region = privateRegion(changeLogWords(1 + PROCESSES.length))
  readonly rows = new Map(rowsAtFirst())
  writes: Write[] = []
  private commits: Write[] = []
  private next = 900
  /** Processes that have ended and are not fenced. */
  private unknown = 0
  private readonly publishers = [0, ...PROCESSES].map(
    (writer) => new ChangePublisher(new ChangeLogWriter(this.region, writer), this.region),
  )
  private readonly flags = [0, ...PROCESSES].map((writer) => new FlagWriter(this.region, writer))
  private readonly processes: Process[]

  constructor(fill: boolean) {
    renewLease(this.region)
    this.processes = PROCESSES.map(() => new Process(this))
    // So all writes of the first process share a flag, until it ends.
    if (fill) for (let flag = 1; flag < FLAGS_MAX; flag++) this.flags[1]?.begin(OTHER_MASK)
  }

  get snapshot(): string {
    const running = this.writes.filter(({ state }) => state === 'running').map(({ transaction }) => transaction)
    running.sort((one, other) => one - other)
    return `${running[0] ?? this.next}:${this.next}:${running}`
  }

  async follow(steps: readonly Step[]) {
    const first: Step[] = PROCESSES.flatMap((n) => [
      ['load', n],
      ['loaded', n],
    ])
    for (const [operation, n] of [...first, ...steps]) {
      renewLease(this.region)
      this[operation](n)
      for (let turn = 0; turn < 8; turn++) await null
    }
    for (const { store } of this.processes) store.end()
  }

  send(n: number) {
    const writer = PROCESSES[n % PROCESSES.length] as number
    if (this.writes.filter(({ state }) => state !== 'ended').length >= IN_FLIGHT_MAX) return
    const { epoch } = this.publishers[writer] as ChangePublisher
    const flag = (this.flags[writer] as FlagWriter).begin(TABLE_MASK)
    this.writes.push({ writer, flag, epoch, state: 'sent', transaction: 0, rows: [], heard: 0, isLost: false })
  }

  run(n: number) {
    const write = this.one(n, 'sent')
    if (!write) return
    const held = this.writes.filter(({ state }) => state === 'running').flatMap(({ rows }) => rows)
    // A batch writes several rows in one transaction.
    for (let id = n % IDS; id < Math.min(IDS, (n % IDS) + 1 + (n % 3)); id++) {
      if (held.some((row) => row.id === id)) continue
      const before = this.rows.get(id) ?? null
      const after = n % 7 === 0 ? null : n % 50
      if (before !== null || after !== null) write.rows.push({ id, before, after })
    }
    write.transaction = this.next++
    write.state = 'running'
  }

  commit(n: number) {
    const write = this.one(n, 'running')
    if (write) this.done(write)
  }

  publish(n: number) {
    const write = this.one(n, 'committed')
    if (!write || write.writer === 0 || write.isLost) return
    const row = write.rows[write.heard++]
    if (row) this.append(write, row)
    if (write.heard >= write.rows.length) write.state = 'published'
  }

  end(n: number) {
    const write = this.one(n, 'published')
    if (!write) return
    write.state = 'ended'
    write.flag?.end()
  }

  /** Another program commits some rows: the first of them is heard at once. */
  others(n: number) {
    if (this.writes.some(({ state, writer }) => writer === 0 && state === 'committed')) return
    const write: Write = {
      ...{ writer: 0, flag: null, epoch: (this.publishers[0] as ChangePublisher).epoch },
      ...{ state: 'sent', transaction: 0, rows: [], heard: 0, isLost: false },
    }
    this.writes.push(write)
    const sent = this.writes.filter(({ state }) => state === 'sent')
    this.run(n - (n % sent.length) + sent.length - 1)
    if (write.state !== 'running') return void (this.writes = this.writes.filter((other) => other !== write))
    this.done(write)
    this.othersRow()
  }

  othersRow() {
    const write = this.writes.find(({ state, writer }) => writer === 0 && state === 'committed')
    if (!write) return
    const row = write.rows[write.heard++]
    if (row) this.append(write, row)
    if (write.heard >= write.rows.length) write.state = 'ended'
  }

  /** Of what process 2 writes it is not said which rows those are. */
  rename() {
    this.publishers[2]?.publishReset(entity.table)
  }

  /** What it has sent may be done, until it is fenced. */
  die(n: number) {
    const writer = PROCESSES[n % PROCESSES.length] as number
    if (n % 5 !== 0) return
    this.unknown++
    addUnknownOutcome(this.region, 0)
    clearWriter(this.region, writer)
    this.flags[writer] = new FlagWriter(this.region, writer)
    for (const write of this.writes.filter((one) => one.writer === writer)) {
      if (write.state === 'sent' || write.state === 'published') write.state = 'ended'
      if (write.state !== 'ended') write.isLost = true
    }
  }

  fence(n: number) {
    for (const write of this.writes.filter(({ isLost }) => isLost)) {
      if (write.state === 'running' && n % 2 === 0) this.done(write)
      if (write.state === 'running') Object.assign(write, { rows: [], state: 'ended' })
      if (write.state === 'committed') write.state = 'ended'
    }
    // Of what began before an epoch all is known in it, by the snapshots that are read from then on.
    for (let row = 0; row < IDS; row++) this.othersRow()
    for (; this.unknown > 0; this.unknown--) {
      bumpEpoch(this.region)
      settleUnknownOutcome(this.region, 0)
    }
  }

  load(n: number) {
    void (this.processes[n % PROCESSES.length] as Process).store.loadAll([entity])
  }

  loaded(n: number) {
    this.processes[n % PROCESSES.length]?.reader.goOn()
  }

  ask(n: number) {
    const process = this.processes[n % PROCESSES.length] as Process
    process.asked = process.cache.baseline(selectionOf(entity, [], TABLE_MASK))
  }

  look(n: number) {
    const own = this.processes[n % PROCESSES.length] as Process
    if (own.asked === null || n % 3 > 0) this.ask(n)
    const { asked } = own
    own.asked = null
    const page = asked?.columns?.page(ALL) ?? null
    if (asked === null || page === null) return
    const { rows } = page
    own.between = (n >> 8) % 2 ? () => this[MEANWHILE[(n >> 4) % MEANWHILE.length] as Operation](n) : null
    if (!own.cache.isState(asked)) return void compared.refused++
    compared.states++
    if (this.writes.some(({ flag, state }) => flag !== null && state !== 'published' && state !== 'ended'))
      compared.beside++
    const found = Array.from({ length: rows.length }, (_, index) => [rows.print(index, 0), rows.print(index, 1)])
    this.expectState(found, own.known)
  }

  /** What is published is what was committed first, and it is what was found. */
  private expectState(found: readonly (readonly (string | null)[])[], known: readonly Write[]) {
    const first = this.commits.slice(0, this.commits.filter((write) => known.includes(write)).length)
    expect(first.every((write) => known.includes(write))).toBe(true)
    const right = new Map(rowsAtFirst())
    for (const { id, after } of first.flatMap(({ rows }) => rows)) set(right, id, after)
    const sorted = [...right].sort(([one], [other]) => one - other)
    expect(found).toEqual(sorted.map(([id, rank]) => [`${id}`, `${rank}`]))
  }

  private done(write: Write) {
    write.state = 'committed'
    if (write.rows.length > 0) this.commits.push(write)
    for (const { id, after } of write.rows) set(this.rows, id, after)
  }

  private append({ writer, transaction, rows, heard, epoch }: Write, { id, before, after }: Row) {
    const image = (rank: number | null) => (rank === null ? null : [`${id}`, `${rank}`])
    const change = { transaction, before: image(before), after: image(after) }
    const publisher = this.publishers[writer] as ChangePublisher
    if (writer === 0) publisher.publishForeign(entity.table, change, heard === rows.length)
    else publisher.publish(entity.table, change, epoch, heard === rows.length)
  }

  private one(n: number, state: Write['state']): Write | undefined {
    const all = this.writes.filter((write) => write.state === state)
    return all[n % Math.max(all.length, 1)]
  }
}

function rowsAtFirst(): [id: number, rank: number][] {
  return Array.from({ length: IDS - 1 }, (_, index) => [index + 1, index + 1])
}

function set(rows: Map<number, number>, id: number, rank: number | null) {
  if (rank === null) rows.delete(id)
  else rows.set(id, rank)
}

test(
  'what columns say is a state of the database, all of which is published, for every order of writes and looks',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(step, { minLength: 100, maxLength: 200 }), (fill, steps) =>
        new Site(fill).follow(steps),
      ),
      { numRuns: RUNS },
    )
    for (const count of Object.values(compared)) expect(count).toBeGreaterThan(50)
  },
  TIMEOUT_MS,
)
