/**
 * Knows where the notifications of a transaction end. PostgreSQL sends those of one after those of another, in the order of their
 * commits, and what it has begun to send before it answers a statement. So they end where the next transaction's begin, or
 * else before the answer to a statement that was sent later.
 */
export class TransactionEnds {
  private open: number | null = null
  private heard = 0
  private isAsking = false

  /** `ask` resolves with the answer to a statement over the connection that was heard of them. */
  constructor(
    private readonly ask: () => Promise<unknown>,
    private readonly onEnd: (transaction: number) => void,
  ) {}

  /** A notification of a row by this transaction; null: by one whose end is of no interest. */
  note(transaction: number | null): void {
    if (transaction !== this.open) this.end()
    this.open = transaction
    this.heard++
    if (transaction !== null && !this.isAsking) this.askForEnd()
  }

  private async askForEnd() {
    this.isAsking = true
    try {
      while (this.open !== null) {
        const asked = this.heard
        await this.ask()
        if (asked === this.heard) this.end()
      }
    } catch {
      // With the connection all that came over it is given up.
    } finally {
      this.isAsking = false
    }
  }

  private end() {
    if (this.open !== null) this.onEnd(this.open)
    this.open = null
  }
}
