// Directory of a rate-limit table: finds the entry of a client, or assigns one to it. The layout of entries is in table.ts.
import { type Region, SEED_WORD } from '../os/region.ts'
import { HEAD, HIGH, LAP, LOW, OWNER, SEEN, TAIL, type Table } from './table.ts'

const { load, store, compareExchange: swap } = Atomics

/** Entries by client. A new client gets a free one, or one unused for `silentMs`, under a lock that ends with its holder. */
export class Directory {
  private readonly words: Int32Array

  /** `reach`: how many slots, from its home on, a client's entry may be in; with all of them no room is lost. */
  constructor(
    private readonly region: Region,
    private readonly table: Table,
    private readonly silentMs: number,
    private readonly clock: () => number,
    private readonly probeMax: number,
  ) {
    this.words = table.words
  }

  find(low: number, high: number): number | null {
    const { words, table, probeMax } = this
    for (let probe = 0, slot = this.homeOf(low, high); probe < probeMax; probe++) {
      const entry = table.entryOf(slot)
      if (load(words, entry + LOW) === low && load(words, entry + HIGH) === high) return slot
      if (++slot === table.clients) slot = 0
    }
    return null
  }

  /** Counts the clients with an entry and a request that a rule still counts. */
  countInUse(): number {
    const { words, table } = this
    const second = this.second()
    let count = 0
    for (let slot = 0; slot < table.clients; slot++) {
      const entry = table.entryOf(slot)
      if (load(words, entry + LOW) !== 0 && !this.isSilent(load(words, entry + SEEN), second)) count++
    }
    return count
  }

  /** Null: all entries in reach are taken. */
  enter(low: number, high: number): number | null {
    // Without the lock first: when all slots are taken, a flood of new clients must not queue for it.
    // Another process may just have given the last one to this very client.
    if (!this.hasRoom(low, high)) return this.find(low, high)
    const slots = this.slotsOf(low, high)
    const second = this.second()
    return this.region.exclusive(() => {
      const known = this.find(low, high)
      if (known !== null) return known
      // First the entry that a process was taking away from this client when it died.
      const left = slots.find((own) => this.isLeftBy(own, low, high))
      const slot = left ?? slots.find((own) => this.vacate(own, null)) ?? slots.find((own) => this.vacate(own, second))
      if (slot === undefined) return null
      const entry = this.table.entryOf(slot)
      store(this.words, entry + HIGH, high)
      store(this.words, entry + LOW, low)
      store(this.words, entry + OWNER, 0)
      return slot
    })
  }

  /** Returns whether a client without an entry can have one. */
  hasRoom(low: number, high: number): boolean {
    const second = this.second()
    return this.slotsOf(low, high).some((slot) => this.isVacant(slot, second) || this.isLeftBy(slot, low, high))
  }

  private slotsOf(low: number, high: number): number[] {
    const home = this.homeOf(low, high)
    return Array.from({ length: this.probeMax }, (_, probe) => (home + probe) % this.table.clients)
  }

  /** Returns whether a client last seen in second `seen` has nothing left that any rule counts. */
  isSilent(seen: number, second: number): boolean {
    return (second - seen - 1) * 1_000 >= this.silentMs
  }

  private isLeftBy(slot: number, low: number, high: number): boolean {
    const entry = this.table.entryOf(slot)
    const { words } = this
    if (load(words, entry + LOW) !== 0) return false
    return load(words, entry + OWNER) === low && load(words, entry + HIGH) === high
  }

  /** `second`: now, where the entry of a silent client will do; null, where only a free one will do. */
  private isVacant(slot: number, second: number | null): boolean {
    const entry = this.table.entryOf(slot)
    if (load(this.words, entry + LOW) === 0 && load(this.words, entry + OWNER) === 0) return true
    // Also one that was only half taken away: its client may have had an admission in hand.
    return second !== null && this.isSilent(load(this.words, entry + SEEN), second)
  }

  /** Takes the entry from its client by using up its next number, so that a decision made there meanwhile fails. */
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
        swap(words, entry + HEAD, head, table.plus(head, 1)) // left behind by a process that died
        continue
      }
      if (!this.isVacant(slot, second)) return false
      const owner = load(words, entry + LOW) || load(words, entry + OWNER)
      store(words, entry + OWNER, owner) // for its client, should this process die before the swap
      store(words, entry + LOW, 0) // from here on no process finds it
      if (swap(words, cell, word, word ^ LAP) !== word) {
        store(words, entry + LOW, owner) // its client was faster, and is not silent any more
        store(words, entry + OWNER, 0)
        return false
      }
      store(words, entry + OWNER, 0)
      swap(words, entry + HEAD, head, table.plus(head, 1))
      store(words, entry + SEEN, this.second())
      store(words, entry + TAIL, load(words, entry + HEAD))
      return true
    }
  }

  private second(): number {
    return Math.floor(this.clock() / 1_000)
  }

  /** The slot to try first; by the region's own seeds, so that no client can choose addresses that crowd one slot. */
  private homeOf(low: number, high: number): number {
    let mixed = low ^ (this.words[SEED_WORD] as number)
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b) ^ high ^ (this.words[SEED_WORD + 1] as number)
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
    return ((mixed ^ (mixed >>> 16)) >>> 0) % this.table.clients
  }
}
