import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { tryLock } from '../share/lock.ts'
import { addressOf, isReady, lockFile, passwordFile, publish, stopOrphan } from './postmaster.ts'
import { prepareRunner, type Runner, type RunnerOptions } from './runner.ts'

export interface EmbeddedPostgres {
  url: string
  /** Resolves with the end of PostgreSQL's log if it ends before it is asked to. */
  failed: Promise<string>
  /** Ends PostgreSQL at once, without waiting; the next start recovers. */
  kill(): void
  /** Asks for a fast shutdown and resolves when the postmaster has ended. */
  stop(): Promise<void>
}

/** Another process holds the data folder. */
export class DataDirInUse extends Error {}

interface Options extends RunnerOptions {
  dataDir: string
  /** False: for this process alone; `runningPostgres` then finds nothing. Default: true. */
  isShared?: boolean
  /** Server settings, as for `postgres -c`. */
  settings?: Record<string, string>
}

const LOG_FILE = 'postgres.log'
const LOG_BYTES_MAX = 1024 * 1024
const QUIT_AFTER_MS = 1_200
const READY_MS_MAX = 30_000
const LOCALE = ['--encoding=UTF8', '--locale=C']
const LOCALE_BUILTIN = [...LOCALE, '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/**
 * Starts PostgreSQL on a free port of 127.0.0.1, with its cluster, log and password in `dataDir`.
 * An orphan that a killed server left behind is stopped first.
 * @throws DataDirInUse; Error when PostgreSQL does not come up: the message says why
 */
export async function startEmbedded(options: Options): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir)
  mkdirSync(dataDir, { recursive: true })
  const lock = tryLock(lockFile(dataDir))
  if (!lock) throw new DataDirInUse(`the data folder ${dataDir} is in use by another server: stop it, or set DATA_DIR`)
  try {
    const { url, child } = await startLocked(dataDir, options)
    let isStopping = false
    const failed = new Promise<string>((tell) => {
      child.once('exit', () => isStopping || tell(tail(join(dataDir, LOG_FILE))))
    })
    return {
      url,
      failed,
      kill: () => void child.kill('SIGQUIT'),
      async stop() {
        isStopping = true
        await end(child, 'SIGINT')
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

async function startLocked(dataDir: string, options: Options) {
  publish(dataDir, '')
  const runner = prepareRunner(dataDir, options)
  await stopOrphan(runner.cluster)
  const password = readPassword(runner.cluster)
  if (!existsSync(join(runner.cluster, 'PG_VERSION'))) await initialize(runner, dataDir, password)
  const { port, child } = await launchOnFreePort(runner, dataDir, options.settings ?? {})
  if (options.isShared !== false) publish(dataDir, runner.cluster)
  return { url: addressOf(port, password), child }
}

function readPassword(cluster: string): string {
  const file = passwordFile(cluster)
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('hex'), { mode: 0o600 })
  return readFileSync(file, 'utf8')
}

/** Makes the cluster under another name first: what is there under its own name is whole. */
async function initialize(runner: Runner, dataDir: string, password: string) {
  const part = `${runner.cluster}.part`
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { mode: 0o700 })
  runner.give(part)
  const passwordPart = `${passwordFile(runner.cluster)}.part`
  writeFileSync(passwordPart, password, { mode: 0o600 })
  runner.give(passwordPart)
  const { path, file } = openLog(dataDir)
  const locale = hasBuiltinLocale(runner.native) ? LOCALE_BUILTIN : LOCALE
  const args = ['-D', part, '-U', 'roster', '--auth=scram-sha-256', `--pwfile=${passwordPart}`, '--no-sync', ...locale]
  const code = await exit(runner.launch('initdb', args, file))
  closeSync(file)
  rmSync(passwordPart)
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${tail(path)}`)
  renameSync(part, runner.cluster)
}

function hasBuiltinLocale(native: string): boolean {
  return existsSync(join(native, 'share/postgresql/postgres.bki')) && majorVersion(native) >= 17
}

function majorVersion(native: string): number {
  return Number(/PostgreSQL (\d+)/.exec(readFileSync(join(native, 'share/postgresql/postgres.bki'), 'utf8'))?.[1])
}

/** Another program can take the port between our look and PostgreSQL's bind, so a loss is tried again. */
async function launchOnFreePort(runner: Runner, dataDir: string, settings: Record<string, string>) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const { path, file } = openLog(dataDir)
    const all = { ...DEFAULT_SETTINGS, ...settings, port: String(port) }
    const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = runner.launch('postgres', ['-D', runner.cluster, ...args], file)
    closeSync(file)
    if (await ready(child, runner.cluster)) return { port, child }
    const log = tail(path)
    if (attempt === 3 || !log.includes('could not bind')) throw new Error(`PostgreSQL did not start:\n${log}`)
  }
}

const DEFAULT_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  // A full disk stops writes with an error; a full WAL stops the server.
  max_wal_size: '512MB',
  // Not the errors of statements: with their rows they would carry people's data, and a client could fill the disk.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
}

/** True once the postmaster's own status line says ready; false when it has ended. */
async function ready(child: ChildProcess, cluster: string): Promise<boolean> {
  let ended = false
  child.once('exit', () => (ended = true))
  child.once('error', () => (ended = true))
  const giveUpMs = Date.now() + READY_MS_MAX
  while (!ended && Date.now() < giveUpMs) {
    if (isReady(cluster)) return true
    await Bun.sleep(5)
  }
  if (!ended) await end(child, 'SIGQUIT')
  return false
}

async function end(child: ChildProcess, signal: 'SIGINT' | 'SIGQUIT') {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = exit(child)
  child.kill(signal)
  // Harder each time; what an immediate end leaves undone, the next start recovers.
  const quit = setTimeout(() => child.kill('SIGQUIT'), QUIT_AFTER_MS)
  const kill = setTimeout(() => child.kill('SIGKILL'), 2 * QUIT_AFTER_MS)
  await ended
  clearTimeout(quit)
  clearTimeout(kill)
}

function exit(child: ChildProcess): Promise<number | string | null> {
  return new Promise((done) => {
    child.once('exit', (code, signal) => done(code ?? signal))
    child.once('error', (error) => done(error.message))
  })
}

function openLog(dataDir: string) {
  const path = join(dataDir, LOG_FILE)
  // The log of the run before stays, since it may tell why that ended; what is older goes.
  if (existsSync(path) && statSync(path).size > LOG_BYTES_MAX) renameSync(path, `${path}.old`)
  return { path, file: openSync(path, 'a', 0o600) }
}

function tail(path: string): string {
  return readFileSync(path, 'utf8').trim().split('\n').slice(-8).join('\n')
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const probe = createServer()
    probe.once('error', fail)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => done(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
