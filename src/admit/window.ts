// Exact sliding windows in shared memory, without locks for requests of known clients.
import { countedMs, type Decision, longestOf, type Rule } from '../model/limits.ts'
import type { Region } from '../os/region.ts'
import { Directory } from './directory.ts'
import { HEAD, HIGH, LOW, SEEN, TAIL, Table, TIME } from './table.ts'

const { load, compareExchange: swap } = Atomics

/** Returns the size of a region for this many clients, in words of 32 bits. */
export function wordsFor(clients: number, rules: readonly Rule[]): number {
  return Table.words(clients, depthOf(rules))
}

function depthOf(rules: readonly Rule[]): number {
  return Math.max(...rules.map(({ limit }) => limit))
}

/**
 * Exact sliding windows for many clients, in memory that several processes share. A rule admits at most `limit` requests in any
 * interval of its period, and never refuses a request that fits, even by a millisecond. A refusal charges nothing by any rule.
 * A request counts at the time that its decision reads from the clock, between the client's sending and the response. So if
 * limit + 1 requests are admitted, at least a whole period lies between the sending of the first and the response to the last,
 * by any clock that runs at the speed of this machine's.
 *
 * Each client has a ring with the times of its last admissions, as many as the largest limit. Admissions are numbered;
 * number n is in cell n % depth. A rule admits number n when admission n - limit is over one period old, in whole
 * milliseconds. All rules read the same ring, so one write charges all of them or none.
 *
 * To admit a request, a process writes the time to the cell of number `head`, by one compare-and-swap with the word that it has
 * read from the cell. The process that succeeds has the admission, and what it has checked before still holds, because no later
 * number can exist while the cell is unchanged. Times never decrease from one number to the next: a process reads the clock for a
 * number after the swap of the previous number, and before the swap of this number. There is no lock that a dead process could
 * hold. If a process dies before it has moved the head, the lap bit of the cell shows this: the bit is 1 in even laps of the ring
 * and 0 in odd laps. The next process then moves the head.
 *
 * If a table is full, all clients without an entry share one entry, so that every request is counted.
 */
export class SlidingWindows {
  private readonly words: Int32Array
  private readonly table: Table
  private readonly directory: Directory
  private readonly longest: number
  private readonly longestRule: Rule
  /** Number of this process's requests that were charged to the shared entry. The metrics take it and reset it to 0. */
  overflowed = 0
  private readonly decision: Decision = { admitted: true, rule: 0, remaining: 0, waitMs: 0 }

  /**
   * `probeMax`: number of slots that a client's entry can be in. If it is less than the number of all slots, a flood of new
   * clients is cheap.
   */
  constructor(
    region: Region,
    clients: number,
    private readonly rules: readonly Rule[],
    private readonly clock: () => number,
    probeMax: number = clients,
    wrap?: number,
  ) {
    this.longest = longestOf(rules)
    this.longestRule = rules[this.longest] as Rule
    this.words = region.words
    this.table = new Table(region.words, clients, depthOf(rules), wrap)
    this.directory = new Directory(region, this.table, this.longestRule.periodMs, clock, probeMax)
  }

  countClients(): number {
    return this.directory.countInUse()
  }

  /** Decides on one request, and charges it if it is admitted. Returns the same object at each call, so read it at once. */
  admit(low: number, high: number): Decision {
    for (;;) {
      const slot = this.directory.find(low, high) ?? this.directory.assign(low, high)
      if (slot === null) break
      if (this.decide(slot, low, high, 1)) return this.decision
      // Another client has been assigned the entry in the meantime.
    }
    this.overflowed++
    this.decide(this.table.clients, 0, 0, 1) // the last entry, which all clients without an entry share
    return this.decision
  }

  /**
   * Returns what `admit` would decide for the last of `count` requests that come now. `count`: at most the smallest limit.
   * Charges nothing.
   */
  peek(low: number, high: number, count = 1): Decision {
    const slot = this.directory.find(low, high)
    if (slot === null || !this.decide(slot, low, high, 0, count)) this.setDecision(true, this.longest, this.longestRule.limit, 0)
    return this.decision
  }

  /** Returns what `admit` would decide now, also for a client without an entry. Charges nothing. */
  foresee(low: number, high: number): Decision {
    const isShared = this.directory.find(low, high) === null && !this.directory.hasRoom(low, high)
    if (!isShared) return this.peek(low, high)
    this.decide(this.table.clients, 0, 0, 0)
    return this.decision
  }

