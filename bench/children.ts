import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export interface Child {
  readonly pid: number
  /** Resolves when the process has ended. */
  readonly ended: Promise<number | string | null>
  stop(): Promise<void>
}

interface Options {
  readonly cwd?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Written to stdin, which is then closed. */
  readonly input?: string
  /** Called with each line of stdout. */
  onLine?(line: string): void
  /** Called with each line of stderr; without it they are passed on. */
  onErrorLine?(line: string): void
}

const STOP_MS_MAX = 5_000
const running = new Set<Child>()
let isOver = false

/** Starts a program that has PATH and `environment`, and nothing else of ours. */
export function startChild([program, ...args]: readonly string[], options: Options = {}): Child {
  if (isOver) throw new Error(`${program} is not started any more`)
  const child = spawn(program as string, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { PATH: process.env.PATH, ...options.environment },
    stdio: ['pipe', 'pipe', options.onErrorLine ? 'pipe' : 'inherit'],
  })
  child.stdin?.on('error', () => undefined) // it ended before it had read all; its exit code tells
  child.stdin?.end(options.input)
  createInterface({ input: child.stdout as Readable }).on('line', (line) => options.onLine?.(line))
  if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => options.onErrorLine?.(line))
  const ended = new Promise<number | string | null>((done, fail) => {
    child.once('error', (error) => fail(new Error(`${program} does not run: ${error.message}`)))
    child.once('close', (code, signal) => done(code ?? signal))
  })
  const started: Child = { pid: child.pid ?? 0, ended, stop: () => stop(child, ended) }
  running.add(started)
  ended.finally(() => running.delete(started)).catch(() => undefined)
  return started
}

/** Ends every process that this one has started and that has not ended. None can be started from now on. */
export async function stopChildren(): Promise<void> {
  isOver = true
  await Promise.all([...running].map((child) => child.stop()))
}

async function stop(child: ChildProcess, ended: Promise<unknown>) {
  child.kill('SIGTERM')
  const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await ended.catch(() => undefined)
  clearTimeout(kill)
}

/** Starts a program and waits for the line of stdout that matches; returns its first group. @throws Error if it ends before */
export async function startAndWait(
  command: readonly string[],
  pattern: RegExp,
  options: Options = {},
): Promise<Child & { readonly found: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const onLine = (line: string) => {
    options.onLine?.(line)
    const match = pattern.exec(line)
    if (match) resolve(match[1] as string)
  }
  const child = startChild(command, { ...options, onLine })
  child.ended.then((code) => reject(new Error(`${command.join(' ')} ended with ${code}`)), reject)
  return { ...child, found: await promise }
}
