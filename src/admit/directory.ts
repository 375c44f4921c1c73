import { type Region, SEED_WORD } from '../share/region.ts'
import { HEAD, HIGH, LAP, LOW, SEEN, TAIL, type Table } from './table.ts'

/** A small table is searched whole, so that it has room for as many as it says; of a large one, so many from home. */
const SMALL = 1_024
const PROBES = 64

const { load, store, compareExchange: swap } = Atomics

/**
 * Finds the entry of a client by 64 bits, of which the low 32 are never 0, and gives one to who comes new, under a lock
 * that the kernel drops with its holder: a free one, or that of a client who was silent for `silentMs`.
 */
export class Directory {
  private readonly words: Int32Array
  private readonly probes: number

  constructor(
    private readonly region: Region,
    private readonly table: Table,
    private readonly silentMs: number,
    private readonly clock: () => number,
  ) {
    this.words = table.words
    this.probes = table.clients <= SMALL ? table.clients : PROBES
  }

  /** Null: the client has no entry. */
  find(low: number, high: number): number | null {
    const { words, table, probes } = this
    for (let probe = 0, slot = this.homeOf(low, high); probe < probes; probe++) {
      const entry = table.entryOf(slot)
      if (load(words, entry + LOW) === low && load(words, entry + HIGH) === high) return slot
      if (++slot === table.clients) slot = 0
    }
    return null
  }

  /** Null: all entries in reach are taken. */
  enter(low: number, high: number): number | null {
    const slots = this.slotsFrom(low, high)
    // Looked at without the lock first: when all is taken, a flood of strangers must not queue for it.
    const second = this.second()
    if (!slots.some((slot) => this.isVacant(slot, second))) return null
    return this.region.exclusive(() => {
      const known = this.find(low, high)
      if (known !== null) return known
      const slot = slots.find((own) => this.vacate(own, null)) ?? slots.find((own) => this.vacate(own, second)) ?? null
      if (slot === null) return null
      const entry = this.table.entryOf(slot)
      store(this.words, entry + HIGH, high)
      store(this.words, entry + LOW, low)
      return slot
    })
  }

  /** Whether a client last seen in second `seen` has nothing left that any rule counts. */
  isSilent(seen: number, second: number): boolean {
    return (second - seen - 1) * 1_000 >= this.silentMs
  }

  private slotsFrom(low: number, high: number): number[] {
    const home = this.homeOf(low, high)
    return Array.from({ length: this.probes }, (_, probe) => (home + probe) % this.table.clients)
  }

  /** `second`: now, where the entry of a silent client will do; null, where only a free one will. */
  private isVacant(slot: number, second: number | null): boolean {
    const entry = this.table.entryOf(slot)
    if (load(this.words, entry + LOW) === 0) return true
    return second !== null && this.isSilent(load(this.words, entry + SEEN), second)
  }

  /** Takes the entry from its client by using up its next number, so that whoever decides there right now fails. */
  private vacate(slot: number, second: number | null): boolean {
    const { words, table } = this
    const entry = table.entryOf(slot)
    const ring = table.ringOf(slot)
    for (;;) {
      const head = load(words, entry + HEAD)
      const cell = table.cellOf(ring, head)
      const word = load(words, cell)
      if (load(words, entry + HEAD) !== head) continue
      if (table.isTaken(word, head)) {
        swap(words, entry + HEAD, head, table.after(head)) // left behind by a process that died
        continue
      }
      if (!this.isVacant(slot, second)) return false
      const owner = load(words, entry + LOW)
      store(words, entry + LOW, 0) // from here on nobody finds it
      if (swap(words, cell, word, word ^ LAP) !== word) {
        store(words, entry + LOW, owner) // its client was faster, and is not silent any more
        return false
      }
      swap(words, entry + HEAD, head, table.after(head))
      store(words, entry + SEEN, this.second())
      store(words, entry + TAIL, load(words, entry + HEAD))
      return true
    }
  }

  private second(): number {
    return Math.floor(this.clock() / 1_000)
  }

  /** Where to look first; with the region's own seeds, so that nobody can choose addresses that crowd one place. */
  private homeOf(low: number, high: number): number {
    let mixed = low ^ (this.words[SEED_WORD] as number)
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b) ^ high ^ (this.words[SEED_WORD + 1] as number)
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
    return ((mixed ^ (mixed >>> 16)) >>> 0) % this.table.clients
  }
}
