import { changesPage, type RosterChangesPage, type RosterPast, type RosterPastQuery } from './changes.ts'
import type { Answer, ApiRequest, Connection } from './connection.ts'
import { unexpected } from './error.ts'
import {
  bodyText,
  queryString,
  type RosterCall,
  type RosterChange,
  type RosterCreateMany,
  type RosterCreateOrUpdate,
  type RosterGet,
  type RosterMay,
  type RosterPicked,
  type RosterQuery,
  type RosterResult,
  type RosterRows,
  type RosterSet,
  type RosterStream,
  type RosterWhere,
} from './query.ts'
import { rowsOf } from './stream.ts'
import {
  type RosterGroup,
  type RosterGroups,
  type RosterKey,
  type RosterKeys,
  type RosterKinds,
  type RosterSummaryQuery,
  rowsAndTotal,
  summaryOf,
} from './summary.ts'
import { type RosterStep, type RosterSync, stepsOf } from './sync.ts'

export interface RosterPage<Row> {
  readonly rows: Row[]
  /** Number of rows that match the filter, on all pages together. */
  readonly total: number
  /** Links to other pages, for `follow`; null if this page has no such link. */
  readonly links: Readonly<Record<'first' | 'previous' | 'next' | 'last', string | null>>
}

/**
 * Type of a row with the selected properties: all its own properties, or only the properties in `Name`. An object then has only
 * its named parts. `Paths`: the related properties of the row.
 */
export type RosterRead<Row, Field, Name extends Field, Paths = object> = [Field] extends [Name]
  ? Row
  : RosterPicked<Row & Paths, Name>

/** Methods that read rows of an entity or of a named view. `May`: the writes that `may` can ask about. */
export interface RosterView<Row, Filter, Sort, Field, Kinds extends RosterKinds, Paths = object, May = never> {
  /** Returns a page, the first by default. */
  list<Name extends Field = Field>(
    query?: RosterQuery<Filter, Sort, Name, May>,
  ): Promise<RosterPage<RosterRead<Row, Field, Name, Paths>>>
  /** Returns the page to which a link of a page leads. Only the query string of the link is used, including its `fields`. */
  follow<Name extends Field = Field>(link: string, call?: RosterCall): Promise<RosterPage<RosterRead<Row, Field, Name, Paths>>>
  /**
   * Yields every row, page after page, by cursor. Rows that are created, changed or deleted in the meantime do not cause other
   * rows to be repeated or left out.
   */
  all<Name extends Field = Field>(
    query?: RosterRows<Filter, Sort, Name, May>,
  ): AsyncGenerator<RosterRead<Row, Field, Name, Paths>, void, undefined>
  /** Yields every row of one response. Throws if the response ends early, so a loop that completes has seen all rows. */
  stream<Name extends Field = Field>(
    query?: RosterStream<Filter, Sort, Name, May>,
  ): AsyncGenerator<RosterRead<Row, Field, Name, Paths>, void, undefined>
  /**
   * Returns groups of the matching rows. Each group has its number of rows, and the requested sums, averages, least and greatest
   * values.
   */
  summary<
    Key extends RosterKey<(Exclude<Sort, `-${string}`> & string) | (keyof Paths & string), Kinds['dated']> = never,
    Sum extends Kinds['summed'] = never,
    Average extends Kinds['summed'] = never,
    Minimum extends Kinds['compared'] = never,
    Maximum extends Kinds['compared'] = never,
  >(
    query?: RosterSummaryQuery<Filter, Key, Sum, Average, Minimum, Maximum, RosterKeys<Key, Kinds>, May>,
  ): Promise<RosterGroups<RosterGroup<Row & Paths, RosterKeys<Key, Kinds>, Sum, Average, Minimum, Maximum>>>
  get<Name extends Field = Field>(id: number, call?: RosterGet<Name>): Promise<RosterRead<Row, Field, Name, Paths>>
}

