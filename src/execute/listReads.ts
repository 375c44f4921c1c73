// Lists that are read from the database, over a pool that API keys share fairly.
import { ApiError } from '../errors.ts'
import type { BatchableStatement } from '../model/batch.ts'
import type { Caller } from '../model/key.ts'
import type { ListCost } from '../model/listCost.ts'
import { LruCache } from '../model/lruCache.ts'
import { param, type Row, type Statement, sql, toStatement } from '../model/sql.ts'
import { Deadlines } from '../os/time.ts'
import { busyWithCostlyLists, CostlyLists } from './costlyLists.ts'
import type { Database } from './database.ts'
import { FairSemaphore } from './fairSemaphore.ts'
import {
  CLIENT_CHECK_MS,
  DEADLINE_CHECK_MS,
  LIST_FAST_MS_MAX,
  LISTS_SHARE,
  LISTS_WAITING_MAX,
  LISTS_WAITING_PER_KEY_MAX,
  QUERY_MS_MAX,
  STATEMENT_MS_MAX,
} from './limits.ts'
import { retryLater } from './outcomes.ts'

/**
 * Time in ms for which lists of one row's children use the list pool after one of them was slow. It is limited, since the cause
 * may have been a lock.
 */
const SLOW_FOR_MS = 60_000
const SLOW_BYTES_MAX = 256 * 1024

/** SQLSTATE of a statement that PostgreSQL ended, after its timeout or by a cancel request. */
const QUERY_CANCELED = '57014'
/** SQLSTATE of a statement that needs more temporary files than `temp_file_limit` allows. */
const LIMIT_EXCEEDED = '53400'

/** Error of a list that was given up because all of its clients have left. */
export class Abandoned extends ApiError {
  constructor() {
    super('ServiceUnavailable', 'The client has left.', { headers: { 'Retry-After': '1' } })
  }
}

/** Message for a list that PostgreSQL ended, and would end again. */
const TOO_COSTLY = `The list took longer than ${STATEMENT_MS_MAX / 1_000} seconds, or sorted too many rows, and was ended.`

/**
 * Divides a pool's connections between lists, which may take long, and all other statements. If the pool has two connections or
 * more, `others` is at least two, because a write that waits for a lock may use one of them.
 */
export function shareConnections(poolSize: number): { lists: number; others: number } {
  const lists = Math.max(1, Math.floor(poolSize * LISTS_SHARE))
  return { lists, others: Math.max(Math.min(2, poolSize), poolSize - lists) }
}

interface ListReadsOptions {
  /** Reads lists that are likely to be fast. It also sends the cancel requests for statements of the list pool. */
  readonly sharedPool: Database
  /** Reads lists that may take long. */
  readonly listPool: Database
  /** Number of connections in the list pool, which API keys share fairly. */
  readonly connections: number
  /** False behind a pooler: the process ids that it reports are not those of PostgreSQL's backends. */
  readonly mayCancel: boolean
  /** Called once for each backend, with its process id, soon after it has begun its first list. */
  readonly onBackend?: ((backend: number) => void) | undefined
}

/** Cost of a list of which nothing is known. */
const UNKNOWN_COST: ListCost = { parentRow: null, isCostly: false }

/** Time after which the backend of a list is looked up again, if its connection was still being opened. */
const CONNECTED_MS = 100
/** Maximum number of backends that are remembered. Beyond it, all are forgotten, and each is reported again. */
const BACKENDS_MAX = 1_000

/**
 * Reads lists, which may take seconds, over a separate pool, so that no other statement queues after a list. API keys share the
 * pool's connections fairly. Equal lists that wait share one statement. When all clients of a statement have left, the statement
 * is ended, or it is not sent.
 *
 * `Batcher` shares equal reads, too. Its comment says why there is no common class.
 */
export class ListReads {
  private readonly semaphore: FairSemaphore
  private readonly costly: CostlyLists
  private readonly deadlines = new Deadlines(QUERY_MS_MAX, DEADLINE_CHECK_MS)
  /** Lists that wait, by text and values. */
  private readonly queue = new Map<string, QueuedList>()
  /**
   * Time by `performance.now()` until which the lists of a parent row's children use the list pool, because one of them was slow.
   */
  private readonly slow = new LruCache<number>(SLOW_BYTES_MAX, (_, key) => 64 + 2 * key.length)
  /** Process ids of the backends that were reported to `onBackend`. */
  private readonly backends = new Set<number>()

  constructor(private readonly options: ListReadsOptions) {
    this.semaphore = new FairSemaphore(options.connections)
    this.costly = new CostlyLists(options.connections)
  }

  /** Reads a list, over the shared pool if it is likely to be fast. @throws ApiError 500, 503, TooCostly; Abandoned */
  async read(statement: BatchableStatement, caller: Caller, cost: ListCost = UNKNOWN_COST): Promise<Row[]> {
    const { parentRow } = cost
    const startMs = performance.now()
    if (parentRow === null || !statement.batch || startMs < (this.slow.get(parentRow) ?? 0))
      return this.readFairly(statement, caller, cost)
    try {
      return await this.options.sharedPool.read(statement)
    } catch (error) {
      if (!wasEnded(error)) throw error
      this.costly.note(parentRow, performance.now() - startMs)
    } finally {
      const endMs = performance.now()
      if (endMs - startMs > LIST_FAST_MS_MAX) this.slow.set(parentRow, endMs + SLOW_FOR_MS)
    }
    // PostgreSQL ended the batch with this list, because the list or another list of the batch took too long. So the list is now
    // sent by itself.
    return this.readFairly(statement, caller, cost)
  }

