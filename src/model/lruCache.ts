// A cache that evicts the least recently used values when their weights exceed a bound.

/**
 * A cache of two generations, so that a hit in the younger generation moves nothing. A Map that is kept in order of use would
 * cost twenty times as much.
 */
export class LruCache<V> {
  private younger = new Map<string, V>()
  private older = new Map<string, V>()
  private youngerWeight = 0

  constructor(
    private readonly weightMax: number,
    private readonly weigh: (value: V, key: string) => number,
  ) {}

  get(key: string): V | undefined {
    const value = this.younger.get(key)
    if (value !== undefined) return value
    const old = this.older.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  /**
   * Stores a value in place of an older value of the key. Does nothing if the value's weight is more than half of the maximum.
   */
  set(key: string, value: V): void {
    const weight = this.weigh(value, key)
    if (2 * weight > this.weightMax) return
    const before = this.younger.get(key)
    if (before !== undefined) this.youngerWeight -= this.weigh(before, key)
    if (2 * (this.youngerWeight + weight) > this.weightMax) {
      this.older = this.younger
      this.younger = new Map()
      this.youngerWeight = 0
    }
    this.younger.set(key, value)
    this.youngerWeight += weight
  }
}
