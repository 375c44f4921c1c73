import { rmSync } from 'node:fs'
import type postgres from 'postgres'
import { generateKey, hashKey, idOf } from '../../src/admit/apiKey.ts'
import { LimiterFiles, type LimiterTables, type OwnLimits, ownLimitsOf } from '../../src/admit/limiterFiles.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { readCursorSecret } from '../../src/keys/store.ts'
import { createLog, type Log } from '../../src/log.ts'
import type { KeyRecord } from '../../src/model/key.ts'
import { checkChanges, readMigrations } from '../../src/postgres/migrate.ts'
import { startWorker } from '../../src/processes/worker.ts'
import { parseRoles } from '../../src/roles/roles.ts'
import { conformance, conformanceOf } from './conformance.ts'
import { ENTITIES_DIR, entities } from './entities.ts'
import { connect, createDatabase, MIGRATIONS } from './postgres.ts'
import { temporaryMemory } from './process.ts'

export const KEY = 'test-key-0123456789ab'

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at is what it asserts
export type Json = any

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The body as JSON; undefined if there is none, or if it has another type. */
  body: Json
}

export interface TestServer {
  url: string
  databaseUrl: string
  /** Connection to the server's database, to insert rows and to read past the API. */
  sql: postgres.Sql
  /** Sends a request with the key, unless `headers` has another authorization. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body: unknown): Promise<Answer>
  put(path: string, body: unknown): Promise<Answer>
  patch(path: string, body: unknown): Promise<Answer>
  remove(path: string): Promise<Answer>
  /** Replaces the keys in the database, and waits until the server has read them. */
  replaceKeys(keys: readonly KeyRecord[]): Promise<void>
  /** Stops the server, once. `leaveMs`: time for clients to leave. */
  stop(leaveMs?: number): Promise<void>
}

/** Options in which a server of the tests differs from the default. */
export interface ServerOptions {
  environment?: Record<string, string>
  databaseUrl?: string
  log?: Log
  keys?: readonly KeyRecord[]
  /** Text of the roles file; default: there is none. */
  roles?: string
  /** Folder with the declarations of the entities; default: only companies, employees and absences. */
  entitiesDir?: string
  /** True if rows are inserted that no client could write: then answers are not checked by the OpenAPI document. */
  hasForeignRows?: boolean
}

/** Rights of the bootstrap key. */
const WHOLE = { rights: '*:read,*:write', addresses: null }

/** Settings with limits that tests do not reach; tests of limits set their own. */
const DEFAULTS = {
  PORT: '0',
  LOG_LEVEL: 'error',
  // On a busy machine any statement may be slow.
  SLOW_STATEMENT_MS: '0',
  RATE_LIMITS: '100000/1s',
  RATE_LIMITS_ANONYMOUS: '10000/1s',
  RATE_LIMIT_CLIENTS: '1',
  // OIDC_ISSUER needs it; a server of this process has the text of `roles`.
  ROLES_FILE: 'roles.txt',
}

/** A key as stored, and the header that a client sends. */
export interface TestKey {
  readonly text: string
  readonly record: KeyRecord
  readonly headers: { readonly authorization: string }
}

/**
 * Makes a key with all rights and a unique name, unless `record` says otherwise: `{ rights: '', addresses: 'read Companies' }`
 * has a right by address.
 */
export function makeKey(record: Partial<KeyRecord> = {}): TestKey {
  const text = generateKey()
  const id = idOf(text)
  const hash = hashKey(text).toString('hex')
  const whole = { id, name: id, hash, rights: '*:read,*:write', addresses: null, role: null, limits: null, ...record }
  return { text, record: whole, headers: { authorization: `ApiKey ${text}` } }
}

/** Makes the limiter's tables, in a folder that is removed with the process. */
export function tablesFor(config: Config, keys: readonly KeyRecord[]): LimiterTables {
  return filesFor(config, temporaryMemory()).ensure(ownLimitsOf(keys), (error) => {
    throw error
  })
}

function filesFor(config: Config, folder: string): LimiterFiles {
  return new LimiterFiles(folder, config)
}

