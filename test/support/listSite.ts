import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'bun:test'
import type postgres from 'postgres'
import type { CacheParts } from '../../src/cache/cacheParts.ts'
import { ListCache } from '../../src/cache/listCache.ts'
import { Inclusion } from '../../src/changes/inclusion.ts'
import { FlagReader, FlagWriter } from '../../src/changes/inFlight.ts'
import { changeLogWords } from '../../src/changes/layout.ts'
import { bumpEpoch, ChangeLogReader, ChangeLogWriter, expireLease, renewLease } from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import { ReadFence } from '../../src/changes/readFence.ts'
import { InFlightWrites } from '../../src/changes/settling.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import { ColumnStore } from '../../src/columns/columnStore.ts'
import { TableReader } from '../../src/columns/tableReader.ts'
import { Database } from '../../src/execute/database.ts'
import { ListReads } from '../../src/execute/listReads.ts'
import { LongWrites } from '../../src/execute/longWrites.ts'
import { createLog } from '../../src/log.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { readRights } from '../../src/model/rights.ts'
import type { Row, Statement } from '../../src/model/sql.ts'
import { Changes } from '../../src/operations/changes.ts'
import { ChangeWaits } from '../../src/operations/changeWaits.ts'
import { Resource } from '../../src/operations/resource.ts'
import type { Region } from '../../src/os/region.ts'
import { loadEntities } from '../../src/registry.ts'
import type { Reply } from '../../src/respond/reply.ts'
import { loadMany } from './manyRows.ts'
import { connect, createDatabase } from './postgres.ts'
import { privateRegion } from './region.ts'
import type { Json } from './server.ts'

export interface ListAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: Json
}

const BASE = 'http://localhost'
const PREPARE_MS_MAX = 120_000
const entities = await loadEntities()

/** Keeps the texts of what it reads. */
export class WatchedDatabase extends Database {
  readonly texts: string[] = []
  private around: { text: RegExp; work: (read: () => Promise<Row[]>) => Promise<Row[]> } | null = null

  /** `work` is done in place of the next statement whose text matches, which it may read. */
  instead(text: RegExp, work: (read: () => Promise<Row[]>) => Promise<Row[]>): void {
    this.around = { text, work }
  }

  override read(statement: Statement): Promise<Row[]> {
    return this.watch(statement, () => super.read(statement))
  }

  override readAlone(statement: Statement, ...more: [number, (backend: () => number | null) => void]): Promise<Row[]> {
    return this.watch(statement, () => super.readAlone(statement, ...more))
  }

  private watch(statement: Statement, read: () => Promise<Row[]>): Promise<Row[]> {
    this.texts.push(statement.text)
    const { around } = this
    if (!around?.text.test(statement.text)) return read()
    this.around = null
    return around.work(read)
  }

  /** Whether such a statement is still to come. */
  get isWaiting(): boolean {
    return this.around !== null
  }
}

/** The resources of one process of the server, whose requests need no HTTP. */
export class ListProcess {
  readonly database: WatchedDatabase
  private readonly longWrites: LongWrites
  private readonly resources: ReadonlyMap<string, Resource>

  private readonly memory: CacheParts | null
  private readonly feed: Changes

  constructor(url: string, memoryOf: (database: Database) => CacheParts | null) {
    const options = { url, poolSize: 4, prepare: true }
    this.database = new WatchedDatabase(options)
    const memory = memoryOf(this.database)
    this.memory = memory
    this.longWrites = new LongWrites(this.database, options)
    const cursors = new Cursors('secret')
    const listReads = new ListReads({
      quick: this.database,
      own: this.database,
      places: options.poolSize,
      mayCancel: true,
    })
    const waits = new ChangeWaits(entities, this.database, { isDraining: () => false })
    const fence = memory && new ReadFence(this.database, memory.inFlight, memory.inclusion)
    this.feed = new Changes(entities, this.database, { hasValues: false }, waits, fence)
    const resourceOf = (entity: (typeof entities)[number]) =>
      new Resource(entity, entities, {
        database: this.database,
        longWrites: this.longWrites,
        listReads,
        cursors,
        memory,
      })
    this.resources = new Map(entities.map((entity) => [entity.plural, resourceOf(entity)]))
  }

  /** What all tables in columns take. */
  get columnBytes(): number {
    return this.memory?.columns?.bytes ?? 0
  }

  /** Reads all tables into columns. */
  async loadColumns(): Promise<void> {
    await this.memory?.columns?.loadAll(entities)
  }

  async end(): Promise<void> {
    await Promise.all([this.database.end(1_000), this.longWrites.end(), this.memory?.columns?.end()])
  }

  /** `path`: `/Absences?page=2`. */
  async list(path: string, headers: Record<string, string> = {}): Promise<ListAnswer> {
    const [plural = '', query = ''] = path.slice(1).split(/\?(.*)/s)
    const url = `${BASE}/${plural}`
    const request = new Request(url, { headers })
    return answerOf(
      await this.resource(plural).list({ request, url, query, id: '', mayRead: true, key: 'a', keyName: 'a' }),
    )
  }

  /** @throws ApiError */
  async get(path: string): Promise<ListAnswer> {
    const [plural = '', id = ''] = path.slice(1).split('/')
    const url = `${BASE}${path}`
    return answerOf(
      await this.resource(plural).get({
        request: new Request(url),
        url,
        query: '',
        id,
        mayRead: true,
        key: 'a',
        keyName: 'a',
      }),
    )
  }

