// The keys of an issuer and its addresses for sign-in, kept current: the last good ones stay while it cannot be asked.
import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose'
import { errorOf } from '../errors.ts'
import type { SignInEndpoints } from '../model/signIn.ts'
import { monotonicMs } from '../os/time.ts'
import { type Published, readPublished } from './discovery.ts'

/** Minimum time between two requests to the issuer, so that tokens with unknown keys do not flood it. */
const ASK_EVERY_MS = 30_000
/** Age of the keys at which they are read again, so that a key which the issuer has withdrawn is no longer accepted. */
const RENEW_MS = 300_000
/**
 * Interval of the timer, as a multiple of `ASK_EVERY_MS`: a request that came a moment too early would be skipped until the next
 * interval.
 */
const TIMER_RATIO = 1.1

export interface Keys {
  readonly find: JWTVerifyGetKey
  readonly algorithms: readonly string[]
}

interface Options {
  /** Called with why the issuer cannot be asked, once for an outage, and with null when it answers again. */
  onOutage(reason: string | null): void
  /** Called when the issuer has other keys than before. */
  onChange(): void
  /** Called with why nobody can sign in by its addresses, once for each reason, and with null when that is over. */
  onEndpoints?(fault: string | null): void
  readonly askEveryMs?: number
}

export class IssuerKeys {
  private keys: Keys | null = null
  private endpointsRead: SignInEndpoints | null = null
  private endpointsFault: string | null = null
  private published = ''
  private isLastGood = false
  private isOutageReported = false
  private askedMs = Number.NEGATIVE_INFINITY
  private readMs = Number.NEGATIVE_INFINITY
  private reading: Promise<void> | null = null
  private timer: ReturnType<typeof setInterval> | null = null
  private readonly askEveryMs: number

  constructor(
    private readonly issuer: string,
    private readonly options: Options,
  ) {
    this.askEveryMs = options.askEveryMs ?? ASK_EVERY_MS
  }

  /** The last good keys; null until there are any. */
  get current(): Keys | null {
    return this.keys
  }

  /** The last addresses for sign-in; null until there are any, and while those of its document cannot be used. */
  get endpoints(): SignInEndpoints | null {
    return this.endpointsRead
  }

  /** False if the issuer could not be asked the last time, so that it may have other keys by now. */
  get isCurrent(): boolean {
    return this.isLastGood
  }

  /** Reads the keys, and from now on again when they are old or could not be read. Does not wait for them. */
  start(): void {
    this.timer ??= setInterval(() => this.renew(), TIMER_RATIO * this.askEveryMs)
    this.read()
  }

  stop(): void {
    clearInterval(this.timer ?? undefined)
  }

  /** Reads the keys, unless that was tried a moment ago. Resolves when it is done, or nothing is to be done; never rejects. */
  async ask(): Promise<void> {
    if (this.reading !== null) return this.reading
    const nowMs = monotonicMs()
    if (nowMs - this.askedMs < this.askEveryMs) return
    this.askedMs = nowMs
    await this.read()
  }

  private renew(): void {
    const isOld = monotonicMs() - this.readMs >= RENEW_MS
    if (isOld || !this.isLastGood) this.ask()
  }

  /** Callers share one reading. */
  private read(): Promise<void> {
    this.reading ??= readPublished(this.issuer)
      .then((published) => this.take(published))
      .catch((error) => this.lose(errorOf(error)))
      .finally(() => (this.reading = null))
    return this.reading
  }

  private take(published: Published): void {
    const text = JSON.stringify(published)
    if (text !== this.published) {
      // Throws if the document has no set of keys. Nothing of it may be stored then, or the next reading would take it for known.
      this.keys = { find: createLocalJWKSet(published.keys), algorithms: published.algorithms }
      this.published = text
      this.options.onChange()
      this.takeEndpoints(published.endpoints)
    }
    this.readMs = monotonicMs()
    this.isLastGood = true
    if (this.isOutageReported) this.options.onOutage(null)
    this.isOutageReported = false
  }

  private takeEndpoints(endpoints: SignInEndpoints | string): void {
    const fault = typeof endpoints === 'string' ? endpoints : null
    this.endpointsRead = typeof endpoints === 'string' ? null : endpoints
    if (fault === this.endpointsFault) return
    this.endpointsFault = fault
    this.options.onEndpoints?.(fault)
  }

  private lose({ message }: Error): void {
    this.isLastGood = false
    if (this.isOutageReported) return
    this.isOutageReported = true
    this.options.onOutage(message)
  }
}
