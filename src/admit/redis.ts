import { RedisClient } from 'bun'
import type { Decision, Rule } from '../model/limits.ts'
import { readDecision, ringArguments, ringScript, ringScriptHash } from './redisScript.ts'

/** Called once each for an outage. */
export interface RedisEvents {
  /** The error never holds the password of the address. */
  onAway(error: Error): void
  onBack(): void
}

interface Question {
  askedAtSweep: number
  answer(decision: Decision | null): void
}

const SWEEP_MS = 10
const DEADLINE_SWEEPS = 3
const GREETING_MS = 1_000
const PAUSE_MS = 250
const WAITING_MAX = 10_000
const TRIAL: readonly Rule[] = [{ limit: 1, periodMs: 1, period: 'trial' }]

/**
 * Windows that many machines share, in one Redis or Valkey. Bun's client has no deadlines for commands and does not
 * always say why it failed, so it is given up at the first failure, and a new one must first decide something.
 */
export class RedisWindows {
  private redis: RedisClient | null = null
  /** Whether `redis` has decided something. */
  private here = false
  private isOutageReported = false
  private pause: Timer | undefined
  private sweeper: Timer | undefined
  private sweeps = 0
  private resolveGreeted = (_isHere: boolean) => {}
  /** Resolves with true when the store has decided something, with false when it was found away. */
  readonly greeted = new Promise<boolean>((resolve) => {
    this.resolveGreeted = resolve
  })
  private readonly waiting = new Set<Question>()

  /** @throws for an address that is none; not for a server that does not answer */
  constructor(
    private readonly url: string,
    private readonly events: RedisEvents,
  ) {
    this.greet()
  }

  /** Null: the store is away, and this machine decides. Never rejects, and takes at most 30 ms. */
  decide(client: string, rules: readonly Rule[]): Promise<Decision | null> {
    if (!this.redis || !this.here || this.waiting.size >= WAITING_MAX) return Promise.resolve(null)
    return this.ask(this.redis, client, rules)
  }

  close(): void {
    this.drop()
    clearTimeout(this.pause)
  }

  private ask(redis: RedisClient, client: string, rules: readonly Rule[]): Promise<Decision | null> {
    return new Promise((answer) => {
      const question = { askedAtSweep: this.sweeps, answer }
      this.waiting.add(question)
      this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS)
      const command = ringArguments(client, rules)
      const settle = (reply: [number, number, number, number]) => {
        if (this.waiting.delete(question)) answer(readDecision(reply))
      }
      redis.send('EVALSHA', [ringScriptHash, ...command]).then(settle, (error) => {
        if (!/^NOSCRIPT/.test(error.message)) return this.lose(redis, error)
        // The store's cache of scripts was emptied; EVAL fills it again.
        redis.send('EVAL', [ringScript, ...command]).then(settle, (error) => this.lose(redis, error))
      })
    })
  }

  /** Counts sweeps, not time: a pause of this process is one sweep, and answers that came meanwhile are read before the next. */
  private sweep() {
    this.sweeps++
    const [oldest] = this.waiting
    if (!oldest) {
      clearInterval(this.sweeper)
      this.sweeper = undefined
    } else if (this.sweeps - oldest.askedAtSweep >= DEADLINE_SWEEPS) {
      this.lose(this.redis, new Error(`no answer within ${DEADLINE_SWEEPS * SWEEP_MS} ms`))
    }
  }

  /** Opens a connection. Requests do not use it before it has decided something, in time, by the script. */
  private greet() {
    // Commands sent before there is a connection queue. Only the first may: its error names why there is no connection.
    const redis = new RedisClient(this.url, { autoReconnect: false })
    this.redis = redis
    const timer = setTimeout(() => this.lose(redis, new Error(`no connection within ${GREETING_MS} ms`)), GREETING_MS)
    redis
      .send('SCRIPT', ['LOAD', ringScript])
      .then(() => {
        if (this.redis !== redis) return null
        redis.onclose = (error) => this.lose(redis, error)
        return this.ask(redis, '', TRIAL)
      })
      .then((decision) => decision && this.welcome(redis))
      .catch((error) => this.lose(redis, error))
      .finally(() => clearTimeout(timer))
  }

  private welcome(redis: RedisClient) {
    if (redis !== this.redis) return
    this.here = true
    this.resolveGreeted(true)
    const wasAway = this.isOutageReported
    this.isOutageReported = false
    if (wasAway) this.events.onBack()
  }

  /** Handles the end of a client once, however many of its commands fail. */
  private lose(redis: RedisClient | null, error: Error) {
    if (!redis || redis !== this.redis) return
    this.drop()
    this.resolveGreeted(false)
    this.pause = setTimeout(() => this.greet(), PAUSE_MS)
    if (this.isOutageReported) return
    this.isOutageReported = true
    this.events.onAway(new Error(withoutEcho(error.message)))
  }

  private drop() {
    const redis = this.redis
    this.redis = null
    this.here = false
    redis?.close()
    for (const question of this.waiting) question.answer(null)
    this.waiting.clear()
  }
}

/** Cuts what a server repeats of a command, in quotes or after a colon: it may be the password. */
function withoutEcho(message: string): string {
  return /^(?:[\w ,.-]|\b'\b)*/.exec(message)?.[0].trim() as string
}
