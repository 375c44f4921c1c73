import { timingSafeEqual } from 'node:crypto'
import type { KeyRecord, KeySource } from '../model/key.ts'
import { monotonicMs } from '../os/clock.ts'
import { withDeadline } from '../os/deadline.ts'
import { hashKey, idOf } from './apiKey.ts'
import type { Key, Keyring } from './keyring.ts'
import { Questions } from './questions.ts'

/** The supervisor reads the keys every half second; after this time without its news a process asks by itself. */
const ASK_AFTER_MS = 2_000
/** Keys that were last confirmed longer ago let no request in. */
const CONFIRMED_MS_MAX = 5_000
const ASK_EVERY_MS = 250
/** How long the database counts as away after a question that it did not answer. */
const AWAY_MS = 1_000
/** By then the supervisor, which reads the keys every half second, has sent a new key. */
const TABLE_MS_MAX = 1_000
const ATTEMPTS_MAX = 3

/**
 * Knows whether the keyring is still that of the database, and finds keys that have come since. The supervisor sends
 * both within half a second. Where it cannot, because its one connection is stuck or refused, the process asks over the
 * connections that it answers requests with: a process that serves also learns of revocations.
 */
export class KeyNews {
  /** When the keyring was last that of the database by a question of this process. */
  private ownMs = Number.NEGATIVE_INFINITY
  private askedMs = Number.NEGATIVE_INFINITY
  private asking: Promise<void> | null = null
  private isAway = false
  private readonly questions: Questions
  /** The questions under way, by the key's text. */
  private readonly learning = new Map<string, Promise<Key | null>>()
  private replaced = Promise.withResolvers<void>()

  constructor(
    private readonly keyring: Keyring,
    private readonly source: KeySource,
    /** When the supervisor last knew the keys, in 32 bits of the monotonic clock; 0: there is no supervisor. */
    private readonly newsMs: () => number,
  ) {
    this.questions = new Questions((id) => source.find(id))
  }

  /**
   * Whether the keyring may be used: it was that of the database a moment ago, or the database answers nothing at all.
   * A promise where the database is asked first; the keyring may be another afterwards.
   */
  confirm(): Promise<boolean> | boolean {
    const ageMs = this.ageMs()
    if (ageMs < ASK_AFTER_MS) return true
    const asked = this.ask()
    if (ageMs < CONFIRMED_MS_MAX || this.isAway) return true
    if (asked === null) return false
    return asked.then(() => this.isAway || this.ageMs() < CONFIRMED_MS_MAX)
  }

  /** The key with a text whose id the keyring lacks; null: the database has none. @throws where it does not answer */
  async find(text: string): Promise<Key | null> {
    const before = this.learning.get(text)
    const key = await (before ?? this.learn(text))
    if (key !== null || before === undefined) return key
    // What was under way already may have missed what this request knows to be there.
    return this.learning.get(text) ?? this.learn(text)
  }

  /** One question for all requests with the same key: one for a key with limits of its own takes a moment. */
  private learn(text: string): Promise<Key | null> {
    const learning = this.tryToLearn(text).finally(() => this.learning.delete(text))
    this.learning.set(text, learning)
    return learning
  }

  /** The key is taken from the keyring at once: keys that were read before it was made may replace it any moment. */
  private async tryToLearn(text: string): Promise<Key | null> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX && !this.keyring.knows(idOf(text)); attempt++) {
      const { serial } = this.keyring
      const record = await this.questions.ask(idOf(text))
      if (record === null || !isOf(text, record)) return null
      // A key with limits of its own is charged by no others: the supervisor sends their table with the key.
      if (record.limits !== null) await withDeadline(this.replaced.promise, TABLE_MS_MAX, () => undefined)
      // Keys that the supervisor sent meanwhile may be newer than the answer: a key missing there is asked for again.
      if (this.keyring.serial === serial) this.keyring.add(record)
    }
    return this.keyring.find(text)
  }

  /** The supervisor has replaced the keys. */
  noteReplaced(): void {
    this.replaced.resolve()
    this.replaced = Promise.withResolvers()
  }

  /** The time since the keyring was last known to be that of the database. */
  private ageMs(): number {
    const newsMs = this.newsMs()
    if (newsMs === 0) return 0
    const nowMs = monotonicMs()
    const ageMs = (nowMs - newsMs) | 0
    // News are never ahead of the clock: these are so old that 32 bits do not hold their age.
    return Math.min(ageMs < 0 ? CONFIRMED_MS_MAX : ageMs, nowMs - this.ownMs)
  }

  private ask(): Promise<void> | null {
    const nowMs = monotonicMs()
    if (this.asking === null && nowMs - this.askedMs < ASK_EVERY_MS) return null
    this.asking ??= this.read(nowMs).finally(() => {
      this.askedMs = monotonicMs()
      this.asking = null
    })
    return this.asking
  }

  private async read(nowMs: number) {
    if (nowMs - this.askedMs > AWAY_MS) this.isAway = false
    const { serial } = this.keyring
    const older = this.keyring.addedIds()
    try {
      const keys = await this.source.current()
      this.isAway = false
      // Otherwise the supervisor has sent keys meanwhile.
      if (this.keyring.serial !== serial) return
      this.keyring.replace(keys, older)
      this.ownMs = nowMs
    } catch (error) {
      this.isAway = this.source.isAway(error)
    }
  }
}

function isOf(text: string, { hash }: KeyRecord): boolean {
  return timingSafeEqual(hashKey(text), Buffer.from(hash, 'hex'))
}
