// Worker processes on one port: starts them, replaces workers that end or hang, and renews all workers on request.
import type { LimiterTables, OwnLimits } from '../admit/limiterFiles.ts'
import { errorOf } from '../errors.ts'
import { LONG_WRITE_MS_MAX } from '../execute/limits.ts'
import type { Log } from '../log.ts'
import { MetricSums } from '../metrics/sums.ts'
import type { Ready, StartMessage } from './messages.ts'
import { StartError } from './startError.ts'
import { WorkerProcess } from './workerProcess.ts'

interface PoolOptions {
  count: number
  log: Log
  /** Returns the message that starts a worker. `port`: the port of the running workers; null for the first worker. */
  startMessage(port: number | null): StartMessage
  /**
   * Called when a worker has read new keys. `limits`: the own limits of all workers' keys. Returns the tables for these limits.
   */
  onKeys(limits: OwnLimits): LimiterTables
  /** Called when a restart is over. `isDone`: false if a new worker could not start, so that the remaining old workers stayed. */
  onRestarted(isDone: boolean): void
}

/**
 * Time after which a worker counts as steady: if it ends later, it did not fail at its start, and is replaced without a pause.
 */
const STEADY_MS = 2_000
const PAUSE_MS_MAX = 5_000
/** Time for clients to leave a worker that is replaced. */
const RESTART_LEAVE_MS = 2_000
/** Time for the requests of a replaced worker to finish: longer than any request takes, except a stream. */
const RESTART_FINISH_MS = LONG_WRITE_MS_MAX + 5_000
const PING_EVERY_MS = 2_000

export class WorkerPool {
  readonly workers = new Set<WorkerProcess>()
  readonly sums = new MetricSums()
  private port: number | null = null
  private isStopping = false
  private failures = 0
  /** Count of workers that ended unexpectedly, or hung, and were replaced. */
  replacements = 0
  /** Resolves when all workers have started, or the last restart is over. */
  private restarted: Promise<void> = Promise.resolve()
  private isRestartWanted = false

  constructor(private readonly options: PoolOptions) {
    setInterval(() => this.ping(), PING_EVERY_MS).unref()
  }

  /** Resolves when all workers are ready. @throws StartError if a worker cannot start */
  async start(): Promise<Ready> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.restarted = promise
    // If PORT is 0, the first worker gets a free port, which the other workers share.
    const ready = await this.launch().ready
    this.port = ready.port
    if (this.isStopping) throw new StartError('the server was stopped while it started')
    await Promise.all(Array.from({ length: this.options.count - 1 }, () => this.launch().ready))
    resolve()
    return ready
  }

  /** Updates `sums` with the current counts of all workers that answer soon. */
  async poll(): Promise<void> {
    await Promise.all([...this.workers].map((worker) => worker.poll()))
  }

  /** Replaces one worker after the other; each leaves when its successor is ready, so that no request is refused. */
  restart(): void {
    if (this.isRestartWanted) return
    this.isRestartWanted = true
    this.restarted = this.restarted.then(() => this.replaceAll())
  }

  private async replaceAll() {
    this.isRestartWanted = false
    const isDone = await this.replaceEach()
    if (!this.isStopping) this.options.onRestarted(isDone)
  }

  /** Replaces the workers in turn. Returns false if a new worker cannot start; then the remaining old workers stay. */
  private async replaceEach(): Promise<boolean> {
    const { log } = this.options
    for (const worker of [...this.workers]) {
      if (this.isStopping) return false
      if (!this.workers.has(worker)) continue // the worker has died, and has a successor
      worker.isLeaving = true // if the worker dies now, the worker launched below is its successor
      try {
        await this.launch().ready
      } catch (error) {
        if (this.isStopping) return false
        worker.isLeaving = false
        log.error('restart given up: a new worker cannot start', { error: errorOf(error).message })
        if (!this.workers.has(worker)) this.replace(worker)
        return false
      }
      if (this.workers.has(worker)) await worker.leave(RESTART_LEAVE_MS, RESTART_FINISH_MS)
    }
    if (!this.isStopping) log.info('restart done: all workers are new')
    return true
  }

  /** Lets clients leave for `leaveMs` and requests finish, then ends all workers. */
  async stop(leaveMs: number): Promise<void> {
    this.isStopping = true
    await Promise.all([...this.workers].map((worker) => worker.leave(leaveMs)))
  }

  private launch(): WorkerProcess {
    const { startMessage, onKeys } = this.options
    const worker: WorkerProcess = new WorkerProcess(
      startMessage(this.port),
      (question) => {
        const limits = new Set([...this.workers].flatMap((one) => [...one.limits]))
        worker.send({ kind: 'tables', tables: onKeys(limits), question })
      },
      (samples) => this.sums.note(worker, samples),
    )
    this.workers.add(worker)
    this.sums.enter(worker)
    worker.child.exited.then(() => {
      this.workers.delete(worker)
      this.sums.leave(worker)
      if (worker.hasBegun && !worker.isLeaving && !this.isStopping) this.replace(worker)
    })
    return worker
  }

  /** Pings all workers. Kills a worker that hangs, so that it is replaced; otherwise, it would keep its database connections. */
  private ping() {
    for (const worker of this.workers) {
      if (worker.ping()) continue
      this.options.log.error('a worker does not answer: it is killed and replaced', { pid: worker.child.pid })
      worker.kill()
    }
  }

  /**
   * Starts a successor: at once, or after growing pauses if workers die early. `failed`: the error of a successor that could not
   * start; null if a running worker has ended.
   */
  private async replace(worker: WorkerProcess, failed: Error | null = null) {
    const { log } = this.options
    // Only a worker that was running can count as steady: a start that fails may take longer than `STEADY_MS`, too.
    if (failed === null && performance.now() - worker.startedMs > STEADY_MS) this.failures = 0
    const pauseMs = this.failures === 0 ? 0 : Math.min(100 * 2 ** (this.failures - 1), PAUSE_MS_MAX)
    this.failures++
    if (failed === null) {
      this.replacements++
      log.error('a worker ended: it is replaced', { pid: worker.child.pid, end: worker.end, pauseMs })
    } else log.error('a worker cannot start: it is tried again', { error: failed.message, pauseMs })
    await Bun.sleep(pauseMs)
    if (this.isStopping) return
    try {
      await this.launch().ready // from now on `launch` watches the new worker
    } catch (error) {
      if (!this.isStopping) this.replace(worker, errorOf(error))
    }
  }
}
