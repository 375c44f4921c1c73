const WIDTH = 16
const LABEL_WIDTH = 18
const REDRAW_MS = 100
const LINE_MS = 5_000
const CLEAR_LINE = '\r\u001b[K'

/** Where progress is shown: `process.stdout`, or what a test reads. */
export interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/**
 * One piece of work after the other: on a terminal a line that is rewritten, elsewhere a line now and then. Once
 * `signal` is aborted, the next call of `show` throws its reason, which ends the work.
 */
export class Progress {
  private startedMs = 0
  private shownMs = 0
  private label = ''

  constructor(
    private readonly output: Output,
    private readonly signal?: AbortSignal,
  ) {}

  begin(label: string): void {
    this.label = label
    this.startedMs = performance.now()
    // The first line elsewhere waits, since many pieces are done before it.
    this.shownMs = this.output.isTTY ? 0 : this.startedMs
  }

  /** `unit`: of what is counted, `rows`. */
  show(done: number, total: number, unit: string): void {
    this.signal?.throwIfAborted()
    const nowMs = performance.now()
    if (done === total) return // `end` tells
    if (nowMs - this.shownMs < (this.output.isTTY ? REDRAW_MS : LINE_MS)) return
    this.shownMs = nowMs
    this.write(this.line(done, total, unit), this.output.isTTY ? '' : '\n')
  }

  end(total: number, unit: string): void {
    this.write(this.line(total, total, unit), '\n')
  }

  private line(done: number, total: number, unit: string): string {
    const part = total === 0 ? 1 : done / total
    const bar = '█'.repeat(Math.floor(part * WIDTH)).padEnd(WIDTH, '░')
    const seconds = (performance.now() - this.startedMs) / 1000
    const rate = seconds > 0 ? Math.round(done / seconds).toLocaleString('en') : '0'
    const percent = `${Math.floor(part * 100)} %`.padStart(5)
    const count = `${done.toLocaleString('en')} ${unit}`
    return `${this.label.padEnd(LABEL_WIDTH)} ${bar} ${percent}  ${count}  ${rate}/s  ${seconds.toFixed(1)} s`
  }

  private write(line: string, end: string) {
    this.output.write((this.output.isTTY ? CLEAR_LINE : '') + line + end)
  }
}
