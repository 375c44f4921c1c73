/** Callers share one call that starts after they have arrived, so that at most one runs at a time. */
export class SingleFlight<T> {
  private running: Promise<T> | null = null
  private next: Promise<T> | null = null

  constructor(private readonly work: () => Promise<T>) {}

  /** Resolves with the result of a call that starts now or, while one runs, right after it. @throws what the work throws */
  call(): Promise<T> {
    if (this.running === null) return this.begin()
    const begin = () => this.begin()
    this.next ??= this.running.then(begin, begin)
    return this.next
  }

  private begin(): Promise<T> {
    this.next = null
    const running = this.work().finally(() => {
      if (this.running === running) this.running = null
    })
    this.running = running
    return running
  }
}
