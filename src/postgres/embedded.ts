// The embedded PostgreSQL: creates its cluster, starts, restarts and stops it.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { tryLock } from '../os/libc.ts'
import { addressOf, isReady, lockFile, passwordFile, stopOrphan } from './postmaster.ts'
import { type Access, ROLES, secure } from './rights.ts'
import { endOf, prepareRunner, type Runner, type RunnerOptions, sharedMemorySettings } from './runner.ts'

/** A PostgreSQL that this process has started. */
export type EmbeddedPostgres = Awaited<ReturnType<typeof startLocked>>

/** Thrown if another process holds the data folder. */
export class DataDirInUse extends Error {}

interface Options extends RunnerOptions {
  dataDir: string
  /** False if `runningPostgres` shall not find this PostgreSQL, so that no other process uses it. Default: true. */
  isShared?: boolean
  /** Server settings, as for `postgres -c`. */
  settings?: Record<string, string>
  /** Role of `url`: benches and tests use the superuser, because they create databases. Default: `tables`. */
  access?: Access
}

const QUIT_AFTER_MS = 1_200
/** Maximum time of a start: recovery after a crash can take minutes. */
const READY_MS_MAX = 600_000
/** Matches log messages about a folder that the last run or its clients still use, or a port that another program has taken. */
const STILL_IN_USE = /is still in use|could not bind/
const IN_USE_RETRY_MS = 100
const IN_USE_RETRY_MS_MAX = 10_000

/**
 * Starts PostgreSQL on a free port of 127.0.0.1, with its cluster, log and password in `dataDir`. Before that, stops a PostgreSQL
 * that a killed server has left. @throws DataDirInUse; Error with the reason if PostgreSQL does not start
 */
export async function startEmbedded(options: Options): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir)
  let release = () => {}
  try {
    mkdirSync(dataDir, { recursive: true })
    const lock = tryLock(lockFile(dataDir))
    if (!lock) throw new DataDirInUse(`the data folder ${dataDir} is in use by another server: stop it, or set DATA_DIR`)
    release = lock.release
    return await startLocked(dataDir, options, release)
  } catch (error) {
    release()
    throw dataDirError(error as NodeJS.ErrnoException)
  }
}

const OTHERS = 'let the user that runs the server write there, or set DATA_DIR'
const IN_THE_WAY = 'something else stands there: move it away, or set DATA_DIR'
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: OTHERS,
  EPERM: OTHERS,
  EROFS: OTHERS,
  ENOENT: 'it cannot be made there: set DATA_DIR',
  EEXIST: IN_THE_WAY,
  EISDIR: IN_THE_WAY,
  ENOTEMPTY: IN_THE_WAY,
  ENOTDIR: 'a part of this path is no folder: move that away, or set DATA_DIR',
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk is full',
}

/** Returns an error with advice if `error` is a known error of the file system; else returns `error` unchanged. */
function dataDirError(error: NodeJS.ErrnoException & { dest?: string }): Error {
  const { code = '', path, dest = path } = error
  const remedy = REMEDIES[code]
  return remedy && dest ? new Error(`${dest}: ${remedy} (${code})`, { cause: error }) : error
}

