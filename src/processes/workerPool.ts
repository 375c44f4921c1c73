import { join } from 'node:path'
import type { Log } from '../log.ts'
import type { FromWorker, ReportMessage, StartMessage, ToWorker } from './messages.ts'

interface Options {
  count: number
  log: Log
  /** Asked before each start of a process. `port`: of those that run; null for the first. */
  startMessage(port: number | null, process: number): StartMessage
  /** The process with this number has ended, or never began. */
  onEnd(process: number): void
  onReport(report: ReportMessage): void
}

interface Member {
  readonly child: Bun.Subprocess
  readonly startedMs: number
  readonly ready: Promise<{ url: string; port: number }>
  isLeaving: boolean
  /** Pings without an answer, in a row. */
  silence: number
}

/** A worker's start went wrong. `code` as of a system error, or ''. */
export class WorkerFailed extends Error {
  /** `isAskedFor`: it did not die of its start: a signal, or a request to leave, ended it. */
  constructor(
    message: string,
    readonly code: string,
    readonly isAskedFor = false,
  ) {
    super(message)
  }
}

const PROGRAM = join(import.meta.dir, 'workerMain.ts')
/**
 * The engine collects garbage when the heap has doubled, or later the more memory the machine has: with 24 GB a worker
 * that needs 40 MB took 150. With so many bytes it collects earlier. (It takes mapped files for heap: 80 MB, and the
 * first seconds of load took 186 MB instead of 115.)
 */
const MEMORY = { BUN_JSC_forceRAMSize: '70000000' }
const START_MS_MAX = 30_000
/** A worker that was killed while it started is started again, but not for ever: memory may be short. */
const STARTS_MAX = 5
/** Who has run that long has not died of its start, and is replaced without a pause. */
const STEADY_MS = 2_000
const PAUSE_MS_MAX = 5_000
/** Over what a worker takes by itself: its clients leave, its requests finish, its connections close. */
const STOP_MS_MAX = 2_500
const RESTART_LEAVE_MS = 2_000
const PING_EVERY_MS = 2_000
/** Counted, not timed: when the whole machine stands still, nobody is to blame. */
const SILENCE_MAX = 5
/** Until it is ready it may take its time. */
const STARTING = Number.NEGATIVE_INFINITY

/** Worker processes on one port: one that ends unasked is replaced. */
export class WorkerProcesses {
  private readonly members = new Set<Member>()
  private port: number | null = null
  private isStopping = false
  private failures = 0
  private launches = 0
  /** Resolves when all have started, or the last exchange is over. */
  private settled: Promise<void> = Promise.resolve()
  private isRestartWanted = false

  constructor(private readonly options: Options) {
    setInterval(() => this.ping(), PING_EVERY_MS).unref()
  }

