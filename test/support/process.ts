import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')

export interface RunningProgram {
  pid: number
  output(): string
  /** Resolves with the first match in the output; rejects when the program ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpMatchArray>
  /** Exit code, or the signal that ended it. */
  ended: Promise<number | string | null>
  kill(signal: NodeJS.Signals): void
  /** As an operator does, by SIGTERM; resolves with how it ended. */
  stop(): Promise<number | string | null>
  /** As when the reader of the output goes away. */
  closeOutput(): void
  /** As a terminal's Ctrl-C: to every process of the group. */
  killGroup(signal: NodeJS.Signals): void
}

const running = new Set<ChildProcess>()

/** For `afterEach`: a test that failed half-way must not leave its servers behind. */
export async function endPrograms(): Promise<void> {
  const ended = [...running].map((child) => new Promise((done) => child.once('close', done)))
  for (const child of running) child.kill('SIGTERM')
  await Promise.all(ended)
}

/** For the end of a test file that was interrupted: its programs lead groups of their own, and would go on. */
export function interruptPrograms(): void {
  for (const child of running) child.kill('SIGTERM')
}

/** Runs a program of the project's as a user would: from its folder, with only these settings in the environment. */
export function run(command: string[], environment: Record<string, string> = {}): RunningProgram {
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
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

/** The server as `bun src/main.ts`, without npm and launcher in front. */
export function runMain(environment: Record<string, string>): RunningProgram {
  return run([process.execPath, '--no-env-file', 'src/main.ts'], { PORT: '0', LOG_FORMAT: 'pretty', ...environment })
}

/**
 * Says that tests are left out, and why. `variable` is set where the tests of a release run, so that these cannot go missing there
 * unnoticed. @throws Error where it is
 */
export function leaveOut(variable: `CI_REQUIRES_${string}`, lack: string | null): void {
  if (process.env[variable]) throw new Error(`${variable}: ${lack}`)
  console.warn(`left out: ${lack}`)
}

const folders: string[] = []

/** A folder of one's own, which is removed at the end of the test file, or before. */
export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'roster-main-'))
  folders.push(path)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export function removeFolders(): void {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
}

/** The process of the PostgreSQL that a server has started in `dataDir`; null when there is none. */
export function postmasterOf(dataDir: string): number | null {
  const file = join(dataDir, 'postgres/postmaster.pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : null
}

/** False also for a process that has ended and whose parent has not asked how. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Waits until `condition` holds; the test's own time limit ends a wait for what never comes. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    const { user, system } = process.cpuUsage()
    if (await condition()) return
    const spent = process.cpuUsage({ user, system })
    // A look through all processes takes milliseconds: what is waited for needs the time more.
    await Bun.sleep(Math.max(20, (spent.user + spent.system) / 100))
  }
}

/** The processes that this one has started and that have not ended. Linux. */
function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) => {
    const children = readOrEmpty(`/proc/${pid}/task/${thread}/children`)
    return children.split(' ').map(Number).filter(Boolean)
  })
}

/** None of a process that has ended. */
function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** The worker processes of a server, by its own process. */
export function workersOf(pid: number): number[] {
  // One that has ended, and whose parent has not asked how, has no command any more.
  return childrenOf(pid).filter((child) => readOrEmpty(`/proc/${child}/cmdline`).includes('workerMain'))
}

/** '' of a file that is not there, such as that of a process or thread that has just ended. */
export function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** A port that was free a moment ago, for programs that must have the same one again. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  listener.stop(true)
  return listener.port
}

/** Waits until something listens there. @throws Error where the program ends before */
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

/** A folder for shared memory; it goes with the run at the latest. */
export function temporaryMemory(): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'roster-test-'))
  memories.add(folder)
  return folder
}

/** For the end of the run, which Bun's tests do not tell by an `exit` of the process. */
export function removeMemories(): void {
  for (const folder of memories) rmSync(folder, { recursive: true, force: true })
}
