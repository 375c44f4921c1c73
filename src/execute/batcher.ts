// Executions of statements, the progress of writes, and batches: statements that wait at the same time are sent as one.
import { count, seriesOf } from '../metrics/counts.ts'
import type { Batch, BatchableStatement } from '../model/batch.ts'
import { arrayText, type Row, type Statement } from '../model/sql.ts'
import type { DriverQuery } from './driver.ts'
import { BATCH_FAST_MS_MAX, BATCH_RUNS_FIRST, BATCH_RUNS_MAX, BATCH_RUNS_MIN, BATCH_SLOW_MS_MIN } from './limits.ts'
import { isUndone } from './outcomes.ts'

/** A statement that is being executed. */
export interface Execution {
  readonly statement: BatchableStatement
  /**
   * Time by `performance.now()` after which the statement is not sent. Its client gets a 503, which says that nothing was done.
   */
  readonly untilMs: number
  /** True if the statement may wait for a row lock; then no statement is pipelined after it. */
  readonly mayWaitForLock: boolean
  /** Progress of a write; null: the statement changes nothing. */
  readonly progress: WriteProgress | null
  /** Gets each query that is handed to the driver, and its pool. Default: `progress`. */
  readonly listener?: Pick<WriteProgress, 'onDispatch'>
  /** The driver's query of the last attempt. */
  query?: DriverQuery
}

/**
 * Progress of a write. It decides what a client is told after its deadline: that nothing was done, or that the outcome is
 * unknown.
 */
export class WriteProgress {
  /** True if the write was sent and its answer was lost, so that it may have been done. */
  isUnknown = false
  /** Progress of the batch that has the write at the moment; null: no batch has it. */
  private batch: WriteProgress | null = null
  /** True while the write waits in this process, and PostgreSQL has no query of it. */
  waitsInProcess = false
  private query: DriverQuery | null = null
  private pool: object | null = null

  /** Makes the progress of a batch, and gives it to all writes of the batch. */
  static joinBatch(parts: readonly { readonly progress: WriteProgress | null }[]): WriteProgress {
    const batch = new WriteProgress()
    for (const { progress } of parts) if (progress) progress.batch = batch
    return batch
  }

  /** Leaves a batch that has ended. If the outcome of the batch is unknown, the outcome of the write is unknown, too. */
  leaveBatch(): void {
    if (this.batch?.isUnknown) this.isUnknown = true
    this.batch = null
  }

  /** True while the write, or its batch, waits in this process. */
  get isWaiting(): boolean {
    return this.waitsInProcess || this.batch?.isWaiting === true
  }

  /** Notes the driver's query of an attempt, and the pool that gets the query. */
  onDispatch(query: DriverQuery, pool: object): void {
    this.query = query
    this.pool = pool
  }

  /** Forgets the driver's query: its outcome is known. */
  end(): void {
    this.query = null
  }

  /** True if the driver has the query, and no connection has taken it. */
  get isUnsent(): boolean {
    return this.query !== null && this.query.state === null
  }

  /** Cancels the query if no connection has taken it. Returns the query's pool, or null if there was nothing to cancel. */
  cancelUnsent(): object | null {
    if (this.batch) return this.batch.cancelUnsent()
    if (!this.isUnsent) return null
    this.query?.cancel()
    this.query = null
    return this.pool
  }

  /** True if PostgreSQL may have done the write, or may still do it. */
  get mayBeDone(): boolean {
    return this.isUnknown || this.query !== null || this.batch?.mayBeDone === true
  }
}