async function startLocked(dataDir: string, options: Options, release: () => void) {
  writeFileSync(lockFile(dataDir), '')
  const runner = prepareRunner(dataDir, options)
  await stopOrphan(runner.cluster)
  const passwordAt = passwordFile(runner.cluster)
  // The password file is empty if the disk was full when the file was written.
  if (!existsSync(passwordAt) || readFileSync(passwordAt, 'utf8') === '')
    writeFileSync(passwordAt, randomBytes(24).toString('hex'), { mode: 0o600 })
  const password = readFileSync(passwordAt, 'utf8')
  if (!existsSync(join(runner.cluster, 'PG_VERSION'))) await initialize(runner)
  const { access = 'tables' } = options
  await secure(runner, password, access)
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  let port = 0
  let child: ChildProcess
  let failed: Promise<string>
  let isStopping = false

  async function launch(nextPort: () => number) {
    for (const giveUpMs = Date.now() + IN_USE_RETRY_MS_MAX; !isStopping; await Bun.sleep(IN_USE_RETRY_MS)) {
      port = nextPort()
      const args = Object.entries({ ...settings, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      const launched = runner.launch('postgres', ['-D', runner.cluster, ...sharedMemorySettings(), ...args])
      child = launched.child
      failed = endOf(child).then(() => (isStopping ? new Promise<string>(() => undefined) : launched.log()))
      if (await ready(child, runner.cluster)) return
      const log = launched.log()
      if (!STILL_IN_USE.test(log) || Date.now() > giveUpMs) throw new Error(`PostgreSQL did not start:\n${log}`)
    }
    await new Promise(() => undefined)
  }

  await launch(freePort)
  if (options.isShared !== false) writeFileSync(lockFile(dataDir), runner.cluster)
  return {
    url: addressOf(port, ROLES[access], password),
    /** Resolves with the last lines of PostgreSQL's log when PostgreSQL ends although nobody has stopped it. */
    get failed() {
      return failed
    },
    /**
     * Restarts PostgreSQL at the same address, after `failed`. Never settles after `stop` or `kill`. @throws Error with the
     * reason if it does not start
     */
    async restart() {
      // Removes the old postmaster.pid, which says that the ended process is ready.
      await stopOrphan(runner.cluster)
      await launch(() => port)
    },
    /** Kills PostgreSQL without waiting; the next start recovers. */
    kill() {
      isStopping = true
      child.kill('SIGQUIT')
    },
    /** Stops PostgreSQL with a fast shutdown; resolves when it has ended. */
    async stop() {
      isStopping = true
      await end(child, 'SIGINT')
      release()
    },
  }
}

const DEFAULT_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  // Limit for each connection. Sorting a million absences needs a tenth of it.
  temp_file_limit: '1GB',
  // Keeps the WAL small. On a full disk, writes of tables only fail, but PostgreSQL stops if the WAL has no room.
  max_wal_size: '512MB',
  // Errors of statements are not logged: they contain people's data, and a client could fill the disk.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
}

/**
 * Resolves with true once the postmaster's status line says that it is ready; with false if it has ended, or is not ready in
 * time.
 */
async function ready(child: ChildProcess, cluster: string): Promise<boolean> {
  let ended = false
  endOf(child).then(() => (ended = true))
  const giveUpMs = Date.now() + READY_MS_MAX
  while (!ended && Date.now() < giveUpMs) {
    if (isReady(cluster)) return true
    await Bun.sleep(5)
  }
  if (!ended) await end(child, 'SIGQUIT')
  return false
}

async function end(child: ChildProcess, signal: 'SIGINT' | 'SIGQUIT') {
  const ended = endOf(child)
  child.kill(signal)
  // If PostgreSQL does not end in time, harder signals follow. The next start recovers after any of them.
  const harder = ['SIGQUIT', 'SIGKILL'] as const
  const timers = harder.map((next, index) => setTimeout(() => child.kill(next), (index + 1) * QUIT_AFTER_MS))
  await ended
  timers.forEach(clearTimeout)
}

function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } })
  probe.stop(true)
  return probe.port
}

/**
 * Creates the cluster under another name, and renames it when it is complete, so that an interrupted run leaves no cluster.
 * @throws Error
 */
async function initialize(runner: Runner) {
  const part = `${runner.cluster}.part`
  rmSync(part, { recursive: true, force: true })
  mkdirSync(part, { mode: 0o700 })
  runner.give(part)
  const catalog = readFileSync(join(runner.native, 'share/postgresql/postgres.bki'), 'utf8')
  const version = Number(/PostgreSQL (\d+)/.exec(catalog)?.[1])
  const builtin = version >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
  const locale = ['--encoding=UTF8', '--locale=C', ...builtin]
  const memory = version >= 16 ? sharedMemorySettings() : []
  // `--auth=reject`: no role may connect until the server's role exists.
  const args = ['-D', part, '-U', ROLES.everything, '--auth=reject', ...locale, ...memory]
  const launched = runner.launch('initdb', args)
  const code = await endOf(launched.child)
  if (code !== 0) {
    const log = launched.log()
    // Later lines only report consequences of the first error.
    const cause = /(?:FATAL|PANIC|error): +(.+)/.exec(log)?.[1]
    const reason = cause === undefined ? log : `${cause}\n${log}`
    throw new Error(`initdb ended with ${code}:\n${reason}`)
  }
  renameSync(part, runner.cluster)
}
