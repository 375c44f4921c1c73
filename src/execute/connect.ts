// Connections to the PostgreSQL of an address, with the TLS options of the address. Pools and commands open their connections
// here.
import { createConnection } from 'node:net'
import postgres from 'postgres'
import { readDatabaseUrl } from '../model/databaseUrl.ts'
import { readAuthorities } from '../os/certificate.ts'
import { withDeadline } from '../os/time.ts'
import { CONNECT_SECONDS_MAX } from './limits.ts'
import { classify } from './outcomes.ts'

/**
 * Options of all connections: the driver reopens a lost connection at once, any number of times, and reads no types from the
 * database.
 */
const CONNECTING = {
  fetch_types: false,
  connect_timeout: CONNECT_SECONDS_MAX,
  backoff: () => 0.1,
  max_lifetime: null,
  onnotice: () => undefined,
} as const

export interface ConnectOptions extends Omit<postgres.Options<Record<string, postgres.PostgresType>>, 'connection'> {
  /** PostgreSQL's settings for these connections. They override settings of the address. */
  connection?: Readonly<Record<string, string | number>>
  /** Index of the host to use, modulo the number of hosts in the address. Default: 0, the first host. */
  hostIndex?: number
}

/**
 * Returns a client of PostgreSQL for one host of the address. If the driver got several hosts, it would hide why each of them
 * fails, and would try to connect for ever, without a pause. Parameters of the address that users may not set are left out.
 */
export function connectTo(url: string, { connection, hostIndex = 0, ...clientOptions }: ConnectOptions): postgres.Sql {
  const { address, hosts, options, authoritiesFile, connection: settings } = readDatabaseUrl(url)
  // With `sslrootcert`, connections check the certificate and its host, unless `sslmode` is `disable`.
  const checksHost = authoritiesFile !== undefined && options.ssl !== false
  const tls = checksHost ? { ssl: { ca: readAuthorities(authoritiesFile) } } : {}
  const { host, port } = hosts[hostIndex % hosts.length] as (typeof hosts)[number]
  // The driver would take a part of an IPv6 address for its port.
  const oneHost = hosts.length === 1 && !host.includes(':') ? {} : { host: [host], port: [port] }
  const all = {
    ...CONNECTING,
    ...clientOptions,
    ...options,
    ...oneHost,
    ...tls,
    connection: { ...settings, ...connection },
  }
  return postgres(address, all as object)
}

/** Maximum seconds to open a connection in `openFirst`, and to get its first answer. */
const FIRST_SECONDS_MAX = 5
/**
 * Idle seconds after which a connection closes. This ends a connection that the driver opens after `withConnection` has given up.
 */
const IDLE_SECONDS_MAX = 10

/**
 * Does `work` over a new connection without a `statement_timeout`, and closes the connection. Limits the time to connect, because
 * the driver would reconnect for ever to a proxy that closes each connection. @throws Error with the code CONNECT_TIMEOUT if the
 * database does not answer before the timeout of `openFirst`
 */
export async function withConnection<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  // The timeout is a text, because the driver leaves out the number 0.
  const connection = { statement_timeout: '0' }
  const sql = await openFirst(url, { idle_timeout: IDLE_SECONDS_MAX, connection })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/** Index of the host that was used last, by address. It is tried first. */
const lastHosts = new Map<string, number>()

/**
 * Returns a client of the first usable host. @throws the error of a host without free connections, else the error of the last
 * host
 */
export async function openFirst(url: string, clientOptions: ConnectOptions): Promise<postgres.Sql> {
  const { hosts, options } = readDatabaseUrl(url)
  // A fifth longer than the driver's timeout: the driver's error must come first, because it tells the cause.
  const msMax = 1_200 * Math.max(FIRST_SECONDS_MAX, Number(options.connect_timeout ?? 0))
  const first = lastHosts.get(url) ?? 0
  let noConnection: unknown = null
  for (let hostIndex = first; ; hostIndex++) {
    let isChosen = false
    const onclose = (id: number) => isChosen && clientOptions.onclose?.(id)
    const sql = connectTo(url, {
      max: 1,
      prepare: false,
      connect_timeout: FIRST_SECONDS_MAX,
      ...clientOptions,
      onclose,
      hostIndex,
    })
    try {
      await withDeadline(sql`select 1` as Promise<unknown>, msMax, () => {
        throw Object.assign(new Error('the database does not answer'), { code: 'CONNECT_TIMEOUT' })
      })
      isChosen = true
      lastHosts.set(url, hostIndex % hosts.length)
      return sql
    } catch (error) {
      await sql.end({ timeout: 0 })
      if (classify(error) === 'noConnection') noConnection = error
      if (hostIndex === first + hosts.length - 1) throw noConnection ?? error
    }
  }
}

/**
 * Does `work` in a transaction. `mode`: the text after `begin` in SQL. An error of `work` closes the client, so that the driver
 * sends no rollback. On a lost connection, a rollback would be an uncaught exception. On a working connection, it could hide the
 * error.
 */
export async function inTransaction<T>(
  sql: postgres.Sql,
  work: (transaction: postgres.TransactionSql) => Promise<T>,
  mode = '',
): Promise<T> {
  let fault: { readonly error: unknown } | null = null
  const guarded = async (transaction: postgres.TransactionSql) => {
    try {
      return await work(transaction)
    } catch (error) {
      fault = { error }
      await sql.end({ timeout: 0 })
      throw error
    }
  }
  try {
    return (await sql.begin(mode, guarded)) as T
  } catch (error) {
    throw fault === null ? error : (fault as { error: unknown }).error
  }
}

/** PostgreSQL's SSLRequest message; a server without TLS answers `N`. PostgreSQL 18, 54.7 */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Returns whether the address asks for TLS and the server has none, so that it is useless to wait for the database. */
export function refusesTls(url: string): Promise<boolean> {
  const { hosts, options, authoritiesFile } = readDatabaseUrl(url)
  const isAsked = authoritiesFile !== undefined || /^(?:true|require|verify-)/.test(String(options.ssl))
  if (!isAsked || options.ssl === false || options.sslnegotiation === 'direct') return Promise.resolve(false)
  const [host] = hosts
  if (host === undefined || hosts.length > 1) return Promise.resolve(false)
  return new Promise((resolve) => {
    const socket = createConnection(host, () => socket.write(SSL_REQUEST))
    const end = (refuses: boolean) => {
      socket.destroy()
      resolve(refuses)
    }
    socket.setTimeout(1_000 * CONNECTING.connect_timeout, () => end(false))
    socket.on('error', () => end(false)).on('close', () => end(false))
    socket.once('data', ([answer]) => end(answer === 'N'.charCodeAt(0)))
  })
}
