import { RedisClient } from 'bun'
import type { Decision, Rule } from '../model/limits.ts'
import { readDecision, ringArguments, ringScript, ringScriptHash } from './redisScript.ts'

/** Each is called once for an outage. */
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
 * The windows of many machines in one Redis or Valkey. Bun's client has no deadlines for commands and does not always
 * say why it failed, so it is given up at the first failure, and a new one must show that it can decide.
 */
export class RedisWindows {
  private redis: RedisClient | null = null
  /** Whether `redis` has shown that it can decide. */
  private here = false
  private told = false
  private pause: Timer | undefined
  private sweeper: Timer | undefined
  private sweeps = 0
  private tellGreeted = (_isHere: boolean) => {}
  /** Resolves when the store has decided something: true; or has been found away: false. */
  readonly greeted = new Promise<boolean>((tell) => {
    this.tellGreeted = tell
  })
  private readonly waiting = new Set<Question>()

  /** @throws for an address that is none; not for a server that does not answer */
  constructor(
    private readonly url: string,
    private readonly events: RedisEvents,
  ) {
    this.greet()
  }

  /** Null: the store is away, decide on this machine. Never rejects, and takes at most 30 ms. */
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
        // Somebody emptied the cache of scripts; this fills it too.
        redis.send('EVAL', [ringScript, ...command]).then(settle, (error) => this.lose(redis, error))
      })
    })
  }

  /** Counts sweeps, not time: a pause of this process is one of them, and before the next it reads what came meanwhile. */
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
    // Offline commands queue by default. Only the first can, and it is told why there is no connection; others are not.
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
    this.tellGreeted(true)
    const wasAway = this.told
    this.told = false
    if (wasAway) this.events.onBack()
  }

  /** Hears of one client's end once, however many of its commands fail. */
  private lose(redis: RedisClient | null, error: Error) {
    if (!redis || redis !== this.redis) return
    this.drop()
    this.tellGreeted(false)
    this.pause = setTimeout(() => this.greet(), PAUSE_MS)
    if (this.told) return
    this.told = true
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

/** What a server repeats of a command it does not know may be the password; it stands in quotes, or after a colon. */
function withoutEcho(message: string): string {
  return /^(?:[\w ,.-]|\b'\b)*/.exec(message)?.[0].trim() as string
}
