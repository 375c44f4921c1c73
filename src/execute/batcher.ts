// Batches: statements that wait at the same time go to the database as one.
import { count, seriesOf } from '../metrics/counts.ts'
import type { Batch, BatchableStatement } from '../model/batch.ts'
import { arrayText, type Row, type Statement } from '../model/sql.ts'
import { type Execution, WriteProgress } from './execution.ts'
import { BATCH_FAST_MS_MAX, BATCH_RUNS_FIRST, BATCH_RUNS_MAX, BATCH_RUNS_MIN, BATCH_SLOW_MS_MIN } from './limits.ts'
import { isUndone } from './outcomes.ts'

interface Run {
  readonly statement: BatchableStatement
  /** Null for reads. */
  readonly progress: WriteProgress | null
  /** By `performance.now()`; afterwards its client has its answer, and it is not sent any more. */
  readonly untilMs: number
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

interface Queue {
  readonly key: string
  waiting: Run[]
  running: number
}

const BATCHES = { read: seriesOf('batches', 'read'), write: seriesOf('batches', 'write') }
const BATCHED = { read: seriesOf('batched', 'read'), write: seriesOf('batched', 'write') }
/** Batches of one text at once: the second one works while the first one's answer travels. */
const RUNNING_MAX = 2

/**
 * Statements that wait for the database at the same time go to it together: those that differ in their values alone, writes of
 * one key, as one batch, and equal reads as one read. Each is sent after it was asked for, so a read sees all that was there
 * before, and none waits for company: a batch is what has arrived in one turn of the event loop, or while two others ran.
 */
export class Batcher {
  private readonly queues = new Map<string, Queue>()
  private due = new Set<Queue>()
  /** How many runs a batch may have: halved after a slow one, since its first run waits for its last. */
  private readonly runsMax = new WeakMap<Batch, number>()

  /** `waitMsMax`: time after which a statement is given up. `runningMsMax`: time after which a batch holds up no others. */
  constructor(
    private readonly run: (execution: Execution) => Promise<Row[]>,
    private readonly waitMsMax: number,
    private readonly runningMsMax: number,
  ) {}

  /** `progress`: null for reads. */
  ask(statement: BatchableStatement, progress: WriteProgress | null = null): Promise<Row[]> {
    const key = keyOf(statement)
    const queue = this.queues.getOrInsertComputed(key, () => ({ key, waiting: [], running: 0 }))
    return new Promise((resolve, reject) => {
      const untilMs = performance.now() + this.waitMsMax
      queue.waiting.push({ statement, progress, untilMs, resolve, reject })
      if (queue.running < RUNNING_MAX) this.makeDue(queue)
    })
  }

  /** At the end of this turn of the event loop, when all that has arrived is read. */
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
    const runs = take(queue, batch ? (this.runsMax.get(batch) ?? BATCH_RUNS_FIRST) : Number.POSITIVE_INFINITY)
    let isHolding = true
    const release = () => {
      if (!isHolding) return
      isHolding = false
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
      const rows = await this.alone({ statement, progress, untilMs: (runs.at(-1) as Run).untilMs })
      for (const { resolve } of runs) resolve(rows)
      return
    }
    // The first run has waited longest: where its client has been answered, so may others have been.
    if (untilMs <= performance.now()) return this.runAlone(runs)
    const { text, values } = joined(batch, runs, statement.keyId)
    const startMs = performance.now()
    const whole = progress && WriteProgress.joinBatch(runs)
    const kind = progress === null ? 'read' : 'write'
    count(BATCHES[kind])
    count(BATCHED[kind], runs.length)
    const { keyId } = statement
    const execution = { statement: { text, values, keyId }, untilMs, mayWaitForLock: false, progress: whole }
    const rows = await this.run(execution).catch((error) => {
      // null: each run is tried alone.
      if (isUndone(error, progress === null)) return null
      throw error
    })
    for (const run of runs) run.progress?.leaveBatch()
    this.learn(batch, runs.length, performance.now() - startMs)
    if (rows) distribute(batch, rows, runs)
    else this.runAlone(runs)
  }

  private learn(batch: Batch, runs: number, ms: number) {
    const before = this.runsMax.get(batch) ?? BATCH_RUNS_FIRST
    if (ms > BATCH_SLOW_MS_MIN) this.runsMax.set(batch, Math.max(BATCH_RUNS_MIN, Math.min(before, runs) >> 1))
    else if (ms < BATCH_FAST_MS_MAX && runs >= before && before < BATCH_RUNS_MAX) this.runsMax.set(batch, before * 2)
  }

  private runAlone(runs: readonly Run[]) {
    for (const run of runs) this.alone(run).then(run.resolve, run.reject)
  }

  /** A batch gives up on locks soon, a write by itself waits for them; reads meet none. */
  private alone({ statement, progress, untilMs }: Pick<Run, 'statement' | 'progress' | 'untilMs'>): Promise<Row[]> {
    return this.run({ statement, untilMs, mayWaitForLock: progress !== null, progress })
  }
}

/** Key of statements that can be one. */
function keyOf({ text, values, batch, keyId }: BatchableStatement): string {
  if (!batch) return `${text}\0${JSON.stringify(values)}`
  return keyId === undefined ? text : `${keyId}\0${text}`
}

function joined({ text }: Batch, runs: readonly Run[], keyId: string | undefined): Statement {
  const values = (runs[0] as Run).statement.values.slice(0, keyId === undefined ? undefined : -1)
  const arrays = values.map((_, index) => arrayText(runs.map((run) => run.statement.values[index] ?? null)))
  return { text, values: keyId === undefined ? arrays : [...arrays, keyId] }
}

function take(queue: Queue, runsMax: number): Run[] {
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

function distribute({ matchBy, keyColumns = [] }: Batch, rows: readonly Row[], runs: readonly Run[]) {
  const answers: Row[][] = runs.map(() => [])
  if (matchBy === 'number') for (const row of rows) answers[Number(row.at(-1)) - 1]?.push(row)
  else if (matchBy === 'id') {
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
      const isOwn =
        rows.length === runs.length || keyColumns.every(({ value, column }) => row?.[column] === statement.values[value])
      if (!row || !isOwn) return
      answers[index]?.push(row)
      next++
    })
  }
  for (const [index, { resolve }] of runs.entries()) resolve(answers[index] as Row[])
}
