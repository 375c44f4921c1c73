// Lists that are read from the database: connections of their own, shared fairly by keys.
import { ApiError } from '../errors.ts'
import type { BatchableStatement } from '../model/batch.ts'
import type { Caller } from '../model/key.ts'
import type { ListCost } from '../model/listCost.ts'
import { LruCache } from '../model/lruCache.ts'
import { param, type Row, type Statement, sql, toStatement } from '../model/sql.ts'
import { busyWithCostlyLists, CostlyLists } from './costlyLists.ts'
import type { Database } from './database.ts'
import { Deadlines } from './deadlines.ts'
import { FairSemaphore } from './fairSemaphore.ts'
import {
  CLIENT_CHECK_MS,
  LIST_FAST_MS_MAX,
  LISTS_SHARE,
  LISTS_WAITING_MAX,
  LISTS_WAITING_PER_KEY_MAX,
  QUERY_MS_MAX,
  STATEMENT_MS_MAX,
} from './limits.ts'
import { retryLater } from './outcomes.ts'

/** Time for which lists of a row wait for turns after one was slow: a lock or a pause of the database may have held it up. */
const SLOW_FOR_MS = 60_000
const SLOW_BYTES_MAX = 256 * 1024

/** SQLSTATEs of statements that PostgreSQL ended: by their time or by a request, or for too many temporary files. */
const [ENDED, TOO_MANY_FILES] = ['57014', '53400']

/** A list that was given up, since all clients that it was read for have left. */
export class Abandoned extends ApiError {
  constructor() {
    super('ServiceUnavailable', 'The client has left.', { headers: { 'Retry-After': '1' } })
  }
}

/** Message for a list that PostgreSQL ended. Asked for again, it would end so again. */
const TOO_COSTLY = `The list took longer than ${STATEMENT_MS_MAX / 1_000} seconds, or sorted too many rows, and was ended.`

/** Divides a pool between lists, which may take long, and all else: at least two for that, since a write may wait for a lock. */
export function shareConnections(poolSize: number): { lists: number; others: number } {
  const lists = Math.max(1, Math.floor(poolSize * LISTS_SHARE))
  return { lists, others: Math.max(Math.min(2, poolSize), poolSize - lists) }
}

interface ListReadsOptions {
  /** For lists that are likely to be short, and to end others. */
  readonly sharedPool: Database
  /** For all others: its connections are the places that keys take turns at. */
  readonly listPool: Database
  readonly places: number
  /** True if the backend's number is that of PostgreSQL, and not of a pooler. */
  readonly mayCancel: boolean
  /** Called with each backend that runs a list, soon after it has begun the first one. */
  readonly onBackend?: ((backend: number) => void) | undefined
}

/** The demand of a statement of which nothing is known. */
const UNKNOWN: ListCost = { parentRow: null, isCostly: false }

/** Time after which the backend of a list is looked up again that had no connection yet. */
const CONNECTED_MS = 100
/** Backends that are known; then they are forgotten, and reported again. */
const BACKENDS_MAX = 1_000

/**
 * Reads lists, which may take seconds, over connections of their own, one statement on each, so that no other statement
 * queues behind one. Keys take turns, by what they have used of late; equal lists that wait are one statement; and one whose
 * clients have all left is not sent, or ended.
 */
export class ListReads {
  private readonly turns: FairSemaphore
  private readonly costly: CostlyLists
  private readonly deadlines = new Deadlines(QUERY_MS_MAX)
  private readonly queue = new Map<string, QueuedList>()
  /** Until when lists of one row, by that row, wait for a turn, since one was found to take long. */
  private readonly slow = new LruCache<number>(SLOW_BYTES_MAX, (_, key) => 64 + 2 * key.length)
  private readonly backends = new Set<number>()

  constructor(private readonly options: ListReadsOptions) {
    this.turns = new FairSemaphore(options.places)
    this.costly = new CostlyLists(options.places)
  }