  /** What has changed: of all rows, or of the one at `path`. @throws ApiError */
  async changes(query: string, path = ''): Promise<ListAnswer> {
    const [plural = '', id = ''] = path.slice(1).split('/')
    const url = `${BASE}${path}/Changes`
    const rights = readRights('*:read')
    const call = { request: new Request(url), url, query, id, mayRead: true, rights, key: 'a', keyName: 'a' }
    const entity = entities.find((one) => one.plural === plural)
    return answerOf(await (entity ? this.feed.history(entity, call) : this.feed.list(call)))
  }

  /** @throws ApiError */
  async write(
    method: 'create' | 'replace' | 'patch' | 'remove',
    path: string,
    body: object = {},
    more: Record<string, string> = {},
  ): Promise<ListAnswer> {
    const [plural = '', id = ''] = path.slice(1).split('/')
    const url = `${BASE}${path}`
    const headers = { 'content-type': 'application/json', ...more }
    const request = new Request(url, { method: 'POST', body: JSON.stringify(body), headers })
    return answerOf(
      await this.resource(plural)[method]({ request, url, query: '', id, mayRead: true, key: 'a', keyName: 'a' }),
    )
  }

  /** What it reads from the database while `work` runs. */
  async readingOf(work: () => Promise<unknown>): Promise<string[]> {
    const from = this.database.texts.length
    await work()
    return this.database.texts.slice(from)
  }

  private resource(plural: string): Resource {
    const resource = this.resources.get(plural)
    if (!resource) throw new Error(`no entity is called ${plural}`)
    return resource
  }
}

function answerOf({ status, headers, body }: Reply): ListAnswer {
  const text = body === null ? '' : Buffer.from(body as string).toString()
  return { status, headers, text, body: text === '' ? null : JSON.parse(text) }
}

export const totalOf = ({ headers }: ListAnswer): number => Number(headers['X-Total-Count'])

/**
 * For the tests of a file: a database with so many rows, which `prepare` may change, and for each test a site of its own
 * with these parameters of its constructor.
 */
export function useListSite(
  counts: Parameters<typeof loadMany>[1],
  prepare: (sql: postgres.Sql) => Promise<unknown>,
  ...memory: number[]
) {
  const used = {} as { url: string; sql: postgres.Sql; site: ListSite }
  beforeAll(async () => {
    used.url = await createDatabase()
    used.sql = connect(used.url)
    await loadMany(used.sql, counts)
    await prepare(used.sql)
  }, PREPARE_MS_MAX)
  afterAll(() => used.sql.end())
  beforeEach(() => {
    used.site = new ListSite(used.url, ...memory)
  })
  afterEach(() => used.site.end())
  return used
}

/** Two processes with memory, as two workers of one machine have it, and one that reads everything from the database. */
export class ListSite {
  /** Writer 2 is no process of these: its flags and records are a test's own. */
  readonly region: Region = privateRegion(changeLogWords(3))
  readonly processes: readonly [ListProcess, ListProcess]
  readonly plain: ListProcess
  private hears = true

  /** `columnBytes`: for tables in columns, of each process; 0: there are none. */
  constructor(
    private readonly url: string,
    cacheBytes = 16 * 2 ** 20,
    private readonly columnBytes = 0,
  ) {
    this.processes = [
      new ListProcess(url, (database) => this.memory(0, cacheBytes, database)),
      new ListProcess(url, (database) => this.memory(1, cacheBytes, database)),
    ]
    this.plain = new ListProcess(url, () => null)
  }

  /** From now on no process hears of the writes of others. */
  deafen(): void {
    this.hears = false
    expireLease(this.region)
  }

  /** They hear again, and drop what they knew, as after a listener's loss. */
  hearAgain(): void {
    bumpEpoch(this.region)
    this.hears = true
  }

  /** Of a lease that does not run out by time, as it else does while the machine stands still. */
  private reader(): ChangeLogReader {
    // No other client writes, except in tests that do so without a notification.
    const renew = () => this.hears && renewLease(this.region)
    return new (class extends ChangeLogReader {
      override get isLive() {
        renew()
        return super.isLive
      }
    })(this.region)
  }

  /** The answer of a process is what PostgreSQL alone says. */
  async expectRight(process: ListProcess, path: string): Promise<void> {
    const [answer, right] = [await process.list(path), await this.plain.list(path)]
    expect({ path, ...answer }).toEqual({ path, ...right })
  }

  async end(): Promise<void> {
    for (const process of [...this.processes, this.plain]) await process.end()
  }

  private memory(writer: number, bytes: number, database: Database) {
    const { region } = this
    const subscriber = new ChangeSubscriber(this.reader(), bytes / 8)
    const inFlight = new InFlightWrites(new FlagReader(region), subscriber)
    const options = {
      subscriber,
      database,
      reader: new TableReader(this.url),
      bytesMax: this.columnBytes,
      log: createLog('error', null),
      retryMs: 200,
      waitMs: 2_000,
      clusters: { rowsMin: 100, bucketRows: 200, msOfRow: 0.00002 },
    }
    const columns = this.columnBytes === 0 ? null : new ColumnStore(options)
    return {
      cache: new ListCache<Reply>(subscriber, inFlight, bytes, columns),
      columns,
      inFlight,
      inclusion: new Inclusion(subscriber, region),
      publisher: new ChangePublisher(new ChangeLogWriter(region, writer), region),
      flags: new FlagWriter(region, writer),
    }
  }
}
