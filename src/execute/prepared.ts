/** Each prepared statement takes memory on both sides of every connection, and is never dropped. */
const PREPARED_MAX = 200
const CANDIDATES_MAX = 2_000
/** A text that is used once or twice is not worth a statement on every connection. */
const USES_MIN = 3

/** Decides which statements are prepared, since the driver never drops one. */
export class PreparedShapes {
  private prepared = new Set<string>()
  private candidates = new Map<string, number>()

  constructor(private readonly enabled: boolean) {}

  /** Returns whether `text` is to be prepared; counts this as a use of it. */
  shouldPrepare(text: string): boolean {
    if (!this.enabled) return false
    if (this.prepared.has(text)) return true
    const uses = (this.candidates.get(text) ?? 0) + 1
    this.candidates.delete(text)
    if (uses >= USES_MIN) {
      this.prepared.add(text)
      return true
    }
    if (this.candidates.size >= CANDIDATES_MAX) this.candidates.delete(this.candidates.keys().next().value as string)
    this.candidates.set(text, uses)
    return false
  }

  /** True when the connections hold as many statements as they should ever hold. */
  get full(): boolean {
    return this.prepared.size >= PREPARED_MAX
  }

  forget(): void {
    this.prepared = new Set()
    this.candidates = new Map()
  }
}