  /** Resolves when all are ready. @throws WorkerFailed when one cannot start */
  async start(): Promise<{ url: string; processes: number }> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.settled = promise
    // The first finds the port, where any will do.
    const { url, port } = await this.begin()
    this.port = port
    if (this.isStopping) throw new WorkerFailed('the server was stopped while it started', '')
    const others = Array.from({ length: this.options.count - 1 }, () => this.begin())
    await Promise.all(others)
    resolve()
    return { url, processes: this.options.count }
  }

  broadcast(message: ToWorker): void {
    for (const { child } of this.members) send(child, message)
  }

  /** Replaces one process after the other; each leaves when its successor is ready, so that nobody is refused. */
  restart(): void {
    if (this.isRestartWanted) return
    this.isRestartWanted = true
    this.settled = this.settled.then(() => this.exchange())
  }

  private async exchange() {
    this.isRestartWanted = false
    const { log } = this.options
    for (const member of [...this.members]) {
      if (this.isStopping) return
      if (!this.members.has(member)) continue // it has died, and has a successor
      member.isLeaving = true // so that, should it die now, its successor is this one
      try {
        await this.begin()
      } catch (error) {
        if (this.isStopping) return
        member.isLeaving = false
        log.error('the workers stay as they are: a new one cannot start', { error: (error as Error).message })
        if (!this.members.has(member)) this.replace(member)
        return
      }
      if (this.members.has(member)) await this.leave(member, RESTART_LEAVE_MS)
    }
    if (!this.isStopping) log.info('all workers are new')
  }

  /** Lets clients leave for `leaveMs` and what runs finish, then ends all processes. */
  async stop(leaveMs: number): Promise<void> {
    this.isStopping = true
    await Promise.all([...this.members].map((member) => this.leave(member, leaveMs)))
  }

  kill(): void {
    for (const { child } of this.members) child.kill('SIGKILL')
  }

  private async leave(member: Member, leaveMs: number) {
    member.isLeaving = true
    send(member.child, { kind: 'stop', leaveMs })
    const timer = setTimeout(() => member.child.kill('SIGKILL'), leaveMs + STOP_MS_MAX)
    await member.child.exited
    clearTimeout(timer)
  }

  /** Resolves when a new worker is ready. @throws WorkerFailed when it cannot start */
  private async begin(): Promise<{ url: string; port: number }> {
    for (let starts = 1; ; starts++) {
      try {
        return await this.launch().ready
      } catch (error) {
        const isAskedFor = error instanceof WorkerFailed && error.isAskedFor
        if (!isAskedFor || this.isStopping || starts === STARTS_MAX) throw error
        this.options.log.error('a worker is started again', { error: error.message, starts })
      }
    }
  }

  private launch(): Member {
    const { promise: ready, resolve, reject } = Promise.withResolvers<{ url: string; port: number }>()
    const number = ++this.launches
    const message = this.options.startMessage(this.port, number)
    const hear = (told: FromWorker) => {
      if (told.kind === 'pong') member.silence = 0
      else if (told.kind === 'ready') resolve(told)
      else if (told.kind === 'failed') reject(new WorkerFailed(told.message, told.code))
      else this.options.onReport(told)
    }
    const child = this.spawn(number, hear)
    send(child, message)
    const member: Member = { child, startedMs: performance.now(), ready, isLeaving: false, silence: STARTING }
    this.members.add(member)
    const late = setTimeout(() => {
      reject(new WorkerFailed(`a worker was not ready after ${START_MS_MAX / 1_000} seconds`, ''))
      child.kill('SIGKILL')
    }, START_MS_MAX)
    ready.then(
      () => {
        clearTimeout(late)
        member.silence = 0
        this.watch(member)
      },
      () => clearTimeout(late),
    )
    child.exited.then(() => {
      this.members.delete(member)
      this.options.onEnd(number)
      const isAskedFor = child.signalCode !== null || child.exitCode === 0
      reject(new WorkerFailed(`a worker ended with ${endOf(child)} before it was ready`, '', isAskedFor))
    })
    return member
  }

  private spawn(number: number, ipc: (told: FromWorker) => void): Bun.Subprocess {
    const env = { ...MEMORY, ...process.env }
    try {
      return Bun.spawn([process.execPath, '--no-env-file', PROGRAM], {
        env,
        stdio: ['ignore', 'inherit', 'inherit'],
        ipc,
      })
    } catch (error) {
      this.options.onEnd(number)
      throw error
    }
  }

  /** Ends what hangs, so that it is replaced: it would keep its share of the connections. */
  private ping() {
    for (const member of this.members) {
      if (member.silence++ < SILENCE_MAX) {
        send(member.child, { kind: 'ping' })
        continue
      }
      this.options.log.error('a worker hangs', { pid: member.child.pid })
      member.child.kill('SIGKILL')
    }
  }

  private watch(member: Member) {
    member.child.exited.then(() => {
      if (!member.isLeaving && !this.isStopping) this.replace(member)
    })
  }

  /** At once the first time; one that dies of its start is tried again ever later. */
  private async replace({ child, startedMs }: Pick<Member, 'child' | 'startedMs'>) {
    const { log } = this.options
    if (performance.now() - startedMs > STEADY_MS) this.failures = 0
    const pauseMs = this.failures === 0 ? 0 : Math.min(100 * 2 ** (this.failures - 1), PAUSE_MS_MAX)
    this.failures++
    log.error('a worker has ended and is replaced', { pid: child.pid, end: endOf(child), pauseMs })
    await Bun.sleep(pauseMs)
    if (this.isStopping) return
    const launchedMs = performance.now()
    try {
      await this.begin() // which is watched from now on
    } catch (error) {
      if (this.isStopping) return
      log.error('a worker cannot start', { error: (error as Error).message })
      this.replace({ child, startedMs: launchedMs })
    }
  }
}

function endOf(child: Bun.Subprocess): string {
  return String(child.signalCode ?? child.exitCode)
}

/** To a process that may just have ended. */
function send(child: Bun.Subprocess, message: ToWorker) {
  try {
    child.send(message)
  } catch {
    // its end is noticed elsewhere
  }
}
