import type { Config } from '../config/config.ts'
import { descriptorsMax } from '../os/descriptors.ts'
import { standbyConnections } from './openStandbys.ts'
import { StartError } from './startError.ts'

/** What a process has open beside connections: files, memory, channels, what the runtime itself needs. */
const FILES = 32
/** With fewer clients at once a server is of no use. */
const CLIENTS_MIN = 64

type Settings = Pick<Config, 'databasePool' | 'databaseReadUrls'>

/** Connections of a worker to databases. */
function connectionsOf({ databasePool, databaseReadUrls }: Settings): number {
  return databasePool + 1 + databaseReadUrls.length * standbyConnections(databasePool)
}

/** How many descriptors a worker keeps for itself, so that clients cannot take those of its connections to the database. */
export function ownDescriptors(config: Settings): number {
  return connectionsOf(config) + FILES / 2
}

/** Refuses a start that could not serve. @throws StartError that says how many descriptors are needed */
export function requireDescriptors(config: Settings): void {
  // The connections, and as many that are kept free for those that replace them.
  const needed = FILES + connectionsOf(config) + ownDescriptors(config) + CLIENTS_MIN
  const max = descriptorsMax()
  if (max >= needed) return
  throw new StartError(
    `a process may have ${max} descriptors, and needs ${needed}: raise the limit (ulimit -n, LimitNOFILE), or set DATABASE_POOL lower`,
  )
}
