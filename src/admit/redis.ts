// Rate limits that several machines share, in Redis or Valkey.
import { RedisClient } from 'bun'
import { countedMs, type Decision, formatRules, longestOf, type Rule } from '../model/limits.ts'

const SWEEP_MS = 10
const ANSWER_MS_MAX = 30
const GREETING_MS = 1_000
const PAUSE_MS = 250
const WAITING_MAX = 10_000
const TRIAL: readonly Rule[] = [{ limit: 1, periodMs: 1, period: 'trial' }]

/**
 * Sliding windows in one Redis or Valkey that several machines share. Bun's client has no deadlines for commands and does not
 * always report why it failed, so a client is replaced at its first failure. The new client must decide a trial request before it
 * is used.
 */
export class RedisWindows {
  private redis: RedisClient | null = null
  private isUsable = false
  private isOutageReported = false
  private pause: Timer | undefined
  private sweeper: Timer | undefined
  private sweeps = 0
  /** Resolves with true after the first decision of the store, or with false after its first failure. */
  readonly firstOutcome = Promise.withResolvers<boolean>()
  private readonly waiting = new Set<{ askedAtSweep: number; answer(decision: Decision | null): void }>()

  /**
   * `onOutage`: called with an error when the store goes away, and with null when it is back. The error never contains the
   * password of the URL. `answerMsMax`: maximum wait for a decision; tests on a busy machine wait for every decision, with
   * `Infinity`. @throws Error for an invalid URL, but not if the store does not answer
   */
  constructor(
    private readonly url: string,
    private readonly onOutage: (error: Error | null) => void,
    private readonly answerMsMax = ANSWER_MS_MAX,
  ) {
    this.connect()
  }

  /**
   * Decides on a request, and charges it if it is admitted and `isCharged`. Resolves with null if the store is away; then this
   * machine decides. Never rejects, and takes at most `answerMsMax`.
   */
  decide(client: string, rules: readonly Rule[], isCharged = true): Promise<Decision | null> {
    if (!this.redis || !this.isUsable || this.waiting.size >= WAITING_MAX) return Promise.resolve(null)
    return this.ask(this.redis, ringArguments(client, rules, isCharged))
  }

  close(): void {
    this.drop()
    clearTimeout(this.pause)
  }

  private ask(redis: RedisClient, command: readonly string[]): Promise<Decision | null> {
    return new Promise((answer) => {
      const question = { askedAtSweep: this.sweeps, answer }
      this.waiting.add(question)
      this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS)
      const settle = (reply: [number, number, number, number]) => {
        if (this.waiting.delete(question)) answer(readDecision(reply))
      }
      redis.send('EVALSHA', [ringScriptHash, ...command]).then(settle, (error) => {
        if (!/^NOSCRIPT/.test(error.message)) return this.lose(redis, error)
        // The store lost its script cache; EVAL fills it again.
        redis.send('EVAL', [ringScript, ...command]).then(settle, (error) => this.lose(redis, error))
      })
    })
  }

  /**
   * Gives up the connection to the store if the oldest command has waited too long. Counts sweeps, not time, so that after a
   * pause of this process the answers that have arrived are read first.
   */
  private sweep() {
    this.sweeps++
    const [oldest] = this.waiting
    if (!oldest) {
      clearInterval(this.sweeper)
      this.sweeper = undefined
    } else if ((this.sweeps - oldest.askedAtSweep) * SWEEP_MS >= this.answerMsMax) {
      this.lose(this.redis, new Error(`no answer within ${this.answerMsMax} ms`))
    }
  }

  /** Opens a connection. Requests use it only if the script returns a trial decision within `GREETING_MS`. */
  private connect() {
    // Bun's client queues commands until it is connected. Only this command is queued: if it fails, its error tells why there is
    // no connection.
    const redis = new RedisClient(this.url, { autoReconnect: false })
    this.redis = redis
    const timer = setTimeout(() => this.lose(redis, new Error(`no connection within ${GREETING_MS} ms`)), GREETING_MS)
    redis
      .send('SCRIPT', ['LOAD', ringScript])
      .then(() => {
        if (this.redis !== redis) return null
        redis.onclose = (error) => this.lose(redis, error)
        return this.ask(redis, ringArguments('', TRIAL))
      })
      .then((decision) => decision && this.useClient(redis))
      .catch((error) => this.lose(redis, error))
      .finally(() => clearTimeout(timer))
  }

  private useClient(redis: RedisClient) {
    if (redis !== this.redis) return
    this.isUsable = true
    this.firstOutcome.resolve(true)
    if (this.isOutageReported) this.onOutage(null)
    this.isOutageReported = false
  }

  /** Closes a failed client and plans the next one. Has no effect if the client has been replaced. */
  private lose(redis: RedisClient | null, error: Error) {
    if (!redis || redis !== this.redis) return
    this.drop()
    this.firstOutcome.resolve(false)
    this.pause = setTimeout(() => this.connect(), PAUSE_MS)
    if (this.isOutageReported) return
    this.isOutageReported = true
    this.onOutage(new Error(withoutEcho(error.message)))
  }

  private drop() {
    const redis = this.redis
    this.redis = null
    this.isUsable = false
    redis?.close()
    for (const question of this.waiting) question.answer(null)
    this.waiting.clear()
  }
}

