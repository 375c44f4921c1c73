// A worker process: the supervisor starts it, sends it its settings, and outlives it.
import type { LimiterTables, OwnLimits } from '../admit/limiterFiles.ts'
import { createLog, type Log } from '../log.ts'
import { readSamples } from '../metrics/counts.ts'
import { withDeadline } from '../os/time.ts'
import { FINISH_MS, type FromWorker, type ToWorker } from './messages.ts'
import { startWorker, type Worker } from './worker.ts'

/**
 * Maximum time that a refresh of the keys waits for the supervisor's tables. So a revoked key is refused within a second, even if
 * the supervisor hangs.
 */
const TABLES_MS_MAX = 300
/** Time for clients to go to another worker, if only this worker gets a signal. */
const LEAVE_MS = 2_000

let log: Log | undefined
let worker: Promise<Worker> | undefined
let isStopping = false
let isScraped = false
let questions = 0
let onTables: (answer: ToWorker & { kind: 'tables' }) => void = () => undefined

process.on('message', (message: ToWorker) => {
  if (message.kind === 'start') start(message)
  else if (message.kind === 'stop') stop(message)
  else if (message.kind === 'ping') answerPing()
  else if (message.kind === 'tables') onTables(message)
  else begin(message.cursorSecret)
})
// Without the supervisor no process would stop or replace this process.
process.on('disconnect', () => stop({ leaveMs: 0, finishMs: FINISH_MS }))
process.on('SIGTERM', () => stop({ leaveMs: LEAVE_MS, finishMs: FINISH_MS }))
// A terminal sends these signals to the whole group of processes. The supervisor gets them, too, and then tells the workers when
// to stop.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)

async function start({ config, ...context }: ToWorker & { kind: 'start' }) {
  log = createLog(config.logLevel, config.logFormat)
  isScraped = config.adminPort !== null
  worker = startWorker(config, { ...context, log, tablesFor })
  try {
    const { url, port, hasKeys } = await worker
    report({ kind: 'ready', url, port, hasKeys })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    report({ kind: 'failed', code, message })
    process.exit(1)
  }
}

async function begin(cursorSecret: string) {
  const running = await worker?.catch(() => null) // if it failed, `start` has reported why
  await running?.begin(cursorSecret)
}

/** Asks the supervisor for the tables of keys with these limits. Resolves with null if the supervisor does not answer in time. */
async function tablesFor(limits: OwnLimits): Promise<LimiterTables['own'] | null> {
  const { promise, resolve } = Promise.withResolvers<LimiterTables['own']>()
  const question = ++questions
  // An answer to an earlier question is ignored, because it has the tables of former keys.
  onTables = (answer) => answer.question === question && resolve(answer.tables.own)
  report({ kind: 'keys', limits, question })
  return limits.size === 0 ? new Map() : withDeadline(promise, TABLES_MS_MAX, () => null)
}

/** Finishes the requests in flight and ends the process; the supervisor starts another process instead. */
function fail(error: unknown) {
  log?.error('a worker failed: it finishes its requests and is replaced', {
    error: String((error as Error | null)?.stack ?? error),
  })
  stop({ leaveMs: 0, finishMs: FINISH_MS }, 1)
}

/** Lets clients leave and requests finish, then ends the process. A second call can only shorten the time of the first. */
async function stop({ leaveMs, finishMs }: { leaveMs: number; finishMs: number }, code = 0) {
  const isFirst = !isStopping
  isStopping = true
  const running = await worker?.catch(() => null)
  await running?.stop(leaveMs, finishMs)
  if (!isFirst) return
  answerPing()
  await log?.flush()
  process.exit(code)
}

function answerPing() {
  report({ kind: 'pong', samples: isScraped ? readSamples() : null })
}

function report(message: FromWorker) {
  if (process.connected) process.send?.(message)
}
