import { type Config, isPooled } from '../config/config.ts'
import { Database, type DatabaseOptions } from '../execute/database.ts'
import { ListReads, shareConnections } from '../execute/listReads.ts'
import { Standby, Standbys } from '../execute/standbys.ts'
import type { Log } from '../log.ts'

/** Of a worker to one standby: those for lists, and one that asks how far it is. */
function standbyConnections(databasePool: number): number {
  return shareConnections(databasePool).lists + 1
}

/** The hot standbys that the settings name; null: they name none. `options`: of the connections for lists of the primary. */
export function openStandbys(config: Config, primary: Database, options: DatabaseOptions, log: Log) {
  if (config.databaseReadUrls.length === 0) return null
  const places = shareConnections(config.databasePool).lists
  const poolSize = standbyConnections(config.databasePool)
  const opened = config.databaseReadUrls.map((url) => {
    const own = new Database({
      ...options,
      url,
      poolSize,
      kind: 'standby',
      changes: null,
      name: `${options.name}/standby`,
    })
    const reads = new ListReads({ quick: own, own, places, mayCancel: !isPooled(config) })
    return { database: own, standby: new Standby(own, reads, new URL(url).host, log) }
  })
  return {
    standbys: new Standbys(
      primary,
      opened.map(({ standby }) => standby),
    ),
    end: () => Promise.all(opened.map(({ database }) => database.end(0))),
  }
}
