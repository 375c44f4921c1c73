// Keeps the keys of an issuer, and its addresses for sign-in, current. While the issuer cannot be read, the keys and addresses of
// the last good reading stay in use.
import { createLocalJWKSet, type JWTVerifyGetKey } from 'jose'
import { errorOf } from '../errors.ts'
import type { SignInEndpoints } from '../model/signIn.ts'
import { monotonicMs } from '../os/time.ts'
import { type Published, readPublished } from './discovery.ts'

/** Minimum time between two requests to the issuer, so that tokens with unknown keys do not flood it. */
const ASK_EVERY_MS = 30_000
/** Age at which keys are read again, so that a key that the issuer has withdrawn is no longer accepted. */
const RENEW_MS = 300_000
/**
 * Interval of the timer, as a multiple of `ASK_EVERY_MS`. It is more than 1: if the timer fired a moment too early, a reading
 * would be skipped.
 */
const TIMER_RATIO = 1.1

export interface Keys {
  readonly find: JWTVerifyGetKey
  readonly algorithms: readonly string[]
}

interface Options {
  /** Called with the reason why the issuer cannot be read, once per outage, and with null when it can be read again. */
  onOutage(reason: string | null): void
  /** Called when the documents of the issuer have changed. The keys may have changed, too. */
  onChange(): void
  /**
   * Called with the reason why nobody can sign in at the issuer's addresses, once for each reason, and with null when people can
   * sign in.
   */
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

  /** The keys of the last good reading; null before the first good reading. */
  get current(): Keys | null {
    return this.keys
  }

  /**
   * The addresses for sign-in of the last good reading. Null before the first good reading, and if the addresses in the document
   * cannot be used.
   */
  get endpoints(): SignInEndpoints | null {
    return this.endpointsRead
  }

  /** False if the last reading failed, so that the issuer may have new keys by now. */
  get isCurrent(): boolean {
    return this.isLastGood
  }

  /**
   * Begins to read the keys, and reads them again whenever they are old or could not be read. Does not wait for the first
   * reading.
   */
  start(): void {
    this.timer ??= setInterval(() => this.renew(), TIMER_RATIO * this.askEveryMs)
    this.read()
  }

  stop(): void {
    clearInterval(this.timer ?? undefined)
  }

  /**
   * Reads the keys if the last call that read them was at least `askEveryMs` ago. Resolves when the reading has ended, or at once
   * if nothing is read; never rejects.
   */
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

  /** Reads the keys. Callers share a reading that is under way. */
  private read(): Promise<void> {
    this.reading ??= readPublished(this.issuer)
      .then((published) => this.accept(published))
      .catch((error) => this.lose(errorOf(error)))
      .finally(() => (this.reading = null))
    return this.reading
  }

  private accept(published: Published): void {
    const text = JSON.stringify(published)
    if (text !== this.published) {
      // Throws if the document has no valid set of keys. Then nothing must be stored, or the next reading would find the document
      // unchanged, and accept it.
      this.keys = { find: createLocalJWKSet(published.keys), algorithms: published.algorithms }
      this.published = text
      this.options.onChange()
      this.acceptEndpoints(published.endpoints)
    }
    this.readMs = monotonicMs()
    this.isLastGood = true
    if (this.isOutageReported) this.options.onOutage(null)
    this.isOutageReported = false
  }

  private acceptEndpoints(endpoints: SignInEndpoints | string): void {
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
