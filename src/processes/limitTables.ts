// Tables of rate limits, in files that all workers share: keeps them usable while the server runs.
import { LimiterFiles, type LimiterTables, type OwnLimits } from '../admit/limiterFiles.ts'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { takeMemoryFolder } from '../os/folder.ts'

/**
 * Makes the table in which all workers count requests, and one table for each key with its own limits. If shared memory has no
 * room, the tables are files in the data folder. `onReplaced`: called when a damaged table was replaced, because workers that
 * still use the old table would count separately. @throws Error
 */
export function openTables(config: Config, log: Log, onReplaced: () => void) {
  try {
    return tablesIn('memory', config, log, onReplaced)
  } catch (error) {
    try {
      const tables = tablesIn('disk', config, log, onReplaced)
      const reason = errorOf(error).message
      log.warn('no room in shared memory: the tables of the limits lie in DATA_DIR', { reason })
      return tables
    } catch {
      throw error
    }
  }
}

function tablesIn(kind: 'memory' | 'disk', config: Config, log: Log, onReplaced: () => void) {
  const folder = takeMemoryFolder(config.dataDir, config.port, kind)
  const files = new LimiterFiles(folder.path, config)
  const make = (limits: OwnLimits | null) =>
    files.ensure(limits, ({ message }, key) => {
      log.warn('the limits of a key cannot be used: RATE_LIMITS apply to it', { key, error: message })
    })
  let tables: LimiterTables
  try {
    tables = make(null)
  } catch (error) {
    files.close()
    folder.remove()
    throw error
  }
  /**
   * Makes missing tables, repairs damaged ones, and returns all tables. `limits`: the own limits of keys; null leaves them
   * unchanged. If a table cannot be made, the last tables stay in use.
   */
  function ensure(limits: OwnLimits | null = null): LimiterTables {
    const { serial } = tables
    try {
      tables = make(limits)
    } catch (error) {
      log.error('rate limit tables cannot be repaired: the last ones stay in use', { error: errorOf(error).message })
    }
    if (tables.serial !== serial) onReplaced()
    return tables
  }
  return {
    ensure,
    release() {
      files.close()
      folder.release()
    },
  }
}
