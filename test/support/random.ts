/** Random numbers that are the same for the same seed (mulberry32), so that a failed run can be repeated. */
export class Random {
  constructor(private state: number) {}

  /** Returns an integer from 0 up to, not including, `end`. */
  below(end: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * end)
  }

  chance(percent: number): boolean {
    return this.below(100) < percent
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  times<T>(countMax: number, make: () => T): T[] {
    return Array.from({ length: this.below(countMax + 1) }, make)
  }

  /** Returns `text` with some bytes lost, doubled or replaced. */
  mangle(text: string): string {
    let mangled = text
    for (let edits = 1 + this.below(3); edits > 0; edits--) {
      const at = this.below(mangled.length + 1)
      const insert = this.pick(['', '', '"', '\\', '{', ']', ',', '0', '-', 'e', '\u0000', 'é', '\ud83d', ' ', ':'])
      mangled = mangled.slice(0, at) + insert + mangled.slice(at + this.below(3))
    }
    return mangled
  }
}