export interface RosterCollection<Row, Write, Filter, Sort, Field, Kinds extends RosterKinds, Paths = object>
  extends RosterView<Row, Filter, Sort, Field, Kinds, Paths, RosterMay<RosterSet<Write>>> {
  /**
   * Yields steps that bring a copy of all rows up to date: first all rows, then changes. Store `state` together with each step.
   */
  sync(options?: RosterSync): AsyncGenerator<RosterStep<Row>, void, undefined>
  create(values: Write, call?: RosterCall): Promise<Row>
  /**
   * Creates up to 1,000 rows in one request, all or none. The `details` of an error name rows by their index: `[3].Name`. Every
   * 100 rows or 200 KiB count as one request. With `dryRun` the rows are only checked, and none are returned.
   */
  createMany(rows: readonly Write[], call?: RosterCreateMany): Promise<Row[]>
  /**
   * Updates the stored rows that have the same value as a given row in the property `match`. Creates the given rows that match no
   * stored row. Writes up to 1,000 rows, all or none. An update sets the properties that the given row has. Returns a result for
   * each given row, in the same order. With `dryRun` the rows are only checked, and none are returned.
   */
  createOrUpdate(rows: readonly Write[], call: RosterCreateOrUpdate<Write>): Promise<RosterResult<Row>[]>
  /** Sets all properties. Of the properties that are left out, booleans become false, and all others null. */
  replace(id: number, values: Write, call?: RosterChange): Promise<Row>
  /** Sets the given properties, and leaves all other properties as they are. */
  update(id: number, values: Write, call?: RosterChange): Promise<Row>
  delete(id: number, call?: RosterChange): Promise<void>
  /**
   * Sets the given properties in all rows that match, up to 1,000, all or none. Every 100 rows count as one request. With
   * `dryRun` the rows are only counted.
   */
  updateWhere(filter: Filter, values: Write, call?: RosterWhere<RosterMay<RosterSet<Write>>>): Promise<RosterUpdated<Row>>
  /** Deletes all rows that match, up to 1,000, all or none. Charges and `dryRun` are as for `updateWhere`. */
  deleteWhere(filter: Filter, call?: RosterWhere<RosterMay<RosterSet<Write>>>): Promise<RosterDeleted>
  /** Returns a page of the history of one row, also of a row that was deleted. */
  history(id: number, query?: RosterPastQuery): Promise<RosterChangesPage<RosterPast, string | null>>
  /** Returns the version of a row that a call has returned, for `ifMatch`. @throws TypeError for any other object */
  versionOf(row: Partial<Record<keyof Row, unknown>>): string
}

/** Result of an update of all rows that match. */
export interface RosterUpdated<Row> {
  /** Number of rows that were changed; with `dryRun`, the number that would be changed. */
  readonly count: number
  /** The updated rows, ordered by id; empty with `dryRun`. */
  readonly rows: Row[]
}

/** Result of a deletion of all rows that match. */
export interface RosterDeleted {
  /** Number of rows that were deleted; with `dryRun`, the number that would be deleted. */
  readonly count: number
  /** Ids of the deleted rows; empty with `dryRun`. */
  readonly ids: number[]
}

const PAGE_SIZE_MAX = 50
const NO_VERSION = 'a row has a version where get, create, replace or update returned it, without properties of other rows'

