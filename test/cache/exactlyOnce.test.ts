import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Baseline } from '../../src/cache/entries.ts'
import { ListCache } from '../../src/cache/listCache.ts'
import type { Selection } from '../../src/cache/selection.ts'
import { FlagReader } from '../../src/changes/inFlight.ts'
import { changeLogWords } from '../../src/changes/layout.ts'
import { bumpEpoch, ChangeLogReader, ChangeLogWriter, expireLease, renewLease } from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { InFlightWrites } from '../../src/changes/settling.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import company from '../../src/entities/company.ts'
import type { Row } from '../../src/model/sql.ts'
import type { Region } from '../../src/os/region.ts'
import { ModelDatabase, type ModelSnapshot, type ModelWrite } from '../support/modelDatabase.ts'
import { privateRegion } from '../support/region.ts'

const TABLE = 'row'
/** Not asked for: there are no columns here. */
const OF = { entity: company, filters: [] }
const WRITERS = 2
const IDS = 12

/** A row is its id, whether it is in, and its rank. */
const isIn = (row: Row) => row[1] === 't'
const selections: { selection: Selection; truth: (row: Row) => boolean }[] = [
  { selection: { ...OF, table: TABLE, tableMask: 1, key: 'in', matches: isIn }, truth: isIn },
  { selection: { ...OF, table: TABLE, tableMask: 1, key: 'all', matches: () => true }, truth: () => true },
  // Only PostgreSQL knows which rows it has.
  { selection: { ...OF, table: TABLE, tableMask: 1, key: 'untestable', matches: null }, truth: isIn },
]
interface Written {
  readonly write: ModelWrite
  readonly writer: number
  /** Published without its rows. */
  readonly isReset: boolean
  /** Or lost along with all that readers have kept. */
  isPublished: boolean
}

/** A question to the database, from its baseline to its answer. */
interface Question {
  readonly kind: 'total' | 'page' | 'ready'
  readonly which: number
  readonly baseline: Baseline
  snapshot: ModelSnapshot | null
}

const kinds = ['total', 'page', 'ready'] as const
const operations = {
  begin: 5,
  commit: 5,
  publish: 4,
  ask: 8,
  run: 8,
  answer: 8,
  read: 3,
  die: 1,
  deafen: 1,
  hear: 3,
} as const
type Operation = keyof typeof operations
interface Step {
  readonly operation: Operation
  readonly n: number
}

const step: fc.Arbitrary<Step> = fc.record({
  operation: fc.oneof(
    ...Object.entries(operations).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as Operation) })),
  ),
  n: fc.noBias(fc.nat(1_000_000)),
})

/** So often something came from the cache, and was compared with the model. */
const compared = { totals: 0, pages: 0, looks: 0 }

/** Waits for no write: all that is committed is published at once. */
class SettledAtOnce extends InFlightWrites {
  constructor(
    region: Region,
    subscriber: ChangeSubscriber,
    private readonly publishAll: () => void,
  ) {
    super(new FlagReader(region), subscriber)
  }

  override settled(): true {
    this.publishAll()
    return true
  }
}

/** Writers, a reader, and a database whose moments come in any order. */
class Site {
  private readonly region = privateRegion(changeLogWords(WRITERS + 1))
  private readonly announcers = Array.from(
    { length: WRITERS },
    (_, writer) => new ChangePublisher(new ChangeLogWriter(this.region, writer), this.region),
  )
  private readonly database = new ModelDatabase()
  private readonly cache: ListCache<string>
  private readonly ready = new Map<string, ModelSnapshot>()
  private running: Written[] = []
  private committed: Written[] = []
  private questions: Question[] = []
  private isDeaf = false

  constructor() {
    const publishAll = () => {
      // In another order than they were committed in.
      for (const written of this.unpublished().reverse()) this.publish(written)
    }
    renewLease(this.region)
    const subscriber = new ChangeSubscriber(new ChangeLogReader(this.region), 100_000)
    this.cache = new ListCache(subscriber, new SettledAtOnce(this.region, subscriber, publishAll), 1_000_000)
  }

  async follow(steps: readonly Step[]) {
    for (const { operation, n } of steps) {
      // Of the real clock, on which a step may be long.
      if (!this.isDeaf) renewLease(this.region)
      await this[operation](n)
    }
  }

  begin(n: number) {
    const row = (id: number): Row => [`${id}`, n % 3 === 0 ? 'f' : 't', `${(n >> 4) % 8}`]
    const id = n % IDS
    const write = this.database.begin(id, (before) => (before !== null && n % 5 === 0 ? null : row(id)))
    if (write) this.running.push({ write, writer: (n >> 3) % WRITERS, isReset: n % 37 === 0, isPublished: false })
  }

  commit(n: number) {
    const [written] = takeAt(this.running, n)
    if (!written) return
    this.database.commit(written.write)
    this.committed.push(written)
  }