/** A statement that waits for a batch, or that is in one. */
interface Run extends Pick<Execution, 'statement' | 'progress' | 'untilMs'> {
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

/** Statements of one text, and of one API key if they write. */
interface Queue {
  readonly key: string
  waiting: Run[]
  /** Number of running batches that delay the next one. */
  running: number
}

const BATCHES = { read: seriesOf('batches', 'read'), write: seriesOf('batches', 'write') }
const BATCHED = { read: seriesOf('batched', 'read'), write: seriesOf('batched', 'write') }
/** Maximum number of concurrent batches of one text: PostgreSQL can execute the second while the answer to the first travels. */
const RUNNING_MAX = 2

/**
 * Sends statements together that wait at the same time: statements of one text as one batch, and equal reads as one read. The
 * writes of a batch are of one API key. Each statement is sent after it was requested, so a read sees every earlier write. A
 * batch has the statements that arrived in one turn of the event loop, or while two earlier batches of the text ran.
 *
 * `ListReads` also shares equal reads, by a separate map. A common class would have only this map, because lists are sent in
 * another way than batches: a list is sent when one of its API keys may use a connection, and each client of a list has a
 * separate deadline.
 */
export class Batcher {
  private readonly queues = new Map<string, Queue>()
  /** Queues that are sent at the end of this turn of the event loop. */
  private due = new Set<Queue>()
  /**
   * Maximum number of runs of the next batch. It is halved after a slow batch, because the first run of a batch waits for the
   * last.
   */
  private readonly runsMax = new WeakMap<Batch, number>()

  /** `runningMsMax`: time in ms after which a running batch no longer delays the next one. */
  constructor(
    private readonly run: (execution: Execution) => Promise<Row[]>,
    private readonly runningMsMax: number,
  ) {}

  /** Returns the rows of the statement. It is sent by itself or in a batch, before `untilMs` or not at all. */
  ask(statement: BatchableStatement, untilMs: number, progress: WriteProgress | null = null): Promise<Row[]> {
    const key = keyOf(statement)
    const queue = this.queues.getOrInsertComputed(key, () => ({ key, waiting: [], running: 0 }))
    return new Promise((resolve, reject) => {
      queue.waiting.push({ statement, progress, untilMs, resolve, reject })
      if (queue.running < RUNNING_MAX) this.makeDue(queue)
    })
  }

  /** Sends the queue at the end of this turn of the event loop, when all requests that have arrived are read. */
  private makeDue(queue: Queue) {
    if (this.due.size === 0) setImmediate(this.sendDue)
    this.due.add(queue)
  }

  private readonly sendDue = () => {
    const { due } = this
    this.due = new Set()
    for (const queue of due) while (queue.waiting.length > 0 && queue.running < RUNNING_MAX) this.send(queue)
  }

  private async send(queue: Queue) {
    const { batch } = (queue.waiting[0] as Run).statement
    const runs = dequeue(queue, batch ? (this.runsMax.get(batch) ?? BATCH_RUNS_FIRST) : Number.POSITIVE_INFINITY)
    let delaysNext = true
    const release = () => {
      if (!delaysNext) return
      delaysNext = false
      queue.running--
      if (queue.waiting.length > 0) this.makeDue(queue)
      else if (queue.running === 0) this.queues.delete(queue.key)
    }
    queue.running++
    const timer = setTimeout(release, this.runningMsMax)
    try {
      await this.answer(runs)
    } catch (error) {
      for (const { reject } of runs) reject(error)
    }
    clearTimeout(timer)
    release()
  }

  private async answer(runs: readonly Run[]) {
    const [{ statement, progress, untilMs }] = runs as [Run]
    const { batch } = statement
    if (!batch || runs.length === 1) {
      const rows = await this.runSingle({ statement, progress, untilMs: (runs.at(-1) as Run).untilMs })
      for (const { resolve } of runs) resolve(rows)
      return
    }
    const startMs = performance.now()
    // The first run has waited longest: if it is not late, no run is late. A late run is executed by itself, which sends nothing
    // and ends the run with an error.
    if (untilMs <= startMs) {
      const inTime = runs.filter((run) => run.untilMs > startMs)
      this.runEachSingly(runs.filter((run) => run.untilMs <= startMs))
      if (inTime.length > 0) await this.answer(inTime)
      return
    }
    const kind = progress === null ? 'read' : 'write'
    count(BATCHES[kind])
    count(BATCHED[kind], runs.length)
    const rows = await this.runBatch(batch, runs)
    for (const run of runs) run.progress?.leaveBatch()
    this.learn(batch, runs.length, performance.now() - startMs)
    if (rows) distribute(batch, rows, runs)
    else this.runEachSingly(runs)
  }

