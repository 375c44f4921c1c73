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

/** Returns a client of PostgreSQL. Of the address's parameters only those count that a user may set. */
export function connectTo(url: string, { connection, ...own }: ConnectOptions): postgres.Sql {
  const { address, options, authoritiesFile, connection: asked } = readDatabaseUrl(url)
  // With authorities of its own a connection checks the certificate and its host, whatever `sslmode` it has but none.
  const isTrusting = authoritiesFile !== undefined && options.ssl !== false
  const trusting = isTrusting ? { ssl: { ca: readAuthorities(authoritiesFile) } } : {}
  // The driver takes the first colon of an address of IPv6 for that of the port.
  const [, host, port = '5432'] = /:\/\/(?:[^/]*@)?\[([^\]]+)\](?::(\d+))?(?:\/|$)/.exec(address) ?? []
  const place = host === undefined ? {} : { host: [host], port: [Number(port)] }
  const all = { ...CONNECTING, ...own, ...options, ...place, ...trusting, connection: { ...asked, ...connection } }
  return postgres(options.target_session_attrs === undefined ? address : turned(address), all as object)
}

let turns = 0
/** Begins each time at another host: the first one may be silent, which a new client of the driver does not know. */
function turned(address: string): string {
  return address.replace(/(:\/\/(?:[^/]*@)?)([^/]*)/, (_, head, list) => {
    const hosts = list.split(',')
    const first = turns++ % hosts.length
    return head + [...hosts.slice(first), ...hosts.slice(0, first)].join()
  })
}

/** The second one ends a connection that the driver has opened after it was given up. */
const [CONNECT_S_MAX, IDLE_S_MAX] = [5, 10]

/**
 * Does `work` over a connection of its own, which waits for the database a little longer, has no limit of time of the role, and
 * closes at the end. @throws Error with the code CONNECT_TIMEOUT where nothing answers: the driver begins again without an end
 * where a proxy closes each connection, or all of several hosts refuse it
 */
export async function withConnection<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  // The driver drops the number 0.
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
 * Does `work` in a transaction, whose `mode` is PostgreSQL's. After an error the client is closed before the driver's rollback,
 * which would take the error's place, and whose write to a connection that is lost would be an uncaught fault of the process.
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
  const { address, options, authoritiesFile } = readDatabaseUrl(url)
  const isAsked = authoritiesFile !== undefined || /^(?:true|require|verify-)/.test(String(options.ssl))
  if (!isAsked || options.ssl === false || options.sslnegotiation === 'direct') return Promise.resolve(false)
  // Not of several hosts.
  if (!URL.canParse(address)) return Promise.resolve(false)
  const { hostname, port } = new URL(address)
  return new Promise((resolve) => {
    const socket = createConnection({ host: hostname.replace(/[[\]]/g, ''), port: Number(port || 5_432) }, () =>
      socket.write(SSL_REQUEST),
    )
    const end = (refuses: boolean) => {
      socket.destroy()
      resolve(refuses)
    }
    socket.setTimeout(1_000 * CONNECTING.connect_timeout, () => end(false))
    socket.on('error', () => end(false)).on('close', () => end(false))
    socket.once('data', ([answer]) => end(answer === 'N'.charCodeAt(0)))
  })
}
