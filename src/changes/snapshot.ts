/** Which transactions a statement saw the work of. PostgreSQL documentation, 9.28.7, pg_snapshot. */
export class Snapshot {
  /** The first transaction that had not ended: the work of all before it was there, or was undone. */
  readonly oldest: number
  /** The first transaction that had not begun. */
  readonly next: number
  private readonly running: ReadonlySet<number>

  /** `text`: `xmin:xmax:xip,xip...`. Transactions have 64 bits; none comes near 2^53. */
  constructor(text: string) {
    const [oldest, next, running = ''] = text.split(':')
    this.oldest = Number(oldest)
    this.next = Number(next)
    this.running = new Set(running === '' ? [] : running.split(',').map(Number))
  }

  /** Whether the work of a transaction that has committed was there. */
  sees(transaction: number): boolean {
    return transaction < this.oldest || (transaction < this.next && !this.running.has(transaction))
  }
}
