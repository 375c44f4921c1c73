// One worker process: its start, its health checks, and its end.
import { join } from 'node:path'
import type { OwnLimits } from '../admit/limiterFiles.ts'
import type { Samples } from '../metrics/counts.ts'
import { withDeadline } from '../os/time.ts'
import { FINISH_MS, type FromWorker, type Ready, type StartMessage, type ToWorker } from './messages.ts'
import { portTaken, StartError } from './startError.ts'

const PROGRAM = join(import.meta.dir, 'workerMain.ts')
/**
 * Size of the machine's memory that the JavaScript engine is told, in bytes. If this size is small, the engine collects garbage
 * early. By default, the engine waits until the heap has doubled, or longer on a machine with more memory: with 24 GB, a worker
 * that needs 40 MB took 150 MB. The engine counts mapped files as heap. So even with a size of 80 MB, it let garbage grow in the
 * first seconds of load: a worker took 186 MB instead of 115 MB.
 */
const MEMORY = { BUN_JSC_forceRAMSize: '70000000' }
const START_MS_MAX = 30_000
/** Time for a worker to close its connections once its requests have finished. */
const CLOSE_MS_MAX = 1_500
/** Maximum number of unanswered pings. Pings are counted, not timed: if the whole machine pauses, no worker counts as hanging. */
const UNANSWERED_PINGS_MAX = 5

/** Maximum time that a scrape waits for the counts of a busy worker; then the worker's last counts are used. */
const POLL_MS_MAX = 500

export class WorkerProcess {
  readonly startedMs = performance.now()
  /** Resolves when the worker answers requests, or waits for the database. @throws StartError if it cannot start */
  readonly ready: Promise<Ready>
  /** True if the worker shall end, so that its end is no reason to replace it. */
  isLeaving = false
  /** True once the worker was ready; before that, pings may stay unanswered. */
  hasBegun = false
  /** Own limits of the keys that the worker has read. */
  limits: OwnLimits = new Set()
  readonly child: Bun.Subprocess
  private unansweredPings = 0
  /** Callbacks for the answers to pings, in the order of the pings. */
  private readonly pingCallbacks: (() => void)[] = []

  /** @throws Error if the process cannot be spawned */
  constructor(message: StartMessage, onKeys: (question: number) => void, onSamples: (samples: Samples) => void) {
    const { promise, resolve, reject } = Promise.withResolvers<Ready>()
    const ipc = (received: FromWorker) => {
      if (received.kind === 'pong') {
        this.unansweredPings = 0
        if (received.samples !== null) onSamples(received.samples)
        this.pingCallbacks.shift()?.()
      } else if (received.kind === 'ready') resolve(received)
      else if (received.kind === 'failed')
        reject(received.code === 'EADDRINUSE' ? portTaken(message.config) : new StartError(received.message))
      else {
        this.limits = received.limits
        onKeys(received.question)
      }
    }
    const env = { ...MEMORY, ...process.env }
    this.child = Bun.spawn([process.execPath, '--no-env-file', PROGRAM], { env, stdio: ['ignore', 'inherit', 'inherit'], ipc })
    this.send(message)
    this.ready = withDeadline(promise, START_MS_MAX, () => {
      this.kill()
      throw new StartError(`a worker was not ready after ${START_MS_MAX / 1_000} seconds`)
    })
    this.ready.then(() => (this.hasBegun = true)).catch(() => undefined)
    this.child.exited.then(() => reject(new StartError(`a worker ended with ${this.end} before it was ready`)))
  }

  get end(): string {
    return String(this.child.signalCode ?? this.child.exitCode)
  }

  send(message: ToWorker): void {
    try {
      this.child.send(message)
    } catch {
      // The process has just ended, which `child.exited` reports.
    }
  }

  /** Sends a ping. Returns false if many pings are unanswered, which means that the worker hangs. */
  ping(): boolean {
    if (this.hasBegun && this.unansweredPings++ >= UNANSWERED_PINGS_MAX) return false
    this.sendPing()
    return true
  }

  /** Resolves when the worker has sent its current counts, or after `POLL_MS_MAX`. */
  async poll(): Promise<void> {
    await withDeadline(this.sendPing(), POLL_MS_MAX, () => undefined)
  }

  private sendPing(): Promise<void> {
    this.send({ kind: 'ping' })
    return new Promise((answered) => this.pingCallbacks.push(answered))
  }

  /**
   * Makes the worker stop: clients have `leaveMs` to leave, then requests have `finishMs` to finish. Resolves when the process
   * has ended.
   */
  async leave(leaveMs: number, finishMs = FINISH_MS): Promise<void> {
    this.isLeaving = true
    this.send({ kind: 'stop', leaveMs, finishMs })
    const timer = setTimeout(() => this.kill(), leaveMs + finishMs + CLOSE_MS_MAX)
    await this.child.exited
    clearTimeout(timer)
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }
}
