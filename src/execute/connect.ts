// Connections to PostgreSQL by an address, with its TLS options. Pools and commands open theirs through it.
import { createConnection } from 'node:net'
import postgres from 'postgres'
import { readDatabaseUrl } from '../model/databaseUrl.ts'
import { readAuthorities } from '../os/certificate.ts'

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
  const all = { ...CONNECTING, ...own, ...options, ...trusting, connection: { ...asked, ...connection } }
  return postgres(address, all as object)
}

/** Does `work` over a connection of its own, which waits for the database a little longer and closes at the end. */
export async function withConnection<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = connectTo(url, { max: 1, prepare: false, connect_timeout: 5 })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/** PostgreSQL's SSLRequest message; a server without TLS answers `N`. PostgreSQL 18, 54.7 */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Returns whether the address asks for TLS and the server has none, so that waiting for the database would not help. */
export function refusesTls(url: string): Promise<boolean> {
  const { address, options, authoritiesFile } = readDatabaseUrl(url)
  const isAsked = authoritiesFile !== undefined || /^(?:true|require|verify-)/.test(String(options.ssl))
  if (!isAsked || options.ssl === false || options.sslnegotiation === 'direct') return Promise.resolve(false)
  const { hostname, port } = new URL(address)
  return new Promise((resolve) => {
    const socket = createConnection({ host: hostname, port: Number(port || 5_432) }, () => socket.write(SSL_REQUEST))
    const end = (refuses: boolean) => {
      socket.destroy()
      resolve(refuses)
    }
    socket.setTimeout(1_000 * CONNECTING.connect_timeout, () => end(false))
    socket.on('error', () => end(false)).on('close', () => end(false))
    socket.once('data', ([answer]) => end(answer === 'N'.charCodeAt(0)))
  })
}