/**
 * Cuts an error message of the store at the first quote or colon: the text after it may repeat the command, which can have the
 * password.
 */
export function withoutEcho(message: string): string {
  return /^(?:[\w ,.-]|\b'\b)*/.exec(message)?.[0].trim() as string
}

/**
 * Script that decides for one client by all rules, and charges all of them or none; Redis runs nothing else meanwhile. If
 * `charge` is 0, it decides and charges nothing. The value in Redis is a header of 18 bytes, then a ring with the times of the
 * last admissions, 6 bytes each. The header has the number of admissions, the number of the first admission that the rule with
 * the longest period still counts, and the time of the last admission. Times are cut to whole milliseconds, so `period` here is
 * `countedMs` of a rule.
 */
export const ringScript = `
local key, now, depth, longest, charge = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if now == 0 then
  local clock = redis.call('TIME')
  now = clock[1] * 1000 + math.floor(clock[2] / 1000)
end

local head, first = 0, 0
local header = redis.call('GETRANGE', key, 0, 17)
if header ~= '' then
  local last
  head, first, last = struct.unpack('>I6I6I6', header)
  now = math.max(now, last) -- the server's clock may have been set back
end

local function time(number)
  local at = 18 + number % depth * 6
  return (struct.unpack('>I6', redis.call('GETRANGE', key, at, at + 5)))
end

-- A rule admits when the request that came as many before as its limit says counts no longer.
local rule, wait = 0, 0
for index = 0, (#ARGV - 4) / 2 - 1 do
  local limit = tonumber(ARGV[5 + 2 * index])
  if head >= limit then
    local left = time(head - limit) + tonumber(ARGV[6 + 2 * index]) - now
    if left > wait then rule, wait = index, left end
  end
end
if wait > 0 then return { 0, rule, 0, wait } end

-- Past what the longest rule no longer counts: doubling steps, then halves, since it may be the whole ring.
local limit, period, step = tonumber(ARGV[5 + 2 * longest]), tonumber(ARGV[6 + 2 * longest]), 1
local oldest = now
while first + step <= head do
  oldest = time(first + step - 1)
  if now - oldest < period then break end
  first, step, oldest = first + step, step * 2, now
end
local high = math.min(head, first + step - 1)
while first < high do
  local middle = math.floor((first + high) / 2)
  local at = time(middle)
  if now - at >= period then first = middle + 1 else high, oldest = middle, at end
end

if charge == 0 then return { 1, longest, limit - (head - first), head > first and oldest + period - now or 0 } end

redis.call('SETRANGE', key, 0, struct.pack('>I6I6I6', head + 1, first, now))
redis.call('SETRANGE', key, 18 + head % depth * 6, struct.pack('>I6', now))
redis.call('PEXPIRE', key, period)
return { 1, longest, limit - (head + 1 - first), oldest + period - now }
`

const ringScriptHash = new Bun.CryptoHasher('sha1').update(ringScript).digest('hex')

/** Returns the arguments that follow the script's text or hash. `nowMs`: 0 if Redis shall use its own clock. */
export function ringArguments(client: string, rules: readonly Rule[], isCharged = true, nowMs = 0): string[] {
  const depth = Math.max(...rules.map(({ limit }) => limit))
  const numbers = [nowMs, depth, longestOf(rules), Number(isCharged), ...rules.flatMap((rule) => [rule.limit, countedMs(rule)])]
  // The braces keep all Redis keys of a client on one node of a Redis cluster.
  return ['1', `roster:{${client}}:${formatRules(rules)}`, ...numbers.map(String)]
}

export function readDecision([admitted, rule, remaining, waitMs]: [number, number, number, number]): Decision {
  return { admitted: admitted === 1, rule, remaining, waitMs }
}