  /** Waits until the API key may use a connection of the list pool, and reads the list over it. */
  private async readFairly(statement: Statement, caller: Caller, cost: ListCost): Promise<Row[]> {
    const waiting = this.semaphore.waitingOf(caller.key) + this.costly.waitingOf(caller.key)
    if (waiting >= LISTS_WAITING_PER_KEY_MAX || this.queue.size >= LISTS_WAITING_MAX) throw tooManyLists()
    const key = `${statement.text}\0${JSON.stringify(statement.values)}`
    const kind = cost.parentRow ?? String(Bun.hash(statement.text))
    const isCostly = this.costly.has(cost, kind)
    const list = this.queue.getOrInsertComputed(key, () => queuedListOf(statement, kind))
    list.untilMs = performance.now() + QUERY_MS_MAX
    list.callers++
    this.acquire(caller.key, isCostly, list).then((release) => {
      if (list.isSent) return release()
      list.isSent = true
      this.queue.delete(key)
      const answer = isCostly ? this.costly.run(list.untilMs, () => this.run(list)) : this.run(list)
      answer.then(list.resolve, list.reject).finally(release)
    })
    const unwatch = watchLeaving(caller, () => this.cancelFor(key, list))
    try {
      return await this.deadlines.race(list.promise, isCostly ? busyWithCostlyLists : tooManyLists)
    } finally {
      unwatch()
    }
  }

  /** Resolves when the API key may use a connection for the list, with the function that gives the connection back. */
  private async acquire(keyId: string, isCostly: boolean, list: QueuedList): Promise<() => void> {
    if (!isCostly) return this.semaphore.take(keyId)
    const releaseCostly = await this.costly.take(keyId)
    if (list.isSent) return releaseCostly
    const releaseConnection = await this.semaphore.take(keyId)
    return () => {
      releaseConnection()
      releaseCostly()
    }
  }

  /** Sends a list over the list pool. Sends it once more if it was ended by a cancel request for an earlier statement. */
  private async run(list: QueuedList, attempts = 2): Promise<Row[]> {
    const startMs = performance.now()
    const note = () => this.costly.note(list.kind, performance.now() - startMs)
    try {
      const rows = await this.options.listPool.readUnbatched(list.statement, list.untilMs, (backend) => {
        list.backend = backend
        if (this.options.onBackend) setImmediate(this.noteBackend, backend)
      })
      note()
      return rows
    } catch (error) {
      if (!wasEnded(error)) throw error
      const { cause } = error
      if (cause.code === QUERY_CANCELED) {
        if (list.callers === 0) throw new Abandoned()
        // The clients of the list have not left. If its timeout is not near either, the cancel request was meant for the
        // statement that the backend ran before.
        const isEarly = performance.now() - startMs < STATEMENT_MS_MAX / 2
        if (isEarly && attempts > 1) return this.run(list, attempts - 1)
      }
      note()
      throw new ApiError('TooCostly', TOO_COSTLY, { cause })
    } finally {
      list.backend = () => null
    }
  }

  private readonly noteBackend = (backend: () => number | null, isAgain = false) => {
    const number = backend()
    // Without a process id, the connection is still being opened.
    if (number === null && !isAgain) setTimeout(this.noteBackend, CONNECTED_MS, backend, true)
    if (number === null || this.backends.has(number)) return
    if (this.backends.size >= BACKENDS_MAX) this.backends.clear()
    this.backends.add(number)
    this.options.onBackend?.(number)
  }

  /**
   * Notes that one of the list's clients has left. After the last client has left, the list is not sent, or its statement is
   * ended.
   */
  private cancelFor(key: string, list: QueuedList): void {
    list.callers--
    if (list.callers > 0) return
    if (!list.isSent) {
      list.isSent = true
      this.queue.delete(key)
      list.reject(new Abandoned())
      return
    }
    const backend = list.backend()
    if (backend === null || !this.options.mayCancel) return
    // If the cancel request fails, PostgreSQL ends the statement after `STATEMENT_MS_MAX`.
    const cancelling = toStatement(sql`select pg_cancel_backend(${param(String(backend))})`)
    this.options.sharedPool.read(cancelling).catch(() => undefined)
  }
}

/** Returns whether PostgreSQL has ended the statement: by `statement_timeout`, `temp_file_limit` or a cancel request. */
export function wasEnded(error: unknown): error is { cause: { code: string } } {
  const { code } = ((error as ApiError).cause ?? {}) as { code?: unknown }
  return code === QUERY_CANCELED || code === LIMIT_EXCEEDED
}

/**
 * Calls `leave` when the client has left. Returns the function that ends the watch. The first check comes when most lists have
 * ended, because reading a request's signal costs CPU.
 */
function watchLeaving({ request }: Caller, leave: () => void): () => void {
  let signal: AbortSignal | null = null
  const timer = setTimeout(() => {
    signal = request.signal
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave)
  }, CLIENT_CHECK_MS)
  return () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
  }
}

/** A list that waits or runs, with its result for all callers who wait for it. */
type QueuedList = ReturnType<typeof queuedListOf>

function queuedListOf(statement: Statement, kind: string) {
  return {
    ...Promise.withResolvers<Row[]>(),
    statement,
    /** Name of lists that are likely to cost the same. */
    kind,
    /** Time by `performance.now()` after which the list's last caller gets a 503. */
    untilMs: 0,
    /** Number of callers who wait for the list. */
    callers: 0,
    /** True once the list is sent or given up. */
    isSent: false,
    /** Returns the process id of the backend that runs the list; null: no backend runs it. */
    backend: (): number | null => null,
  }
}

/** Returns the error 503 of a list that waited too long for a connection. */
export function tooManyLists(): ApiError {
  return retryLater('The server is busy with other lists; retry after the seconds in Retry-After.')
}