/** Returns the collection at `path`, such as /Companies. */
export function collectionAt<Row, Write, Filter, Sort, Field, Kinds extends RosterKinds, Paths = object>(
  connection: Connection,
  path: string,
): RosterCollection<Row, Write, Filter, Sort, Field, Kinds, Paths> {
  /** Versions by row object. They are not in the rows, which stay exactly as the server returned them. */
  const versions = new WeakMap<object, string>()

  async function row<Read = Row>(
    method: ApiRequest['method'],
    at: string,
    call: RosterChange = {},
    values?: Write,
  ): Promise<Read> {
    const body = values === undefined ? undefined : bodyText(values)
    const { ifMatch, signal } = call
    if ('ifMatch' in call) requireVersion(ifMatch)
    const answer = await connection.send({ method, path: at, body, ifMatch, signal })
    // A proxy that compresses makes the ETag weak, but If-Match needs a strong one.
    const tag = answer.headers.get('ETag')?.replace(/^W\//, '')
    if (tag !== undefined && isOwnRow(answer.body)) versions.set(answer.body, tag)
    return answer.body as Read
  }

  const pathOf = (id: number) => rowPath(path, id)
  const page = <Read>(query: string, call: RosterCall) => readPage<Read>(connection, path, query, call)
  const follow = async <Read>(link: string, call: RosterCall = {}) => {
    if (!link.includes('?')) throw new TypeError(`${JSON.stringify(link)} is not a link of a page`)
    return page<Read>(queryOf(link), call)
  }
  const list = async <Read>(query: RosterQuery<Filter, Sort, Field, RosterMay<string>> = {}) =>
    page<Read>(queryString(query), query)
  return {
    list,
    follow,
    async *all<Read>(query: RosterRows<Filter, Sort, Field, RosterMay<string>> = {}): AsyncGenerator<Read, void, undefined> {
      const first = await list<Read>({ ...query, pageSize: query.pageSize ?? PAGE_SIZE_MAX })
      yield* rowsOfPages(first, (link) => follow<Read>(link, query))
    },
    async *stream<Read>(query: RosterStream<Filter, Sort, Field, RosterMay<string>> = {}): AsyncGenerator<Read, void, undefined> {
      const { filter, may, sort, fields, signal } = query
      const target = path + queryString({ filter, may, sort, fields })
      yield* rowsOf<Read>(await connection.open({ method: 'GET', path: target, signal }))
    },
    summary: (query = {}) => summaryOf(connection, path, query),
    sync: (options = {}) => stepsOf<Row>(connection, path, options),
    get: async (id, { fields, ...call } = {}) => row('GET', pathOf(id) + queryString({ fields }), call),
    create: async (values, call) => row('POST', path, call, values),
    createMany: async (rows, call = {}) => sendRows<Row>(connection, path, rows, call),
    createOrUpdate: async (rows, call) => sendRows<RosterResult<Row>>(connection, path, rows, call),
    replace: async (id, values, call) => row('PUT', pathOf(id), call, values),
    update: async (id, values, call) => row('PATCH', pathOf(id), call, values),
    async delete(id, call) {
      await row('DELETE', pathOf(id), call)
    },
    async updateWhere(filter, values, call = {}) {
      const answer = await sendWhere(connection, 'PATCH', path, filter, call, bodyText(values))
      if (call.dryRun === true) return { count: countOf(answer), rows: [] }
      if (!Array.isArray(answer.body)) throw unexpected(answer, 'was answered without rows')
      return { count: answer.body.length, rows: answer.body }
    },
    async deleteWhere(filter, call = {}) {
      const answer = await sendWhere(connection, 'DELETE', path, filter, call)
      const { ids = [] } = answer.body as { readonly ids?: number[] }
      return { count: countOf(answer), ids }
    },
    history: async (id, query = {}) => changesPage(connection, `${pathOf(id)}/Changes`, query),
    versionOf(read) {
      const version = versions.get(read as object)
      if (version === undefined) throw new TypeError(NO_VERSION)
      return version
    },
  }
}

/**
 * Returns whether a row has no related properties. The ETag of a row with related properties changes whenever one of these
 * changes, so it is no version of the row itself.
 */
function isOwnRow(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !Object.keys(body).some((name) => name.includes('.'))
}

async function readPage<Read>(
  connection: Connection,
  path: string,
  query: string,
  { signal }: RosterCall,
): Promise<RosterPage<Read>> {
  const answer = await connection.send({ method: 'GET', path: path + query, signal })
  const [rows, total] = rowsAndTotal<Read>(answer, 'rows')
  return { rows, total, links: linksOf(connection.url + path, answer.headers) }
}

async function* rowsOfPages<Read>(
  first: RosterPage<Read>,
  follow: (link: string) => Promise<RosterPage<Read>>,
): AsyncGenerator<Read, void, undefined> {
  let page = first
  for (;;) {
    yield* page.rows
    if (page.links.next === null) return
    page = await follow(page.links.next)
  }
}

/** Sends rows to create or to update. Returns the answer for each row; an empty array for a dry run. */
async function sendRows<Answered>(
  connection: Connection,
  path: string,
  rows: readonly unknown[],
  { match, dryRun, signal }: RosterCreateMany & { readonly match?: string },
): Promise<Answered[]> {
  const target = path + queryString({}, { match, dryRun: dryRun === true ? 1 : undefined })
  const answer = await connection.send({ method: 'POST', path: target, body: bodyText(rows), signal })
  if (dryRun === true) return []
  if (!Array.isArray(answer.body)) throw unexpected(answer, 'was answered without rows')
  return answer.body
}

/**
 * Sends a write of all rows that match. However often the request is repeated, the write is done once. @throws TypeError without
 * a filter
 */
async function sendWhere<Filter>(
  connection: Connection,
  method: 'PATCH' | 'DELETE',
  path: string,
  filter: Filter,
  call: RosterWhere<RosterMay<string>>,
  body?: string,
): Promise<Answer> {
  const { may, dryRun, signal } = call
  const ifMatch = 'ifMatch' in call ? (call.ifMatch ?? []).join(', ') : undefined
  if ('ifMatch' in call) requireVersion(ifMatch)
  const filters = queryString({ filter })
  if (filters === '') throw new TypeError('a filter has to say which rows; { id: { "!=": null } } means all')
  const others = queryString({ may }, dryRun === true ? { dryRun: 1 } : {})
  return connection.send({ method, path: path + filters + others.replace('?', '&'), body, ifMatch, isOnce: true, signal })
}

/** Returns the number of rows in the answer to a deletion or a dry run. */
function countOf(answer: Answer): number {
  const { rows } = (answer.body ?? {}) as { readonly rows?: unknown }
  if (typeof rows !== 'number') throw unexpected(answer, 'was answered without the number of rows')
  return rows
}

function rowPath(path: string, id: number): string {
  if (typeof id !== 'number') throw new TypeError(`an id is a number, not ${JSON.stringify(id)}`)
  return `${path}/${encodeURIComponent(id)}`
}

/** Refuses a version that is undefined or empty, because the write would overwrite changes of other clients. @throws TypeError */
function requireVersion(ifMatch: string | undefined): void {
  if (!/^[\x20-\x7e]+$/.test(ifMatch ?? ''))
    throw new TypeError(`ifMatch is ${JSON.stringify(ifMatch)}, not a version: leave it out for any`)
}

/**
 * Returns the links of a list, with the address that the client uses: a server behind a proxy may write an address that the
 * client cannot reach.
 */
function linksOf(address: string, headers: Headers): RosterPage<unknown>['links'] {
  const header = headers.get('Location') ?? headers.get('Link') ?? ''
  const found = new Map<string, string>()
  for (const [, link = '', relation = ''] of header.matchAll(/<([^>]*)>; rel="(\w+)"/g))
    found.set(relation, address + queryOf(link))
  const linkTo = (...relations: string[]) => relations.map((relation) => found.get(relation)).find(Boolean) ?? null
  return { first: linkTo('first'), previous: linkTo('previous', 'prev'), next: linkTo('next'), last: linkTo('last') }
}

/**
 * Returns the query string of a link, with its question mark. The address of the link is not used, so no link can make the client
 * send its key elsewhere.
 */
function queryOf(link: string): string {
  return /\?[^#]*/.exec(link)?.[0] ?? ''
}
