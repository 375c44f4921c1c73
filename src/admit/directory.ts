// Directory of a rate-limit table: finds the entry of a client, or assigns one to it. The layout of entries is in table.ts.
import { type Region, SEED_WORD } from '../os/region.ts'
import { HEAD, HIGH, LAP, LOW, OWNER, SEEN, TAIL, type Table } from './table.ts'

const { load, store, compareExchange: swap } = Atomics

/**
 * Entries of a table by client. A new client gets a free entry, or the entry of a client that has been idle for `idleMs`. Entries
 * are assigned under a lock that a crash releases.
 */
export class Directory {
  private readonly words: Int32Array

  /**
   * `probeMax`: number of slots to try, from a client's home slot on. If it is the number of all slots, a new client finds every
   * free slot.
   */
  constructor(
    private readonly region: Region,
    private readonly table: Table,
    private readonly idleMs: number,
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

  /** Returns the number of clients that have a request which a rule still counts. */
  countInUse(): number {
    const { words, table } = this
    const second = this.second()
    let count = 0
    for (let slot = 0; slot < table.clients; slot++) {
      const entry = table.entryOf(slot)
      if (load(words, entry + LOW) !== 0 && !this.isIdle(load(words, entry + SEEN), second)) count++
    }
    return count
  }

  /** Assigns an entry to a client, and returns its slot. Returns null if all slots that the client can have are taken. */
  assign(low: number, high: number): number | null {
    // Room is looked for without the lock, so that a flood of new clients does not queue for the lock when all slots are taken.
    // Another process may have just assigned a slot to this client, so the client is looked for again.
    if (!this.hasRoom(low, high)) return this.find(low, high)
    const slots = this.slotsOf(low, high)
    const second = this.second()
    return this.region.exclusive(() => {
      const known = this.find(low, high)
      if (known !== null) return known
      // First choice is an entry of this client that a process was evicting when the process died.
      const interrupted = slots.find((slot) => this.isHalfEvicted(slot, low, high))
      const slot = interrupted ?? slots.find((slot) => this.evict(slot, null)) ?? slots.find((slot) => this.evict(slot, second))
      if (slot === undefined) return null
      const entry = this.table.entryOf(slot)
      store(this.words, entry + HIGH, high)
      store(this.words, entry + LOW, low)
      store(this.words, entry + OWNER, 0)
      return slot
    })
  }

  /** Returns whether an entry could be assigned to a client that has none. */
  hasRoom(low: number, high: number): boolean {
    const second = this.second()
    return this.slotsOf(low, high).some((slot) => this.isVacant(slot, second) || this.isHalfEvicted(slot, low, high))
  }

  private slotsOf(low: number, high: number): number[] {
    const home = this.homeOf(low, high)
    return Array.from({ length: this.probeMax }, (_, probe) => (home + probe) % this.table.clients)
  }

  /**
   * Returns whether no rule counts a request of a client any more. `seen`: time of the client's last request, in seconds;
   * `second`: the current time.
   */
  isIdle(seen: number, second: number): boolean {
    return (second - seen - 1) * 1_000 >= this.idleMs
  }

  private isHalfEvicted(slot: number, low: number, high: number): boolean {
    const entry = this.table.entryOf(slot)
    const { words } = this
    if (load(words, entry + LOW) !== 0) return false
    return load(words, entry + OWNER) === low && load(words, entry + HIGH) === high
  }

  /**
   * Returns whether the slot can be assigned. `second`: current time, to find idle entries; null if only free entries shall be
   * taken.
   */
  private isVacant(slot: number, second: number | null): boolean {
    const entry = this.table.entryOf(slot)
    if (load(this.words, entry + LOW) === 0 && load(this.words, entry + OWNER) === 0) return true
    // An entry whose eviction a crash interrupted must be idle, too, because its client may be about to be admitted.
    return second !== null && this.isIdle(load(this.words, entry + SEEN), second)
  }

  /**
   * Evicts the client of a vacant entry; returns false if the entry is in use. The eviction uses up the number of the client's
   * next admission. So if another process is just admitting the client, that process fails, and must decide again.
   */
  private evict(slot: number, second: number | null): boolean {
    const { words, table } = this
    const entry = table.entryOf(slot)
    const ring = table.ringOf(slot)
    for (;;) {
      const head = load(words, entry + HEAD)
      const cell = table.cellOf(ring, head)
      const word = load(words, cell)
      if (load(words, entry + HEAD) !== head) continue
      if (table.isTaken(word, head)) {
        swap(words, entry + HEAD, head, table.plus(head, 1)) // takes the last step for a process that died
        continue
      }
      if (!this.isVacant(slot, second)) return false
      const owner = load(words, entry + LOW) || load(words, entry + OWNER)
      store(words, entry + OWNER, owner) // names the client, in case this process dies before the swap
      store(words, entry + LOW, 0) // from now on no process finds the entry
      if (swap(words, cell, word, word ^ LAP) !== word) {
        store(words, entry + LOW, owner) // the client's request was faster, so the entry is in use again
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

  /**
   * Returns the slot to try first. It depends on random seeds of the region, so that a client cannot choose many addresses
   * with the same slot.
   */
  private homeOf(low: number, high: number): number {
    let mixed = low ^ (this.words[SEED_WORD] as number)
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b) ^ high ^ (this.words[SEED_WORD + 1] as number)
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
    return ((mixed ^ (mixed >>> 16)) >>> 0) % this.table.clients
  }
}
