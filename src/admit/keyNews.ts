import { timingSafeEqual } from 'node:crypto'
import type { KeyRecord, KeySource } from '../model/key.ts'
import { monotonicMs } from '../os/clock.ts'
import { hashKey, idOf } from './apiKey.ts'
import type { Key, Keyring } from './keyring.ts'
import { Questions } from './questions.ts'

/** The supervisor looks every half second; after this time without its news a process asks by itself. */
const ASK_AFTER_MS = 2_000
/** Keys that were last confirmed longer ago let no request in. */
const CONFIRMED_MS_MAX = 5_000
const ASK_EVERY_MS = 250
/** So long after a question that went unanswered the database counts as away. */
const AWAY_MS = 1_000
/** The supervisor, which looks every half second, has told of a new key by then. */
const TABLE_MS_MAX = 1_000
const ATTEMPTS_MAX = 3

/**
 * Whether the keys known here are still those of the database, and which have come since. The supervisor tells both within
 * half a second. Where it cannot, since its one connection is stuck or none is to be had, the process asks by
 * itself over the connections that it serves with: what serves also hears.
 */
export class KeyNews {
  /** When the keys that an own question has found were those of the database. */
  private ownMs = Number.NEGATIVE_INFINITY
  private askedMs = Number.NEGATIVE_INFINITY
  private asking: Promise<void> | null = null
  private isAway = false
  private readonly questions: Questions
  /** By the key's text: being asked for. */
  private readonly learning = new Map<string, Promise<void>>()
  private replaced = Promise.withResolvers<void>()

  constructor(
    private readonly keyring: Keyring,
    private readonly source: KeySource,
    /** When the supervisor last had news, in 32 bits of the monotonic clock; 0: there is no supervisor. */
    private readonly newsMs: () => number,
  ) {
    this.questions = new Questions((id) => source.find(id))
  }

  /**
   * Whether the keys known count: they were those of the database a moment ago, or it can be asked nothing at all.
   * A promise where that had to be asked for; they may be others then.
   */
  confirm(): Promise<boolean> | boolean {
    const ageMs = this.ageMs()
    if (ageMs < ASK_AFTER_MS) return true
    const asked = this.ask()
    if (ageMs < CONFIRMED_MS_MAX || this.isAway) return true
    if (asked === null) return false
    return asked.then(() => this.isAway || this.ageMs() < CONFIRMED_MS_MAX)
  }

  /** The key with a text whose id is not known here, if the database has it by now. @throws where that cannot be told */
  async find(text: string): Promise<Key | null> {
    const before = this.learning.get(text)
    await (before ?? this.learn(text))
    const key = this.keyring.find(text)
    if (key !== null || before === undefined) return key
    // What was under way already may have missed what this request knows to be there.
    await (this.learning.get(text) ?? this.learn(text))
    return this.keyring.find(text)
  }

  /** Once for all who ask with the same key meanwhile: where it has limits of its own that takes a moment. */
  private learn(text: string): Promise<void> {
    const learning = this.tryToLearn(text).finally(() => this.learning.delete(text))
    this.learning.set(text, learning)
    return learning
  }

  private async tryToLearn(text: string) {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX && !this.keyring.knows(idOf(text)); attempt++) {
      const { serial } = this.keyring
      const record = await this.questions.ask(idOf(text))
      if (record === null || !isOf(text, record)) return
      // A key with limits of its own is not charged by others: the supervisor tells of their table with the key.
      if (record.limits !== null) await Promise.race([this.replaced.promise, Bun.sleep(TABLE_MS_MAX)])
      // Keys that the supervisor sent meanwhile may be newer than the answer: a key missing there is asked for again.
      if (this.keyring.serial === serial) this.keyring.add(record)
    }
  }

  /** The supervisor has replaced the keys. */
  noteReplaced(): void {
    this.replaced.resolve()
    this.replaced = Promise.withResolvers()
  }

  /** For how long nothing was heard. */
  private ageMs(): number {
    const newsMs = this.newsMs()
    if (newsMs === 0) return 0
    const nowMs = monotonicMs()
    const ageMs = (nowMs - newsMs) | 0
    // News are never ahead of the clock; these are so old that 32 bits do not hold it.
    return Math.min(ageMs < 0 ? CONFIRMED_MS_MAX : ageMs, nowMs - this.ownMs)
  }

  private ask(): Promise<void> | null {
    const nowMs = monotonicMs()
    if (this.asking === null && nowMs - this.askedMs < ASK_EVERY_MS) return null
    this.asking ??= this.look(nowMs).finally(() => {
      this.askedMs = monotonicMs()
      this.asking = null
    })
    return this.asking
  }

  private async look(nowMs: number) {
    if (nowMs - this.askedMs > AWAY_MS) this.isAway = false
    const { serial } = this.keyring
    try {
      const keys = await this.source.current()
      this.isAway = false
      // Else the supervisor is back.
      if (this.keyring.serial !== serial) return
      this.keyring.replace(keys)
      this.ownMs = nowMs
    } catch (error) {
      this.isAway = this.source.isAway(error)
    }
  }
}

function isOf(text: string, { hash }: KeyRecord): boolean {
  return timingSafeEqual(hashKey(text), Buffer.from(hash, 'hex'))
}
