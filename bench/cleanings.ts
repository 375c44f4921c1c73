import { status } from './status.ts'

/** What a program has begun and must end: undone in reverse, at its end and where it is interrupted. */
export class Cleanings {
  /** The program was interrupted: what breaks from now on is no fault. */
  isInterrupted = false
  private readonly left: (() => unknown)[] = []

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => this.interrupt())
  }

  add(...cleanings: (() => unknown)[]): void {
    this.left.push(...cleanings)
  }

  /** Does what is left to be done, where no interruption does so. */
  async finish(): Promise<void> {
    if (!this.isInterrupted) await this.undo()
  }

  private async interrupt() {
    if (this.isInterrupted) process.exit(130) // PostgreSQL ends with this process
    this.isInterrupted = true
    await this.undo()
    process.exit(130)
  }

  private async undo() {
    status(null)
    for (let clean = this.left.pop(); clean; clean = this.left.pop()) await clean()
  }
}
