// Connections to PostgreSQL by an address, with its TLS options. Pools and commands open theirs through it.
import { createConnection } from 'node:net'
import postgres from 'postgres'
import { readDatabaseUrl } from '../model/databaseUrl.ts'
import { readAuthorities } from '../os/certificate.ts'
import { withDeadline } from '../os/time.ts'

/** A lost connection is opened again at once, however often; the types of the database are not asked for. */
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
}

/** The number of clients that have been opened. */
let clients = 0

/** Returns a client of PostgreSQL. Of the address's parameters only those count that a user may set. */
export function connectTo(url: string, { connection, ...own }: ConnectOptions): postgres.Sql {
  const { address, hosts, options, authoritiesFile, connection: asked } = readDatabaseUrl(url)
  // With authorities of its own a connection checks the certificate and its host, whatever `sslmode` it has but none.
  const isTrusting = authoritiesFile !== undefined && options.ssl !== false
  const trusting = isTrusting ? { ssl: { ca: readAuthorities(authoritiesFile) } } : {}
  // A new client tries the first host first, and gives up where that is silent: each client has another first host, if the role
  // of a host decides. The driver reads the port of an IPv6 address from within it.
  const first = options.target_session_attrs === undefined ? 0 : clients++ % hosts.length
  const inTurn = [...hosts.slice(first), ...hosts.slice(0, first)]
  const isPlain = hosts.length === 1 && !hosts[0]?.host.includes(':')
  const places = isPlain ? {} : { host: inTurn.map(({ host }) => host), port: inTurn.map(({ port }) => port) }
  const all = { ...CONNECTING, ...own, ...options, ...places, ...trusting, connection: { ...asked, ...connection } }
  return postgres(address, all as object)
}

const CONNECT_S_MAX = 5
/** Closes a connection that the driver opens after `withConnection` has given up. */
const IDLE_S_MAX = 10

/**
 * Does `work` over a connection of its own, without a `statement_timeout`, and closes it. @throws Error with the code
 * CONNECT_TIMEOUT where the database does not answer in time. The driver alone would reconnect for ever to a proxy that closes
 * each connection, and to several hosts that all refuse it
 */
export async function withConnection<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  // As a text, since the driver leaves out the number 0.
  const connection = { statement_timeout: '0' }
  const sql = connectTo(url, { max: 1, prepare: false, connect_timeout: CONNECT_S_MAX, idle_timeout: IDLE_S_MAX, connection })
  const { connect_timeout: askedS = CONNECT_S_MAX } = readDatabaseUrl(url).options
  try {
    await withDeadline(sql`select 1` as Promise<unknown>, 1_200 * Math.max(CONNECT_S_MAX, Number(askedS)), () => {
      throw Object.assign(new Error('the database does not answer'), { code: 'CONNECT_TIMEOUT' })
    })
    return await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/**
 * Does `work` in a transaction. `mode`: as behind PostgreSQL's `begin`. An error of `work` closes the client, so that the driver
 * sends no rollback: on a lost connection that would be an uncaught exception, and elsewhere could hide the error.
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

/** Returns whether the address asks for TLS and the server has none, so that waiting for the database would not help. */
export function refusesTls(url: string): Promise<boolean> {
  const { hosts, options, authoritiesFile } = readDatabaseUrl(url)
  const isAsked = authoritiesFile !== undefined || /^(?:true|require|verify-)/.test(String(options.ssl))
  if (!isAsked || options.ssl === false || options.sslnegotiation === 'direct') return Promise.resolve(false)
  const [place] = hosts
  if (place === undefined || hosts.length > 1) return Promise.resolve(false)
  return new Promise((resolve) => {
    const socket = createConnection(place, () => socket.write(SSL_REQUEST))
    const end = (refuses: boolean) => {
      socket.destroy()
      resolve(refuses)
    }
    socket.setTimeout(1_000 * CONNECTING.connect_timeout, () => end(false))
    socket.on('error', () => end(false)).on('close', () => end(false))
    socket.once('data', ([answer]) => end(answer === 'N'.charCodeAt(0)))
  })
}
