// Keys, tokens and rate limits of one worker, kept in sync with the database.
import { Admission } from '../admit/admission.ts'
import { KeyRefresh, type Outage } from '../admit/keyRefresh.ts'
import { Keyring } from '../admit/keyring.ts'
import { type Limiter, Limiters } from '../admit/limiter.ts'
import { type LimiterTables, ownLimitsOf } from '../admit/limiterFiles.ts'
import { Persons, type RightsOfPerson } from '../admit/persons.ts'
import { RedisWindows } from '../admit/redis.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../execute/database.ts'
import { keySource, touchKeys } from '../keys/store.ts'
import { count, gauge, seriesOf } from '../metrics/counts.ts'
import type { GrantedRights } from '../model/access.ts'
import type { KeyRecord } from '../model/key.ts'
import { parseNetworks } from '../model/networks.ts'
import type { SignIn } from '../model/signIn.ts'
import { withDeadline } from '../os/time.ts'
import { TokenVerifier } from '../tokens/verifier.ts'
import type { WorkerContext } from './messages.ts'

/**
 * Interval at which keys are refreshed even if no request comes. By these refreshes the supervisor also notices changed webhooks.
 */
const REFRESH_EVERY_MS = 4_000
const USED_EVERY_MS = 10_000
/** Maximum time that a stop takes to store which keys were used, in case the database hangs. */
const NOTE_MS_MAX = 300
const OVERFLOWED = seriesOf('overflowed')

/** A worker's admission, and the refresh of its keys. */
export class WorkerAdmission {
  readonly admission: Admission
  readonly keys: KeyRefresh
  /** Resolves when Redis answers, or is found to be unreachable; undefined if the limits are counted in shared memory. */
  readonly ready: Promise<unknown> | undefined
  private readonly keyring: Keyring
  private readonly limiters: Limiters
  private readonly store: RedisWindows | null
  /** Verifier of tokens; null if the server takes no tokens of persons. */
  private readonly tokens: TokenVerifier | null
  private readonly persons: Persons | null
  private readonly timers: readonly NodeJS.Timeout[]

  constructor(
    private readonly config: Config,
    private readonly context: WorkerContext,
    private readonly database: Database,
    readRights: (record: KeyRecord) => GrantedRights,
    rightsOfPerson: RightsOfPerson,
  ) {
    const { rateLimitStore, trustedProxies } = config
    const { bootstrapKey, tables } = context
    this.keyring = new Keyring(bootstrapKey, readRights)
    this.store = rateLimitStore === null ? null : new RedisWindows(rateLimitStore, (error) => this.logOutage(error))
    this.limiters = new Limiters(config, tables, this.store)
    this.openTables(tables.own)
    this.keys = new KeyRefresh(keySource(database), {
      onKeys: (records) => this.replaceKeys(records),
      onError: (kind, error) => this.logKeysLost(kind, error),
      onBack: (kind) => this.logKeysBack(kind),
    })
    const networks = trustedProxies === null ? null : parseNetworks(trustedProxies)
    this.tokens = this.createVerifier()
    const persons = { secret: context.cursorSecret, trustsEmail: config.oidcTrustEmail, rightsOf: rightsOfPerson }
    this.persons = this.tokens === null ? null : new Persons(this.tokens, persons)
    this.admission = new Admission(this.keyring, this.limiters, networks, this.keys, this.persons)
    this.tokens?.start()
    // The worker that logged the outage may have died; then this worker logs the end of the outage.
    this.ready = this.store?.firstOutcome.promise.then((isHere) => isHere && this.logOutage(null))
    this.noteLimits()
    this.timers = [
      setInterval(() => this.keys.refresh().catch(() => undefined), REFRESH_EVERY_MS),
      setInterval(() => this.noteUse(), USED_EVERY_MS),
    ]
  }

  hasKeys(): boolean {
    return this.keyring.hasKeys
  }

  /**
   * Lets persons send requests, because the database is reachable. `secret`: the database's secret, from which the pseudonyms of
   * persons are made.
   */
  begin(secret: string): void {
    this.persons?.begin(secret)
  }

  /** Stops the refresh, and stores which keys were used; the database must still be reachable. */
  async close(): Promise<void> {
    this.timers.forEach(clearInterval)
    this.tokens?.stop()
    await withDeadline(this.noteUse(), NOTE_MS_MAX, () => undefined)
    this.store?.close()
  }

  private createVerifier(): TokenVerifier | null {
    const { oidcIssuer: issuer, oidcAudience: audience } = this.config
    if (issuer === null || audience === null) return null
    return new TokenVerifier({
      issuer,
      audience,
      onOutage: (reason) => this.logIssuer(reason),
      onEndpoints: (fault) => this.logSignIn(fault),
    })
  }