  publish(which: number | Written) {
    const unpublished = this.unpublished()
    const written = typeof which === 'number' ? unpublished[which % Math.max(unpublished.length, 1)] : which
    if (!written) return
    written.isPublished = true
    const publisher = this.announcers[written.writer] as ChangePublisher
    if (written.isReset) publisher.publishReset(TABLE)
    else publisher.publish(TABLE, written.write)
  }

  ask(n: number) {
    const kind = kinds[n % kinds.length] as Question['kind']
    const which = (n >> 3) % (n % 7 === 0 ? selections.length : 1)
    const { selection, truth } = selections[which] as (typeof selections)[number]
    const baseline = this.cache.baseline(selection)
    if (baseline === null) return
    if (baseline.total !== null && this.unpublished().length === 0) {
      compared.looks++
      expect(baseline.total).toBe(this.database.snapshot().rows.filter(truth).length)
    }
    if (n % 11 === 0) {
      // More is published, and taken in, before the question is put together.
      this.publish(n >> 2)
      this.cache.isFresh(baseline)
    }
    this.questions.push({ kind, which, baseline, snapshot: null })
  }

  run(n: number) {
    const waiting = this.questions.filter(({ snapshot }) => snapshot === null)
    const question = waiting[n % Math.max(waiting.length, 1)]
    if (question) question.snapshot = this.database.snapshot()
  }

  async answer(n: number) {
    const asked = this.questions.filter(({ snapshot }) => snapshot !== null)
    const question = asked[n % Math.max(asked.length, 1)]
    if (!question) return
    this.questions = this.questions.filter((other) => other !== question)
    await this.learn(question, question.snapshot as ModelSnapshot)
  }

  read(n: number) {
    const { selection, truth } = selections[n % selections.length] as (typeof selections)[number]
    const content = this.cache.page(selection.key)
    if (content === null) return
    expect(this.isDeaf).toBe(false)
    const { text } = this.ready.get(selection.key) as ModelSnapshot
    const state = this.stateAsPublished(text)
    if (state === null) return
    compared.pages++
    expect(content).toBe(contentOf(state.filter(truth)))
  }

  /** A writer dies: what it has not published never will be, and readers give up all that they have kept. */
  die(n: number) {
    if (n % 9 !== 0) return
    for (const written of this.unpublished()) written.isPublished = true
    bumpEpoch(this.region)
  }

  deafen(n: number) {
    if (n % 9 !== 0) return
    this.isDeaf = true
    expireLease(this.region)
  }

  hear(n: number) {
    if (!this.isDeaf) return
    const elsewhere = this.database.begin(n % IDS, () => [`${n % IDS}`, 't', '1'])
    if (elsewhere) {
      this.database.commit(elsewhere)
      this.committed.push({ write: elsewhere, writer: 0, isReset: true, isPublished: true })
    }
    bumpEpoch(this.region)
    this.isDeaf = false
    renewLease(this.region)
  }

  private async learn({ kind, which, baseline }: Question, snapshot: ModelSnapshot) {
    const { selection, truth } = selections[which] as (typeof selections)[number]
    const rows = snapshot.rows.filter(truth)
    if (kind === 'total') return this.cache.learnTotal(baseline, rows.length, snapshot.text)
    if (kind === 'ready') {
      this.ready.set(selection.key, snapshot)
      return this.cache.keepPage(selection.key, baseline, snapshot.text, contentOf(rows), 100)
    }
    const atSnapshot = await this.cache.totalAt(baseline, snapshot.text)
    if (atSnapshot === null) return
    compared.totals++
    expect(atSnapshot.total).toBe(rows.length)
  }

  private unpublished() {
    return this.committed.filter(({ isPublished }) => !isPublished)
  }

  /** All rows as of a snapshot and of what is published; null: of a row a later write is known, an earlier one not. */
  private stateAsPublished(snapshot: string): Row[] | null {
    const [oldest, next, running = ''] = snapshot.split(':')
    const sees = ({ transaction }: ModelWrite) =>
      transaction < Number(oldest) || (transaction < Number(next) && !running.split(',').includes(`${transaction}`))
    const rows = new Map<number, Row>()
    const unpublished = new Set<number>()
    for (const { write, isPublished } of this.committed) {
      if (!isPublished && !sees(write)) unpublished.add(write.id)
      else if (unpublished.has(write.id)) return null
      else if (write.after) rows.set(write.id, write.after)
      else rows.delete(write.id)
    }
    return [...rows.values()]
  }
}

function takeAt<T>(items: T[], n: number): T[] {
  return items.length === 0 ? [] : items.splice(n % items.length, 1)
}

function contentOf(rows: readonly Row[]): string {
  return JSON.stringify([...rows].sort((one, other) => Number(one[0]) - Number(other[0])))
}

test('totals and pages equal the database’s for every order of commits, records and snapshots', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 150, maxLength: 300 }), (steps) => new Site().follow(steps)),
    { numRuns: 1_000 },
  )
  for (const count of Object.values(compared)) expect(count).toBeGreaterThan(300)
}, 60_000)
