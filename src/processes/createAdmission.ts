// Keys and rate limits of one worker, kept in sync with the database.
import { Admission } from '../admit/admission.ts'
import { KeyRefresh } from '../admit/keyRefresh.ts'
import { Keyring } from '../admit/keyring.ts'
import { type LimiterTables, ownLimitsOf } from '../admit/limiterFiles.ts'
import { Limiters } from '../admit/limiters.ts'
import { RedisWindows } from '../admit/redis.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../execute/database.ts'
import { keySource, touchKeys } from '../keys/store.ts'
import { count, gauge, seriesOf } from '../metrics/counts.ts'
import type { KeyRecord } from '../model/key.ts'
import { parseNetworks } from '../model/networks.ts'
import { withDeadline } from '../os/time.ts'
import type { WorkerContext } from './messages.ts'

/** Interval of refreshes without requests. They also let the supervisor notice changed webhooks. */
const REFRESH_EVERY_MS = 4_000
const USED_EVERY_MS = 10_000
/** Maximum time to note the last used keys at a stop, if the database hangs. */
const NOTE_MS_MAX = 300
const OVERFLOWED = seriesOf('overflowed')

/** Creates a worker's admission and the refresh of its keys. */
export function createAdmission(config: Config, { bootstrapKey, tables, tablesFor, log }: WorkerContext, database: Database) {
  const { rateLimitStore, trustedProxies } = config
  const keyring = new Keyring(bootstrapKey)
  // All workers lose Redis at once; only the first one logs it.
  function onOutage(error: Error | null) {
    if (!limiters.noteStore(error !== null)) return
    if (error === null) log.info('rate limit store reachable again')
    else log.warn('rate limit store unreachable: limits hold per machine', { error: error.message })
  }
  const store = rateLimitStore === null ? null : new RedisWindows(rateLimitStore, onOutage)
  const limiters = new Limiters(config, tables, store)
  update(tables.own)
  const keys = new KeyRefresh(keySource(database), {
    async onKeys(records) {
      const limits = ownLimitsOf(records)
      // Opens tables before keys are replaced: a key with its own limits is never charged by others. Until its table is open, the
      // key is withheld.
      const own = await tablesFor(limits)
      const isOpen = own !== null && update(own)
      const [usable, withheld] = own === null ? divided(records) : [records, []]
      keyring.replace(usable, withheld)
      return isOpen
    },
    onError(kind, error) {
      const { cause } = error as { cause?: unknown }
      if (kind === 'refused') log.warn('the keys cannot be read: they are valid for 5 seconds more', { error: String(error) })
      else log.warn('database unreachable: requests are answered 503', { reason: String(cause ?? error), pid: process.pid })
    },
    onBack(kind) {
      if (kind === 'refused') log.info('the keys can be read again')
      else log.info('database reachable again', { pid: process.pid })
    },
  })
  noteLimits()
  const timers = [setInterval(() => keys.refresh().catch(() => undefined), REFRESH_EVERY_MS), setInterval(noteUse, USED_EVERY_MS)]

  /** Opens the tables of keys with their own limits. False if one cannot be opened. */
  function update(own: LimiterTables['own']): boolean {
    try {
      limiters.update(own)
      return true
    } catch (error) {
      log.error('a rate limit table of a key cannot be opened: RATE_LIMITS apply to it', { error: String(error) })
      return false
    }
  }

  /** Splits keys into those whose table is open, or not needed, and the others. */
  function divided(records: readonly KeyRecord[]) {
    const { yes = [], no = [] } = Object.groupBy(records, (record) => (limiters.hasTableOf(record) ? 'yes' : 'no'))
    return [yes, no] as const
  }

  function noteLimits() {
    gauge(seriesOf('limiterKeys'), limiters.keys.windows.countClients())
    gauge(seriesOf('limiterKeysMax'), config.rateLimitClients)
  }

  /** Stores which keys were used, where a failure may lose some, and logs if the limiter's table was too small for the keys. */
  async function noteUse() {
    const { windows } = limiters.keys
    const requests = windows.overflowed
    windows.overflowed = 0
    count(OVERFLOWED, requests)
    noteLimits()
    if (requests > 0)
      log.warn('more keys are in use than RATE_LIMIT_CLIENTS: keys without an entry share one limit', { requests })
    const ids = keyring.takeUsed()
    // Sent as a read, because repeating it does no harm.
    if (ids.length > 0) await database.read(touchKeys(ids)).catch(() => undefined)
  }

  return {
    admission: new Admission(keyring, limiters, trustedProxies === null ? null : parseNetworks(trustedProxies), keys),
    keys,
    hasKeys: () => keyring.hasKeys,
    // The worker that logged the outage may have died; then this one logs the end of the outage.
    ready: store?.greeting.promise.then((isHere) => isHere && onOutage(null)),
    /** Stops the refresh and notes the last used keys; the database must still be reachable. */
    async close() {
      timers.forEach(clearInterval)
      await withDeadline(noteUse(), NOTE_MS_MAX, () => undefined)
      store?.close()
    },
  }
}