  /** Runs several statements as one. Returns null if the batch had no effect, and each statement may succeed by itself. */
  private async runBatch(batch: Batch, runs: readonly Run[]): Promise<Row[] | null> {
    const [{ statement, progress, untilMs }] = runs as [Run]
    const { keyId } = statement
    const execution = {
      statement: { ...joined(batch, runs), keyId },
      untilMs,
      mayWaitForLock: false,
      progress: progress && WriteProgress.joinBatch(runs),
    }
    try {
      return await this.run(execution)
    } catch (error) {
      if (isUndone(error, progress === null)) return null
      throw error
    }
  }

  /** Doubles the maximum of runs after a fast full batch, and halves it after a slow one. */
  private learn(batch: Batch, runs: number, ms: number) {
    const before = this.runsMax.get(batch) ?? BATCH_RUNS_FIRST
    if (ms > BATCH_SLOW_MS_MIN) this.runsMax.set(batch, Math.max(BATCH_RUNS_MIN, Math.min(before, runs) >> 1))
    else if (ms < BATCH_FAST_MS_MAX && runs >= before && before < BATCH_RUNS_MAX) this.runsMax.set(batch, before * 2)
  }

  private runEachSingly(runs: readonly Run[]) {
    for (const run of runs) this.runSingle(run).then(run.resolve, run.reject)
  }

  /** Runs one statement by itself. A single write waits for row locks, while a batch soon gives up. Reads meet no row locks. */
  private runSingle({ statement, progress, untilMs }: Omit<Run, 'resolve' | 'reject'>): Promise<Row[]> {
    return this.run({ statement, untilMs, mayWaitForLock: progress !== null, progress })
  }
}

/** Returns the same key for statements that can be sent as one: runs whose shared values are the same, or equal statements. */
function keyOf({ text, values, batch }: BatchableStatement): string {
  if (!batch) return `${text}\0${JSON.stringify(values)}`
  const { shared = 0 } = batch
  if (shared === 0) return text
  return shared === 1 ? `${values.at(-1)}\0${text}` : `${JSON.stringify(values.slice(-shared))}\0${text}`
}

/** Returns the statement of a batch: an array for each value that may differ, and then the values that all runs share. */
function joined({ text, shared = 0 }: Batch, runs: readonly Run[]): Statement {
  const { values } = (runs[0] as Run).statement
  const differing = values.slice(0, values.length - shared)
  const arrays = differing.map((_, index) => arrayText(runs.map((run) => run.statement.values[index] ?? null)))
  return { text, values: [...arrays, ...values.slice(values.length - shared)] }
}

/** Takes the next runs from the queue, in its order. Of runs with the same `distinct` value it takes only the first. */
function dequeue(queue: Queue, runsMax: number): Run[] {
  const { waiting } = queue
  const distinct = waiting[0]?.statement.batch?.distinct ?? null
  if (distinct === null) return waiting.splice(0, runsMax)
  const taken = new Map<string | null | undefined, Run>()
  queue.waiting = waiting.filter((run) => {
    const value = run.statement.values[distinct]
    if (taken.size === runsMax || taken.has(value)) return true
    taken.set(value, run)
    return false
  })
  return [...taken.values()]
}

/** Resolves each run with its rows of the batch's answer, by the rule of `matchBy`. */
function distribute({ matchBy, keyColumns = [] }: Batch, rows: readonly Row[], runs: readonly Run[]) {
  const answers: Row[][] = runs.map(() => [])
  if (matchBy === 'number') for (const row of rows) answers[Number(row.at(-1)) - 1]?.push(row)
  else if (matchBy === 'numbers') {
    const numbers = (rows[0]?.at(-1) ?? '{}').slice(1, -1).split(',')
    for (const [index, row] of rows.entries()) answers[Number(numbers[index]) - 1]?.push(row)
  } else if (matchBy === 'id') {
    const found = new Map<unknown, Row>()
    for (const row of rows) found.set(row[0], row)
    for (let index = 0; index < runs.length; index++) {
      const row = found.get(runs[index]?.statement.values[0])
      if (row) answers[index]?.push(row)
    }
  } else {
    let next = 0
    runs.forEach(({ statement }, index) => {
      const row = rows[next]
      const isOfRun =
        rows.length === runs.length || keyColumns.every(({ value, column }) => row?.[column] === statement.values[value])
      if (!row || !isOfRun) return
      answers[index]?.push(row)
      next++
    })
  }
  for (const [index, { resolve }] of runs.entries()) resolve(answers[index] as Row[])
}
