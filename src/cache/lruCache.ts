/**
 * Values by key, the least recently used going first, within a bound on their bytes. Two generations: what is used is in
 * the younger one, and when that is half of the bound, the older one goes. A hit moves nothing.
 */
export class LruCache<V> {
  private younger = new Map<string, V>()
  private older = new Map<string, V>()
  private youngerBytes = 0

  constructor(
    private readonly bytesMax: number,
    private readonly bytesOf: (value: V, key: string) => number,
  ) {}

  get(key: string): V | undefined {
    const value = this.younger.get(key)
    if (value !== undefined) return value
    const old = this.older.get(key)
    if (old === undefined) return undefined
    this.older.delete(key)
    this.set(key, old)
    return old
  }

  /** False: it is too large to be kept. */
  set(key: string, value: V): boolean {
    const bytes = this.bytesOf(value, key)
    if (2 * bytes > this.bytesMax) return false
    this.delete(key)
    if (2 * (this.youngerBytes + bytes) > this.bytesMax) {
      this.older = this.younger
      this.younger = new Map()
      this.youngerBytes = 0
    }
    this.younger.set(key, value)
    this.youngerBytes += bytes
    return true
  }

  delete(key: string): void {
    const value = this.younger.get(key)
    if (value !== undefined) this.youngerBytes -= this.bytesOf(value, key)
    this.younger.delete(key)
    this.older.delete(key)
  }

  clear(): void {
    this.younger = new Map()
    this.older = new Map()
    this.youngerBytes = 0
  }
}
