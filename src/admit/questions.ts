import type { KeyRecord } from '../model/key.ts'

/** So many at once, and one more for each of these times after that. */
const BURST = 20
const EACH_MS = 200

/**
 * Questions for a key by its id, few enough for strangers to make up ids as they like. What was not found is not
 * remembered: it may have come since.
 */
export class Questions {
  private readonly running = new Map<string, Promise<KeyRecord | null>>()
  private left = BURST
  private filledMs = performance.now()

  constructor(private readonly send: (id: string) => Promise<KeyRecord | null>) {}

  /** Null: there is none, or there were too many questions. */
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