  /** @throws ApiError 500, 503; Abandoned; TooCostly */
  async read(statement: BatchableStatement, caller: Caller, demand: ListCost = UNKNOWN): Promise<Row[]> {
    const { parentRow } = demand
    const startMs = performance.now()
    if (parentRow === null || !statement.batch || startMs < (this.slow.get(parentRow) ?? 0))
      return this.inTurn(statement, caller, demand)
    try {
      return await this.options.sharedPool.read(statement)
    } catch (error) {
      if (!wasEnded(error)) throw error
      this.costly.note(parentRow, performance.now() - startMs)
    } finally {
      const endMs = performance.now()
      if (endMs - startMs > LIST_FAST_MS_MAX) this.slow.set(parentRow, endMs + SLOW_FOR_MS)
    }
    // The statement, or another one in its batch, took too long: it is sent alone.
    return this.inTurn(statement, caller, demand)
  }

  private async inTurn(statement: Statement, caller: Caller, demand: ListCost): Promise<Row[]> {
    const waiting = this.turns.waitingOf(caller.key) + this.costly.waitingOf(caller.key)
    if (waiting >= LISTS_WAITING_PER_KEY_MAX || this.queue.size >= LISTS_WAITING_MAX) throw tooManyLists()
    const key = `${statement.text}\0${JSON.stringify(statement.values)}`
    const kind = demand.parentRow ?? String(Bun.hash(statement.text))
    const isCostly = this.costly.has(demand, kind)
    const list = this.queue.getOrInsertComputed(key, () => queuedListOf(statement, kind))
    list.untilMs = performance.now() + QUERY_MS_MAX
    list.askers++
    this.take(caller.key, isCostly, list).then((release) => {
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

  /** Resolves when the list's turn has come, with what ends it. */
  private async take(keyId: string, isCostly: boolean, list: QueuedList): Promise<() => void> {
    if (!isCostly) return this.turns.take(keyId)
    const end = await this.costly.take(keyId)
    if (list.isSent) return end
    const release = await this.turns.take(keyId)
    return () => {
      release()
      end()
    }
  }

  private async run(list: QueuedList, attempts = 2): Promise<Row[]> {
    const startMs = performance.now()
    const note = () => this.costly.note(list.kind, performance.now() - startMs)
    try {
      const rows = await this.options.listPool.readAlone(list.statement, list.untilMs, (backend) => {
        list.backend = backend
        if (this.options.onBackend) setImmediate(this.noteBackend, backend)
      })
      note()
      return rows
    } catch (error) {
      if (!wasEnded(error)) throw error
      const { cause } = error
      if (cause.code === ENDED) {
        if (list.askers === 0) throw new Abandoned()
        // Meant for the statement that its backend ran before.
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
    // Its connection is opened at this moment.
    if (number === null && !isAgain) setTimeout(this.noteBackend, CONNECTED_MS, backend, true)
    if (number === null || this.backends.has(number)) return
    if (this.backends.size >= BACKENDS_MAX) this.backends.clear()
    this.backends.add(number)
    this.options.onBackend?.(number)
  }

  private cancelFor(key: string, list: QueuedList): void {
    if (--list.askers > 0) return
    if (!list.isSent) {
      list.isSent = true
      this.queue.delete(key)
      list.reject(new Abandoned())
      return
    }
    const backend = list.backend()
    if (backend === null || !this.options.mayCancel) return
    // Where that fails, PostgreSQL ends the statement after its 3 seconds.
    const cancelling = toStatement(sql`select pg_cancel_backend(${param(String(backend))})`)
    this.options.sharedPool.read(cancelling).catch(() => undefined)
  }
}

/** Returns whether PostgreSQL has cancelled the statement, by `statement_timeout` or `temp_file_limit`. */
function wasEnded(error: unknown): error is { cause: { code: string } } {
  const { code } = ((error as ApiError).cause ?? {}) as { code?: unknown }
  return code === ENDED || code === TOO_MANY_FILES
}

/** Calls `leave` when the client has left. Quick lists are there before it is asked: reading a request's signal costs CPU. */
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

type QueuedList = ReturnType<typeof queuedListOf>

function queuedListOf(statement: Statement, kind: string) {
  return {
    ...Promise.withResolvers<Row[]>(),
    statement,
    /** Lists that are likely to cost the same. */
    kind,
    /** When the last of its askers has its 503. */
    untilMs: 0,
    askers: 0,
    isSent: false,
    /** The backend that runs it; null: none does. */
    backend: (): number | null => null,
  }
}

/** 503: the list waited too long for a connection. */
export function tooManyLists(): ApiError {
  return retryLater('The server is busy with other lists; retry after the seconds in Retry-After.')
}