/** Replaces the keys in the database. They get an expiry, so that several keys may have the same name. */
async function storeKeys(sql: postgres.Sql, keys: readonly KeyRecord[]): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`update api_key_version set version = version + 1`
    await transaction`delete from api_key`
    for (const { id, name, hash, rights, addresses, role, limits } of keys)
      await transaction`insert into api_key (id, name, hash, rights, addresses, role, limits, expires)
        values (${id}, ${name}, ${Buffer.from(hash, 'hex')}, ${rights}, ${addresses}, ${role}, ${limits}, 'infinity')`
  })
}

/**
 * Starts a server in this process, which the caller must stop; `useServer` and `startServer` of `start.ts` stop it themselves. A
 * response that does not conform to the OpenAPI document of its key fails the test.
 */
export async function openServer(options: ServerOptions = {}): Promise<TestServer> {
  const databaseUrl = options.databaseUrl ?? (await createDatabase())
  // The database of a test is not embedded: lists of an embedded one get a tenth of the processor time, and on a busy machine none.
  const config = { ...readConfig({ ...DEFAULTS, ...options.environment }), databaseUrl }
  const migrationFiles = readMigrations(MIGRATIONS).map(({ file }) => file)
  const log = options.log ?? createLog(config.logLevel, config.logFormat)
  const folder = temporaryMemory()
  const files = filesFor(config, folder)
  const tablesOf = (limits: OwnLimits | null) =>
    files.ensure(limits, ({ message }, key) => log.warn('the limits of a key cannot be used', { key, error: message }))
  const tables = tablesOf(null)
  // A server without its database has no rows, so it needs no secret for cursors.
  const cursorSecret = await readCursorSecret(databaseUrl).catch(() => '')
  await checkChanges(databaseUrl, { isKept: config.changesDays > 0, hasValues: config.changesValues }, []).catch(() => undefined)
  const sql = connect(databaseUrl)
  if (options.keys) await storeKeys(sql, options.keys)
  const tablesFor = async (limits: OwnLimits) => tablesOf(limits).own
  const context = { cursorSecret, bootstrapKey: KEY, migrationFiles, tables, tablesFor, rolesText: options.roles ?? null, log }
  const { entitiesDir = config.entitiesDir ?? ENTITIES_DIR } = options
  const worker = await startWorker({ ...config, entitiesDir }, { databaseUrl, certificate: null, ...context })
  const roles = options.roles === undefined ? null : parseRoles(options.roles, entities)
  let keys = options.keys ?? []
  const takesTokens = config.oidcIssuer !== null
  /** Returns the checks for the key of a request. For an unknown key, returns those for requests without a key. */
  const describedFor = (authorization = '') => {
    const id = idOf(authorization.replace(/^ApiKey +/i, ''))
    const key = keys.find((one) => one.id === id)
    return key || authorization.endsWith(KEY) ? conformanceOf(key ?? WHOLE, takesTokens, roles) : conformance(takesTokens)
  }

  async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const init: RequestInit = { method, headers: { authorization: `ApiKey ${KEY}`, ...headers }, redirect: 'manual' }
    if (body !== undefined) {
      init.body = typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body)
      init.headers = { 'content-type': 'application/json', ...(init.headers as Record<string, string>) }
    }
    const response = await fetch(worker.url + path, init)
    const text = await response.text()
    const answer = { status: response.status, headers: response.headers, text }
    const { authorization } = init.headers as Record<string, string>
    const faults = options.hasForeignRows ? [] : describedFor(authorization).faultsOf({ method, target: path }, answer)
    if (faults.length > 0) throw new Error(`${method} ${path}: ${faults.join('; ')}`)
    const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== ''
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
  }

  async function stop(leaveMs: number): Promise<void> {
    const left = worker.stop(leaveMs)
    await sql.end()
    await left
    files.close()
    rmSync(folder, { recursive: true, force: true })
  }
  let stopped: Promise<void> | undefined

  return {
    url: worker.url,
    databaseUrl,
    sql,
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
    patch: (path, body) => send('PATCH', path, body),
    remove: (path) => send('DELETE', path),
    async replaceKeys(replacing) {
      keys = replacing
      await storeKeys(sql, keys)
      await worker.refreshKeys()
    },
    stop: (leaveMs = 0) => (stopped ??= stop(leaveMs)),
  }
}

/** Returns the parts of an error that tests check. */
export function errorOf({ status, body }: Answer) {
  return { status, code: body?.Error?.Code, target: body?.Error?.Target }
}
