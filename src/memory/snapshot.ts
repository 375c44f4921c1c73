/** Which transactions a statement saw the work of. PostgreSQL documentation, 9.28.7, pg_snapshot. */
export class Snapshot {
  /** The first transaction that had not ended: the work of all before it was there, or was undone. */
  readonly oldest: number
  /** The first transaction that had not begun, as PostgreSQL prints it. */
  readonly next: string
  /** Transactions that ran, as an array of PostgreSQL. */
  readonly running: string

  /** `text`: `xmin:xmax:xip,xip...`. Transactions have 64 bits; none comes near 2^53. */
  constructor(readonly text: string) {
    const [oldest = '', next = '', running = ''] = text.split(':')
    this.oldest = Number(oldest)
    this.next = next
    this.running = `{${running}}`
  }
}