  /**
   * Sets `this.decision` for the last of `count` requests. Returns false if the entry no longer belongs to this client. `charge`:
   * 1, or 0 to charge nothing.
   */
  private decide(slot: number, low: number, high: number, charge: 0 | 1, count = 1): boolean {
    const { words, table } = this
    const entry = table.entryOf(slot)
    const ring = table.ringOf(slot)
    for (;;) {
      const oldTail = load(words, entry + TAIL) // read before the head, so that tail <= head
      const head = load(words, entry + HEAD)
      const cell = table.cellOf(ring, head)
      const word = load(words, cell)
      if (load(words, entry + HEAD) !== head) continue // the head has moved, so head and word are read again
      if (table.isTaken(word, head)) {
        swap(words, entry + HEAD, head, table.plus(head, 1)) // takes the last step for a process that died or is slow
        continue
      }
      const nowMs = this.clock() // read after all times that this decision uses
      const tail = this.expire(entry, ring, oldTail, head, nowMs)
      if (load(words, entry + LOW) !== low || load(words, entry + HIGH) !== high) return false

      const now = nowMs & TIME
      const used = table.minus(head, tail)
      if (this.isRefused(ring, table.plus(head, count - 1), used + count - 1, now)) {
        // The tail is checked, too: another process may have found the client idle after this process read the time.
        if (load(words, cell) === word && load(words, entry + HEAD) === head && load(words, entry + TAIL) === tail) return true
        continue
      }
      // If no admission counts, the window begins with the admission that is about to be made.
      const longestMs = countedMs(this.longestRule)
      const leavesMs = used === 0 ? charge * longestMs : longestMs - this.age(ring, tail, now)
      if (charge === 1) {
        if (swap(words, cell, word, table.cellWord(now, head)) !== word) continue
        swap(words, entry + HEAD, head, table.plus(head, 1))
      }
      this.setDecision(true, this.longest, this.longestRule.limit - used - charge, leavesMs)
      return true
    }
  }

  /** Returns whether a rule refuses number `head`; `this.decision` then names the rule with the longest wait. */
  private isRefused(ring: number, head: number, used: number, now: number): boolean {
    const { rules, table } = this
    let waitMs = 0
    let hit = 0
    for (let index = 0; index < rules.length; index++) {
      const rule = rules[index] as Rule
      if (used < rule.limit) continue
      const wait = countedMs(rule) - this.age(ring, table.minus(head, rule.limit), now)
      if (wait <= waitMs) continue
      waitMs = wait
      hit = index
    }
    if (waitMs > 0) this.setDecision(false, hit, 0, waitMs)
    return waitMs > 0
  }

  private setDecision(admitted: boolean, rule: number, remaining: number, waitMs: number) {
    this.decision.admitted = admitted
    this.decision.rule = rule
    this.decision.remaining = remaining
    this.decision.waitMs = waitMs
  }

  /**
   * Moves the tail past admissions that no rule counts any more, and returns the new tail. Times wrap around after 24 days, so
   * the tail must move at least once in 24 days; SEEN tells whether a client was idle for longer.
   */
  private expire(entry: number, ring: number, tail: number, head: number, nowMs: number): number {
    const { words } = this
    const second = Math.floor(nowMs / 1_000)
    const seen = load(words, entry + SEEN)
    const first = this.directory.isIdle(seen, second) ? head : this.firstWithin(ring, tail, head, nowMs & TIME)
    // The tail is set before SEEN: if this process dies in between, the next process still finds the client idle.
    if (first !== tail) swap(words, entry + TAIL, tail, first)
    // Repeats until SEEN is at least this second: an admission must never look older than it is, whichever process writes last.
    let last = seen
    while (second > last) {
      const before = swap(words, entry + SEEN, last, second)
      if (before === last) break
      last = before
    }
    return first
  }

  /** Returns the first admission in [from, to) that the rule with the longest period counts; `to` if it counts none. */
  private firstWithin(ring: number, from: number, to: number, now: number): number {
    let low = 0
    let high = this.table.minus(to, from)
    // Usually no admission has expired since the last request, so the oldest admission is read first.
    if (high === 0 || !this.hasExpired(ring, from, now)) return from
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.hasExpired(ring, this.table.plus(from, middle), now)) low = middle + 1
      else high = middle
    }
    return this.table.plus(from, low)
  }

  /**
   * Returns whether an admission has expired for the rule with the longest period. An age over half the range means that the time
   * is ahead of our clock, because another process has just written it.
   */
  private hasExpired(ring: number, number: number, now: number): boolean {
    const age = this.age(ring, number, now)
    return age >= countedMs(this.longestRule) && age <= TIME >> 1
  }

  private age(ring: number, number: number, now: number): number {
    return (now - load(this.words, this.table.cellOf(ring, number))) & TIME
  }
}
