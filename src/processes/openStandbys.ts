import { type Config, isPooled } from '../config/config.ts'
import { Database, type DatabaseOptions } from '../execute/database.ts'
import { ListReads, shareConnections } from '../execute/listReads.ts'
import { Standby, Standbys } from '../execute/standbys.ts'

/** Of a worker to one standby: those for lists, and one that asks how far it is. */
export function standbyConnections(databasePool: number): number {
  return shareConnections(databasePool).lists + 1
}

/** The hot standbys that the settings name; null: they name none. `options`: of the connections for lists of the primary. */
export function openStandbys(config: Config, primary: Database, options: DatabaseOptions) {
  if (config.databaseReadUrls.length === 0) return null
  const places = shareConnections(config.databasePool).lists
  const databases = config.databaseReadUrls.map(
    (url) =>
      new Database({
        ...options,
        ...{ url, poolSize: standbyConnections(config.databasePool), changes: null, name: `${options.name}/standby` },
      }),
  )
  const standbys = databases.map(
    (database) =>
      new Standby(database, new ListReads({ quick: database, own: database, places, mayCancel: !isPooled(config) })),
  )
  return {
    standbys: new Standbys(primary, standbys),
    end: () => Promise.all(databases.map((database) => database.end(0))),
  }
}
