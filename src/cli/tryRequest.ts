// Tries a request for `roster keys try` and `roster roles try`: with the handlers of the server, in this process.
import type { Config } from '../config/config.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { ListReads } from '../execute/listReads.ts'
import { createRouter } from '../http/endpoints.ts'
import { type Endpoint, type Router, requireSeen } from '../http/router.ts'
import { readCursorSecret } from '../keys/store.ts'
import type { GrantedRights, Right } from '../model/access.ts'
import { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { isNamedView, type NamedView } from '../model/namedView.ts'
import { requireRight } from '../operations/resourceRequest.ts'
import { UnparsedRows } from '../parse/body.ts'
import { findRows } from '../parse/rows.ts'
import { respondError } from '../respond/error.ts'
import { isStreamed } from '../respond/reply.ts'
import { rowFiltersOf } from '../rights/accesses.ts'
import { printFilter } from '../rights/print.ts'
import { CommandError } from './run.ts'

type Target = ReturnType<typeof readRequest>

/** Everything that a server provides for a request: settings, entities, views and a database. */
export interface Site {
  readonly config: Config
  readonly entities: readonly Entity[]
  readonly views: readonly NamedView[]
  readonly database: Database
  readonly url: string
}

/** An answer: its status, its total if it is a list, and its JSON, which is null for a HEAD. */
interface Answer {
  readonly status: number
  readonly total: number | null
  readonly body: string | null
  /** Error of the answer; null if the request succeeded. */
  readonly error: ApiError | null
}

/**
 * An answer, and the rights to read that decide it. There are several rights if several roles give a right to read the
 * collection.
 */
export interface Tried {
  readonly answer: Answer
  readonly rights: readonly Right[]
}

/**
 * Answers a request as the server would for a caller with these rights. @throws CommandError if rights do not decide about its
 * path
 */
export async function tryRequest(site: Site, target: Target, rights: GrantedRights): Promise<Tried> {
  const router = routerOf(site, await readCursorSecret(site.url))
  const endpoint = router.find(target.path)?.endpoint ?? null
  if (endpoint?.isOpen) throw new CommandError(`there is nothing at ${target.path} that rights decide about.`)
  if (endpoint === null && site.config.appFile !== null)
    throw new CommandError(`the API has nothing at ${target.path}, and routes of APP_FILE cannot be tried.`)
  const answer = await answerTo(router, target, rights)
  const entity = endpoint?.entity ?? null
  return {
    answer,
    rights: entity === null ? [] : rights.rights.filter((one) => one.verb === 'read' && one.collection === entity),
  }
}

const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Parses a request such as `GET /Absences?sort=-Start`; `GET` may be left out. @throws CommandError for a method that does not
 * read
 */
export function readRequest(text: string) {
  const [, word = 'GET', address = ''] = /^(?:([a-z]+)\s+)?(\S.*)$/is.exec(text.trim()) ?? []
  const method = word.toUpperCase()
  if (WRITES.includes(method))
    throw new CommandError(`${method} may change rows: try a GET, and writes with a key on a server with a copy of the data`)
  if (method !== 'GET' && method !== 'HEAD')
    throw new CommandError(`"${excerpt(word)}" is no method that reads: write GET or HEAD, and a path, as GET /Absences`)
  const [path = '', ...query] = address.split('?')
  return { method, path: path.startsWith('/') ? path : `/${path}`, query: query.join('?') }
}

/** Returns the routes of a server without copies of tables in memory and without rate limits. */
function routerOf({ config, entities, views, database }: Site, cursorSecret: string): Router {
  const { changesDays, changesValues, rateLimits, rateLimitsAnonymous, publicUrl } = config
  return createRouter({
    entities,
    views,
    database,
    listReads: new ListReads({ sharedPool: database, listPool: database, connections: 1, mayCancel: false }),
    longWrites: null,
    cursors: new Cursors(cursorSecret),
    memory: null,
    changes: changesDays === 0 ? null : { hasValues: changesValues },
    migrationFiles: [],
    limits: { ofKeys: rateLimits, anonymous: rateLimitsAnonymous },
    baseUrl: () => publicUrl ?? '',
    isDraining: () => false,
    isWaiting: () => false,
    documentNeedsKey: false,
    signIn: null,
  })
}

async function answerTo(router: Router, { method, path, query }: Target, rights: GrantedRights): Promise<Answer> {
  try {
    const { endpoint, id } = requireSeen(router, router.find(path), path, rights)
    const { entity } = endpoint
    const get = endpoint.methods.GET as NonNullable<Endpoint['methods'][string]>
    const access = entity === null ? null : requireRight(rights, entity, 'read')
    const request = new Request('http://localhost/')
    const call = { request, url: path, query, id, access, rights, key: '', keyName: '' }
    const { status, headers, body } = await get(call)
    if (body === null || isStreamed(body)) throw new Error('a GET for JSON has another answer')
    const total = headers['X-Total-Count']
    const text = typeof body === 'string' ? body : Buffer.from(body).toString()
    const shown = method === 'HEAD' ? null : text
    return { status, total: total === undefined ? null : Number(total), body: shown, error: null }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { status, body } = respondError(error, '')
    return { status, total: null, body: method === 'HEAD' ? null : body, error }
  }
}

/**
 * Returns the result as a line of JSON, with the body as the client would get it. `facts`: members to print before the members of
 * the result.
 */
export function dataOf({ answer, rights }: Tried, facts: object): string {
  const { status, total, body } = answer
  const data = { ...facts, properties: propertiesOf(rights), status, total }
  return `${JSON.stringify(data).slice(0, -1)},"body":${body}}\n`
}

/** Returns the result as lines for people: the rights to read that decide it, and what the client would get. */
export async function linesOf({ answer, rights }: Tried): Promise<string[]> {
  const { status, total, body, error } = answer
  const lines = rights.flatMap((right) => [`right: ${right.text}`, `filters: ${filtersOf(right).join('&') || 'none'}`])
  if (rights.length > 0) lines.push(`properties: ${propertiesOf(rights)?.join(', ') ?? 'all'}`)
  if (error !== null) lines.push(`answer: ${status} ${error.code}: ${error.message}`)
  else lines.push(total === null ? `answer: ${status}` : `total: ${total}`)
  if (error === null && body !== null) lines.push(...(total === null ? [body] : await rowsOf(body)))
  return lines
}

/** Returns the rows of a list, one per line. */
async function rowsOf(body: string): Promise<readonly string[]> {
  return body === '[]' ? [] : findRows(new UnparsedRows(body, 'array'))
}

export function filtersOf(right: Right | null): string[] {
  return (right === null ? [] : rowFiltersOf(right)).map(printFilter)
}

/**
 * Returns the properties that the rights to read a collection show. Only the first right is used, because all of them show the
 * same properties. Returns null if all properties are shown, or there is no right.
 */
function propertiesOf([right]: readonly Right[]): string[] | null {
  if (right === undefined) return null
  const { properties, collection } = right
  return (properties ?? (isNamedView(collection) ? collection.properties : null))?.map(({ name }) => name) ?? null
}
