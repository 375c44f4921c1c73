import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface Child {
  readonly pid: number
  readonly ended: Promise<number | string | null>
  stop(): Promise<void>
}

interface Options {
  readonly cwd?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Text for stdin, which is then closed. */
  readonly input?: string
  onLine?(line: string): void
}

const STOP_MS_MAX = 5_000
const CLEAR_LINE = '\r\u001b[K'
const running = new Set<Child>()
let isOver = false

/** Starts a program whose environment is only PATH and `environment`. */
export function startChild([program, ...args]: readonly string[], options: Options = {}): Child {
  if (isOver) throw new Error(`${program} is not started any more`)
  const child = spawn(program as string, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { PATH: process.env.PATH, ...options.environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => undefined) // The program may end before it has read all of its input; its exit code is reported.
  child.stdin.end(options.input)
  createInterface({ input: child.stdout }).on('line', (line) => options.onLine?.(line))
  const ended = new Promise<number | string | null>((done, fail) => {
    child.once('error', (error) => fail(new Error(`${program} does not run: ${error.message}`)))
    child.once('close', (code, signal) => done(code ?? signal))
  })
  const stop = async () => {
    child.kill('SIGTERM')
    const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    await ended.catch(() => undefined)
    clearTimeout(kill)
  }
  const started: Child = { pid: child.pid ?? 0, ended, stop }
  running.add(started)
  ended.finally(() => running.delete(started)).catch(() => undefined)
  return started
}

/**
 * Starts a program and waits for a line of stdout that matches `pattern`. Returns the first group of the match. @throws Error if
 * the program ends first
 */
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

/** Ends all children. After this, no child can be started. */
export async function stopChildren(): Promise<void> {
  isOver = true
  await Promise.all([...running].map((child) => child.stop()))
}

/** Cleanup of a program. Runs the added functions, the last one first, at the end of the program or after an interruption. */
export class Ending {
  isInterrupted = false
  private readonly ends: (() => unknown)[] = []

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => this.interrupt())
  }

  add(...ends: (() => unknown)[]): void {
    this.ends.push(...ends)
  }

  /** Runs the cleanup, unless an interruption already does. */
  async finish(): Promise<void> {
    if (!this.isInterrupted) await this.endAll()
  }

  private async interrupt() {
    if (this.isInterrupted) process.exit(130) // PostgreSQL ends with this process
    this.isInterrupted = true
    await this.endAll()
    process.exit(130)
  }

  private async endAll() {
    status(null)
    for (let end = this.ends.pop(); end; end = this.ends.pop()) await end()
  }
}

/** Writes the progress line of a terminal; null clears it. */
export function status(text: string | null): void {
  if (process.stderr.isTTY) process.stderr.write(CLEAR_LINE + (text ?? ''))
}
