const CLEAR_LINE = '\r\u001b[K'

type End = () => unknown

/** What a program has started and must end: the last first, at its end and where it is interrupted. */
export class Ending {
  /** The program was interrupted: what breaks from now on is no fault. */
  isInterrupted = false
  private readonly ends: End[] = []

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => this.interrupt())
  }

  add(...ends: End[]): void {
    this.ends.push(...ends)
  }

  /** Ends what runs, where no interruption does so. */
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

/** What is being done now, on a terminal; null: nothing any more. Elsewhere nothing is written. */
export function status(text: string | null): void {
  if (process.stderr.isTTY) process.stderr.write(CLEAR_LINE + (text ?? ''))
}
