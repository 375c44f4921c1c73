// `roster keys try`: answers a request by the rights of a key, with the handlers of the server, in this process.
import type { Config } from '../config/config.ts'
import { ApiError } from '../errors.ts'
import { Database } from '../execute/database.ts'
import { ListReads } from '../execute/listReads.ts'
import { createRouter } from '../http/endpoints.ts'
import type { Router } from '../http/router.ts'
import { readCursorSecret } from '../keys/store.ts'
import type { GrantedRights, Right } from '../model/access.ts'
import { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import type { KeyRecord } from '../model/key.ts'
import { isNamedView } from '../model/namedView.ts'
import { suggest } from '../model/nearest.ts'
import { requireRight } from '../operations/resourceRequest.ts'
import { UnparsedRows } from '../parse/body.ts'
import { findRows } from '../parse/rows.ts'
import { loadEntities } from '../registry.ts'
import { respondError } from '../respond/error.ts'
import { isStreamed } from '../respond/reply.ts'
import { rowFiltersOf } from '../rights/accesses.ts'
import { printFilter } from '../rights/print.ts'
import { RightsReader } from '../rights/reader.ts'
import { withKeys } from './openDatabase.ts'
import { print } from './output.ts'
import { CommandError } from './run.ts'

type StoredRights = Pick<KeyRecord, 'rights' | 'addresses'>
type Target = ReturnType<typeof readRequest>
type Located = ReturnType<typeof locate>

/** An answer: its status, its total if it is a list, and its JSON; null: that of a HEAD has none. */
interface Answer {
  readonly status: number
  readonly total: number | null
  readonly body: string | null
  /** Null: the request was answered. */
  readonly error: ApiError | null
}

/** Prints the answer to a request, and the right that decides it. `as`: the name of a key, or rights. @throws CommandError */
export async function tryAs(config: Config, text: string, as: string | StoredRights, json?: true): Promise<void> {
  const target = readRequest(text)
  const entities = await loadEntities(config.entitiesDir)
  await withKeys(config, async (store, url) => {
    const rights = new RightsReader(entities).read(typeof as === 'string' ? await store.rightsOf(as) : as)
    if (rights.fault !== null)
      throw new CommandError(`the rights do not fit the entities, so none of them holds: ${rights.fault}`)
    const database = new Database({ url, poolSize: 2, prepare: false })
    try {
      const router = routerOf(config, entities, database, await readCursorSecret(url))
      const location = locate(router, target.path)
      const answer = await answerTo(location, target, rights)
      const { entity } = location
      const right = rights.rights.find((one) => one.verb === 'read' && one.entity === entity) ?? null
      await print(json ? dataOf(answer, right) : await textOf(answer, right))
    } finally {
      await database.end()
    }
  })
}

const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE']

/** Reads `GET /Absences?sort=-Start`; GET may be left out. @throws CommandError for a method that does not read */
function readRequest(text: string) {
  const [, word = 'GET', address = ''] = /^(?:([a-z]+)\s+)?(\S.*)$/is.exec(text.trim()) ?? []
  const method = word.toUpperCase()
  if (WRITES.includes(method))
    throw new CommandError(`${method} may change rows: try a GET, and writes with a key on a server with a copy of the data`)
  if (method !== 'GET' && method !== 'HEAD')
    throw new CommandError(`"${excerpt(word)}" is no method that reads: write GET or HEAD, and a path, as GET /Absences`)
  const [path = '', ...query] = address.split('?')
  return { method, path: path.startsWith('/') ? path : `/${path}`, query: query.join('?') }
}

/** Makes the endpoints of a server that has no memory and charges nobody. */
function routerOf(config: Config, entities: readonly Entity[], database: Database, cursorSecret: string): Router {
  const { changesDays, changesValues, rateLimits, rateLimitsAnonymous, publicUrl } = config
  return createRouter({
    entities,
    views: [],
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
  })
}

/** Finds the handler of a path that needs a key. @throws CommandError if there is none */
function locate(router: Router, path: string) {
  const location = router.find(path)
  const get = location?.endpoint.methods.GET
  if (location && get && !location.endpoint.isOpen) return { get, entity: location.endpoint.entity, id: location.id }
  const hint = suggest(
    path.split('/')[1] ?? '',
    router.names(() => true),
  )
  throw new CommandError(`there is nothing at ${path} that rights decide about.${hint}`)
}

async function answerTo({ get, entity, id }: Located, { method, path, query }: Target, rights: GrantedRights): Promise<Answer> {
  try {
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

/** The result as a line of JSON, with the body as the key gets it. */
function dataOf({ status, total, body }: Answer, right: Right | null): string {
  const facts = { right: right?.text ?? null, filters: filtersOf(right), properties: propertiesOf(right), status, total }
  return `${JSON.stringify(facts).slice(0, -1)},"body":${body}}\n`
}

async function textOf({ status, total, body, error }: Answer, right: Right | null): Promise<string> {
  const about = [
    ...(right === null ? [] : [`right: ${right.text}`, `filters: ${filtersOf(right).join('&') || 'none'}`]),
    ...(right === null ? [] : [`properties: ${propertiesOf(right)?.join(', ') ?? 'all'}`]),
  ]
  if (error !== null) about.push(`answer: ${status} ${error.code}: ${error.message}`)
  else about.push(total === null ? `answer: ${status}` : `total: ${total}`)
  if (error === null && body !== null) about.push(...(total === null ? [body] : await linesOf(body)))
  return `${about.join('\n')}\n`
}

/** Returns the rows of a list, one a line. */
async function linesOf(body: string): Promise<readonly string[]> {
  return body === '[]' ? [] : findRows(new UnparsedRows(body, 'array'))
}

function filtersOf(right: Right | null): string[] {
  return (right === null ? [] : rowFiltersOf(right)).map(printFilter)
}

function propertiesOf(right: Right | null): string[] | null {
  if (right === null) return null
  const { properties, entity } = right
  return (properties ?? (isNamedView(entity) ? entity.properties : null))?.map(({ name }) => name) ?? null
}
