// A worker as a process of its own; the supervisor starts it, tells it what it needs, and outlives it.

import { createLog, type Log } from '../log.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { startWorker, type Worker } from './worker.ts'

const USED_EVERY_MS = 10_000
/** Clients of a worker that leaves alone can go to another at once, so they are given time. */
const LEAVE_MS = 2_000

let log: Log | undefined
let worker: Promise<Worker> | undefined
let isStopping = false

process.on('message', (message: ToWorker) => {
  if (message.kind === 'start') start(message)
  else if (message.kind === 'stop') stop(message.leaveMs)
  else if (message.kind === 'ping') tell({ kind: 'pong' })
  else if (message.kind === 'begin') begin(message)
  else replaceKeys(message)
})
// Without the supervisor nobody would stop this process, or replace it.
process.on('disconnect', () => stop(0))
process.on('SIGTERM', () => stop(LEAVE_MS))
// A terminal sends it to the whole group; the supervisor has it too and says when.
process.on('SIGINT', () => undefined)
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)

async function start({ config, ...surroundings }: ToWorker & { kind: 'start' }) {
  log = createLog(config.logLevel, config.logFormat)
  worker = startWorker(config, {
    ...surroundings,
    log,
    onOutcomeUnknown: (connections) => tell({ kind: 'disown', connections }),
    onWake: () => tell({ kind: 'wake' }),
  })
  try {
    const { url, port, takeUsedKeys } = await worker
    tell({ kind: 'ready', url, port })
    setInterval(() => tellUsed(takeUsedKeys()), USED_EVERY_MS)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    tell({ kind: 'failed', code, message })
    process.exit(1)
  }
}

/** What it has in hand is finished; then another process takes its place. */
function fail(error: unknown) {
  log?.error('a worker failed', { error: String((error as Error | null)?.stack ?? error) })
  stop(0, 1)
}

/** After the start, which has failed by itself if it did. */
async function replaceKeys({ keys, memory }: Pick<ToWorker & { kind: 'keys' }, 'keys' | 'memory'>) {
  const running = await worker?.catch(() => null)
  try {
    running?.replaceKeys(keys, memory)
  } catch (error) {
    log?.error('the tables of keys with limits of their own cannot be opened', { error: String(error) })
  }
}

/** What is wrong with the database's tables ends it, as it would have ended the start. */
async function begin({ cursorSecret, ...message }: ToWorker & { kind: 'begin' }) {
  await replaceKeys(message)
  const running = await worker?.catch(() => null)
  await running?.begin(cursorSecret)
}

async function stop(leaveMs: number, code = 0) {
  if (isStopping) return
  isStopping = true
  const running = await worker?.catch(() => null)
  await running?.stop(leaveMs)
  if (running) tellUsed(running.takeUsedKeys())
  await log?.flush()
  process.exit(code)
}

function tellUsed(ids: readonly string[]) {
  if (ids.length > 0) tell({ kind: 'used', ids })
}

function tell(message: FromWorker) {
  if (process.connected) process.send?.(message)
}
