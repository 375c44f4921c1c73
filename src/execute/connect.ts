import postgres from 'postgres'
import { readDatabaseUrl } from '../model/databaseUrl.ts'

/** Soon again where one was lost, for as long as it lasts, and without a look at the types that there are. */
const CONNECTING = {
  fetch_types: false,
  connect_timeout: 2,
  backoff: () => 0.1,
  max_lifetime: null,
  onnotice: () => undefined,
} as const

export interface ConnectOptions extends Omit<postgres.Options<Record<string, postgres.PostgresType>>, 'connection'> {
  /** Settings of the database for these connections; they win over those of the address. */
  connection?: Readonly<Record<string, string | number>>
  onnotify?(channel: string, payload: string): void
}

/** How every connection of ours is made. Of the address only the parameters count that are ours to give away. */
export function connectTo(url: string, { connection, ...own }: ConnectOptions): postgres.Sql {
  const asked = readDatabaseUrl(url)
  const options = { ...CONNECTING, ...own, ...asked.options, connection: { ...asked.connection, ...connection } }
  return postgres(asked.address, options as object)
}

/** For work of its own at the start, which waits for the database a little longer. */
export function connectOnce(url: string): postgres.Sql {
  return connectTo(url, { max: 1, prepare: false, connect_timeout: 5 })
}
