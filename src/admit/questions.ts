import type { KeyRecord } from '../model/key.ts'

/** Questions that may be sent at once; after that, one more each `EACH_MS`. */
const BURST = 20
const EACH_MS = 200

/**
 * Asks for keys by their ids, seldom enough that clients with made-up ids cannot load the database. An id that was not
 * found is asked for again: its key may have come since.
 */
export class Questions {
  private readonly running = new Map<string, Promise<KeyRecord | null>>()
  private left = BURST
  private filledMs = performance.now()

  constructor(private readonly send: (id: string) => Promise<KeyRecord | null>) {}

  /** Null: there is no such key, or too many questions were asked. */
  async ask(id: string): Promise<KeyRecord | null> {
    const running = this.running.get(id)
    // One that has been sent already may have missed what this request knows to be there. The next one has not.
    if (running !== undefined) return (await running) ?? this.running.get(id) ?? this.start(id)
    return this.start(id)
  }

  private start(id: string): Promise<KeyRecord | null> | null {
    if (!this.take()) return null
    const answer = this.send(id).finally(() => this.running.delete(id))
    this.running.set(id, answer)
    return answer
  }

  private take(): boolean {
    const nowMs = performance.now()
    const more = Math.floor((nowMs - this.filledMs) / EACH_MS)
    this.left = Math.min(BURST, this.left + more)
    this.filledMs += more * EACH_MS
    if (this.left === 0) return false
    this.left--
    return true
  }
}
