/** One question for all who ask while another is under way; the answer that each gets was asked for after it came. */
export class Together<T> {
  private running: Promise<T> | null = null
  private next: Promise<T> | null = null

  constructor(private readonly question: () => Promise<T>) {}

  /** @throws what the question throws */
  ask(): Promise<T> {
    if (this.running === null) return this.begin()
    this.next ??= this.running.then(
      () => this.begin(),
      () => this.begin(),
    )
    return this.next
  }

  private begin(): Promise<T> {
    this.next = null
    const running = this.question().finally(() => {
      if (this.running === running) this.running = null
    })
    this.running = running
    return running
  }
}
