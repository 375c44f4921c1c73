import { Admission } from '../admit/admission.ts'
import { KeyNews } from '../admit/keyNews.ts'
import { Keyring } from '../admit/keyring.ts'
import { type LimiterTables, limiterSettings } from '../admit/limiterFiles.ts'
import { Limiters } from '../admit/limiters.ts'
import { RedisWindows } from '../admit/redis.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../execute/database.ts'
import { keySource } from '../keys/source.ts'
import type { Log } from '../log.ts'
import type { KeyRecord } from '../model/key.ts'
import { parseNetworks } from '../model/networks.ts'
import { noteKeys } from './gauges.ts'

interface KeysAndTables {
  readonly keys: readonly KeyRecord[]
  readonly bootstrapKeys: readonly string[]
  readonly tables: LimiterTables
  readonly log: Log
}

/** A worker's admission, with what keeps it as the supervisor says. `database`: asked for keys that were just made. */
export function createAdmission(
  config: Config,
  { keys, bootstrapKeys, tables, log }: KeysAndTables,
  database: Database,
) {
  const { rateLimitStore, trustedProxies } = config
  const keyring = new Keyring(keys, bootstrapKeys)
  // All workers lose the store at once; the first one logs it.
  const storeEvents = {
    onAway(error: Error) {
      if (limiters.storeIsAway())
        log.warn('rate limit store unreachable: limits hold per machine', { error: error.message })
    },
    onBack() {
      if (limiters.storeIsBack()) log.info('rate limit store reachable again')
    },
  }
  const store = rateLimitStore === null ? null : new RedisWindows(rateLimitStore, storeEvents)
  const limiters = new Limiters(limiterSettings(config), tables, store)
  limiters.update(tables)
  const news = new KeyNews(keyring, keySource(database), () => limiters.newsMs())
  return {
    admission: new Admission(keyring, limiters, trustedProxies === null ? null : parseNetworks(trustedProxies), news),
    replaceKeys(records: readonly KeyRecord[], tables: LimiterTables) {
      keyring.replace(records)
      limiters.update(tables)
      news.noteReplaced()
    },
    takeUsedKeys() {
      const requests = limiters.takeOverflowed()
      noteKeys({ overflowed: requests, inUse: limiters.countKeys(), max: config.rateLimitClients })
      if (requests > 0)
        log.warn('more keys are in use than RATE_LIMIT_CLIENTS: keys without an entry share one limit', { requests })
      return keyring.takeUsed()
    },
    // The worker that logged the outage may have died; then this one logs its end.
    ready: store?.greeted.then((isHere) => isHere && storeEvents.onBack()),
    close: () => store?.close(),
  }
}