  /** Returns a function that tells how people sign in at /explore; null if they cannot sign in there. */
  signIn(): (() => Promise<SignIn>) | null {
    const { oidcIssuer: issuer, oidcAudience: audience, oidcClientId: clientId, oidcScope: scope } = this.config
    const { tokens } = this
    if (tokens === null || issuer === null || audience === null || clientId === null) return null
    const facts = {
      issuer,
      clientId,
      scope,
      // An audience that is a URL also names the resource in requests to the issuer. RFC 8707
      resource: /^https?:/.test(audience) ? audience : null,
      sends: clientId === audience ? 'id' : 'access',
    } as const
    return async () => ({ ...facts, endpoints: await tokens.signInEndpoints() })
  }

  /**
   * Replaces the keys. First opens the tables of keys with their own limits: without its table, such a key would be charged to
   * RATE_LIMITS. If the supervisor does not answer, a key whose table is not open is withheld. Returns false if not all tables
   * are open.
   */
  private async replaceKeys(records: readonly KeyRecord[]): Promise<boolean> {
    const limits = ownLimitsOf(records)
    const own = await this.context.tablesFor(limits)
    const isOpen = own !== null && this.openTables(own)
    const [usable, withheld] = own === null ? this.divided(records) : [records, []]
    this.keyring.replace(usable, withheld)
    return isOpen
  }

  /** Opens the tables of keys with their own limits. Returns false if a table cannot be opened. */
  private openTables(own: LimiterTables['own']): boolean {
    try {
      this.limiters.update(own)
      return true
    } catch (error) {
      const { log } = this.context
      log.error('a rate limit table of a key cannot be opened: RATE_LIMITS apply to it', { error: String(error) })
      return false
    }
  }

  /** Splits keys into keys that have an open table or need none, and keys whose table is not open. */
  private divided(records: readonly KeyRecord[]) {
    const { yes = [], no = [] } = Object.groupBy(records, (record) => (this.limiters.hasTableOf(record) ? 'yes' : 'no'))
    return [yes, no] as const
  }

  private noteLimits(): void {
    gauge(seriesOf('limiterKeys'), this.limiters.keys.windows.countClients())
    gauge(seriesOf('limiterKeysMax'), this.config.rateLimitClients)
    if (this.limiters.persons !== null) gauge(seriesOf('limiterPersons'), this.limiters.persons.windows.countClients())
  }

  /** Logs if the limiter's tables were too small for the keys or persons. */
  private noteOverflows(): void {
    const { log } = this.context
    const ofKeys = takeOverflowed(this.limiters.keys)
    count(OVERFLOWED, ofKeys)
    if (ofKeys > 0)
      log.warn('more keys are in use than RATE_LIMIT_CLIENTS: keys without an entry share one limit', { requests: ofKeys })
    const ofPersons = this.limiters.persons === null ? 0 : takeOverflowed(this.limiters.persons)
    if (ofPersons > 0)
      log.warn('more than 10,000 persons are active: those without an entry share one limit', { requests: ofPersons })
  }

  /** Stores which keys were used, and updates the metrics of the limits. If storing fails, some uses are lost. */
  private async noteUse(): Promise<void> {
    this.noteOverflows()
    this.noteLimits()
    const ids = this.keyring.takeUsed()
    // Sent as a read, because a read may be repeated after a failure. Repeating this statement does no harm.
    if (ids.length > 0) await this.database.read(touchKeys(ids)).catch(() => undefined)
  }

  /** Logs an outage of Redis. All workers notice it at once; only the first one logs it. */
  private logOutage(error: Error | null): void {
    const { log } = this.context
    if (!this.limiters.noteStore(error !== null)) return
    if (error === null) log.info('rate limit store reachable again')
    else log.warn('rate limit store unreachable: limits hold per machine', { error: error.message })
  }

  private logIssuer(reason: string | null): void {
    const { log } = this.context
    const { pid } = process
    if (reason === null) log.info('the issuer of tokens answers again', { pid })
    else log.warn('the issuer of tokens cannot be asked: its last keys stay in use', { reason, pid })
  }

  private logSignIn(fault: string | null): void {
    const { log } = this.context
    const { pid } = process
    if (this.config.oidcClientId === null) return
    if (fault === null) log.info('people can sign in at /explore again', { pid })
    else log.error('nobody can sign in at /explore: the issuer has no addresses for it', { reason: fault, pid })
  }

  private logKeysLost(kind: Outage, error: unknown): void {
    const { log } = this.context
    const { cause } = error as { cause?: unknown }
    if (kind === 'refused') log.warn('the keys cannot be read: they are valid for 5 seconds more', { error: String(error) })
    else log.warn('database unreachable: requests are answered 503', { reason: String(cause ?? error), pid: process.pid })
  }

  private logKeysBack(kind: Outage): void {
    const { log } = this.context
    if (kind === 'refused') log.info('the keys can be read again')
    else log.info('database reachable again', { pid: process.pid })
  }
}

/**
 * Returns the number of requests, since the last call, that were charged to the shared entry because their client had no entry of
 * its own.
 */
function takeOverflowed({ windows }: Limiter): number {
  const requests = windows.overflowed
  windows.overflowed = 0
  return requests
}
