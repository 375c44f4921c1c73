/**
 * Lets lists that have arrived together go on together: each of their steps is then done for all of them before the next one,
 * whose code and data are in the processor's caches from the second list on. Of lists that come one by one each goes through
 * more code than these hold, and waits for memory.
 */
export class Arrivals {
  private together: Promise<false> | null = null

  /** Resolves when what has arrived by now was read from its connections; the requests among it have come to this point, too. */
  next(): Promise<false> {
    this.together ??= new Promise((resolve) =>
      setImmediate(() => {
        this.together = null
        resolve(false)
      }),
    )
    return this.together
  }
}
