import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
/** First port to try. Systems give programs that ask for any port higher ports: from 32768 on Linux, from 49152 elsewhere. */
const FIRST_PORT = 12_000
const PORTS = 20_000

export interface RunningProgram {
  pid: number
  output(): string
  /** Resolves with the first match in the output; rejects if the program ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpMatchArray>
  /** Resolves with the exit code, or the signal that ended it. */
  ended: Promise<number | string | null>
  kill(signal: NodeJS.Signals): void
  /** Sends SIGTERM, as an operator does; resolves with how the program ended. */
  stop(): Promise<number | string | null>
  /** Closes the output, as if its reader ended. */
  closeOutput(): void
  /** Sends a signal to every process of the group, as Ctrl-C in a terminal does. */
  killGroup(signal: NodeJS.Signals): void
}

const running = new Set<ChildProcess>()

/** For `afterEach`: ends all programs, also after a test that has failed half-way. */
export async function endPrograms(): Promise<void> {
  const ended = [...running].map((child) => new Promise((done) => child.once('close', done)))
  for (const child of running) child.kill('SIGTERM')
  await Promise.all(ended)
}

/** Ends the programs of an interrupted test file: they lead their own process groups, and would continue to run. */
export function interruptPrograms(): void {
  for (const child of running) child.kill('SIGTERM')
}

/** Runs a program of the project as a user would: from its folder, with only these settings in the environment. */
export function run(command: string[], environment: Record<string, string> = {}): RunningProgram {
  const inherited = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    // Records of imports belong to the test run, not to the user who runs it.
    XDG_DATA_HOME: tmpdir(),
  }
  const child: ChildProcess = spawn(command[0] as string, command.slice(1), {
    cwd: ROOT,
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  child.once('close', () => running.delete(child))
  let output = ''
  const watchers = new Set<() => void>()
  const collect = (chunk: Buffer) => {
    output += chunk
    for (const watcher of watchers) watcher()
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const ended = new Promise<number | string | null>((done) => child.once('close', (code, signal) => done(code ?? signal)))
  return {
    pid: child.pid as number,
    output: () => output,
    ended,
    kill: (signal) => child.kill(signal),
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
    closeOutput: () => {
      child.stdout?.destroy()
      child.stderr?.destroy()
    },
    killGroup: (signal) => process.kill(-(child.pid as number), signal),
    waitFor: (pattern) =>
      new Promise((done, fail) => {
        const look = () => {
          const match = output.match(pattern)
          if (!match) return
          watchers.delete(look)
          done(match)
        }
        watchers.add(look)
        look()
        ended.then((code) => fail(new Error(`ended with ${code} before ${pattern}:\n${output}`)))
      }),
  }
}

/**
 * Prints that tests are left out, and why. @throws Error if `variable` is set, as in the tests of a release, where no test may be
 * left out
 */
export function leaveOut(variable: `CI_REQUIRES_${string}`, lack: string | null): void {
  if (process.env[variable]) throw new Error(`${variable}: ${lack}`)
  console.warn(`left out: ${lack}`)
}

const folders: string[] = []

/** Makes a folder, which is removed at the end of the test file, or before. */
export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'roster-main-'))
  folders.push(path)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export function removeFolders(): void {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
}

/** Returns the process of the PostgreSQL that a server has started in `dataDir`; null if there is none. */
export function postmasterOf(dataDir: string): number | null {
  const file = join(dataDir, 'postgres/postmaster.pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : null
}

/** True if a process runs; false also for a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Waits until `condition` holds; only the test's own time limit ends the wait. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    const { user, system } = process.cpuUsage()
    if (await condition()) return
    const spent = process.cpuUsage({ user, system })
    // A condition may scan all processes, which takes CPU time that the programs under test need. So the pause grows with the CPU
    // time of the condition.
    await Bun.sleep(Math.max(20, (spent.user + spent.system) / 100))
  }
}

/** Returns the child processes that have not ended. Linux. */
export function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) => {
    const children = readOrEmpty(`/proc/${pid}/task/${thread}/children`)
    return children.split(' ').map(Number).filter(Boolean)
  })
}

/** Returns the threads of a process; none if it has ended. */
function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Returns the worker processes of a server, given its own process. */
export function workersOf(pid: number): number[] {
  // A zombie has no command line.
  return childrenOf(pid).filter((child) => readOrEmpty(`/proc/${child}/cmdline`).includes('workerMain'))
}

/** Returns the text of a file; '' if it does not exist, such as that of a process that has just ended. */
export function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Returns a free port, for programs that must reuse a port. The system does not give ports of this range to other servers of the
 * tests.
 */
export function freePort(): number {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}

/** Waits until a program listens on the port. @throws Error if it ends before */
export async function untilListening(port: number, program: Bun.Subprocess): Promise<void> {
  const look = () =>
    new Promise<boolean>((done) => {
      const socket = connect(port, '127.0.0.1', () => done(true)).on('error', () => done(false))
      socket.on('connect', () => socket.destroy())
    })
  await until(async () => {
    if (program.exitCode !== null) throw new Error(`the program ended with ${program.exitCode} before it listened`)
    return look()
  })
}

const memories = new Set<string>()

/** Makes a folder in shared memory; it is removed at the end of the run at the latest. */
export function temporaryMemory(): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'roster-test-'))
  memories.add(folder)
  return folder
}

/** Removes the folders at the end of the run. `preload.ts` calls it, because processes of Bun's tests emit no `exit`. */
export function removeMemories(): void {
  for (const folder of memories) rmSync(folder, { recursive: true, force: true })
}
