import { expect, test } from 'bun:test'
import { type Operation, operationsOf } from '../../src/describe/operations.ts'
import { type ErrorCode, errorTable } from '../../src/errors.ts'
import { writeToken } from '../../src/model/changesToken.ts'
import { endingNoWrites, endingWrites, inGreatNumber, quickly, slowly } from '../support/brokenTables.ts'
import { conformance } from '../support/conformance.ts'
import { entities } from '../support/entities.ts'
import { createSampleDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { wholeAccess } from '../support/rights.ts'
import { KEY, makeKey, type TestServer } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { startServer, useServer } from '../support/start.ts'

// Every status and code of every operation that the OpenAPI document has is met by a request to a real server.

const operations = operationsOf(entities.map(wholeAccess), false)
const checked = conformance()
const reader = makeKey({ name: 'reader', rights: '*:read' })
const writer = makeKey({ name: 'writer', rights: '*:write' })
/** Its right names a property that there is no longer. */
const outdated = makeKey({ name: 'outdated', rights: '', addresses: 'read Absences?Colour=Red' })
const limited = makeKey({ name: 'limited', limits: '1/1m' })
const TABLES_READ = [...entities.map(({ table }) => table), 'entity_change']
const TABLES = entities.map(({ table }) => table)
/** An answer about the database is kept for a second. */
const READINESS_MS = 1_100
/** Then a busy machine has had its chance, and the tables are as they were for the tests behind. */
const GROUPS_MS_MAX = 240_000

const keys = [reader, writer, outdated, limited].map(({ record }) => record)
// What a table is read for is provoked by what stands in its way; slow lists and summaries of all tables run at the same time.
const environment = { MEMORY_MB: '0', DATABASE_POOL: '20', RATE_LIMIT_CLIENTS: '6' }
const log = { debug() {}, info() {}, warn() {}, error() {}, async flush() {}, isEnabled: () => false }
const server = useServer(async () => ({ databaseUrl: await createSampleDatabase(), keys, environment, log }))
/** The server's database, in sessions with such a setting. */
const withSetting = (setting: string) => `${server.databaseUrl}?options=${encodeURIComponent(`-c ${setting}`)}`
/** Its database takes no writes. */
const reading = useServer(() => ({ databaseUrl: withSetting('default_transaction_read_only=on'), log }))
/** It keeps no changes. */
const forgetful = useServer(() => ({ databaseUrl: server.databaseUrl, environment: { CHANGES_DAYS: '0' }, log }))
/** Its database was never there. */
const alone = useServer({ databaseUrl: 'postgres://roster:roster@127.0.0.1:1/roster', log })

interface Change {
  /** Behind the path. */
  query?: string
  /** Filters of a write by filters; null: none. */
  filters?: string | null
  path?: string
  headers?: Record<string, string>
  body?: string
  from?: TestServer
}

const faults: string[] = []

/** Sends the operation as it would succeed, but for the change, and looks at the answer. */
async function send(
  operation: Operation,
  { query = '', filters = 'Id=1', path, headers = {}, body, from = server }: Change = {},
) {
  const { method } = operation
  const own = path ?? operation.path.replace('{id}', '1').replace('{code}', 'NotFound')
  const target = isFiltered(operation) && filters !== null ? `${own}?${filters}${query.replace('?', '&')}` : own + query
  const text = body ?? (isWrite(operation) ? JSON.stringify({ [writtenKey(operation)]: 'Other' }) : '')
  const common: Record<string, string> = {
    Host: new URL(from.url).host,
    Connection: 'close',
    Authorization: `ApiKey ${KEY}`,
  }
  if (text !== '') Object.assign(common, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
  const lines = Object.entries({ ...common, ...headers }).map(([name, value]) => (value === '' ? '' : `${name}: ${value}\r\n`))
  const bytes = await exchange(from.url, `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
  const [head = '', ...rest] = bytes.split('\r\n\r\n')
  const [status = '', ...fields] = head.split('\r\n')
  const answer = {
    status: Number(status.split(' ')[1]),
    headers: fields.map((line): [string, string] => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 2),
    ]),
    text: Buffer.from(rest.join('\r\n\r\n'), 'latin1').toString(),
  }
  faults.push(...checked.faultsOf({ method, target }, answer).map((fault) => `${operation.operationId}: ${fault}`))
  return answer
}

const isWrite = ({ success }: Operation) => success === 'created' || success === 'updated' || success === 'updatedRows'
const isFiltered = ({ success }: Operation) => success === 'updatedRows' || success === 'deletedRows'
/** A text that clients may write. */
function writtenKey({ entity }: Operation): string {
  return entity?.properties.find(({ writable, kind, path }) => writable && kind.name === 'text' && path.length === 1)
    ?.path[0] as string
}
const referenceKey = ({ entity }: Operation) => entity?.properties.find(({ reference }) => reference)?.path[0]
const bodyOf = (...entries: [string, unknown][]) => `{${entries.map(([key, value]) => `"${key}":${JSON.stringify(value)}`)}}`

/** How each code comes about. Those without an entry need circumstances, and have a test of their own. */
const changes: Partial<Record<ErrorCode, (operation: Operation) => Change>> = {
  InvalidHost: () => ({ headers: { Host: 'a.example, b.example' } }),
  InvalidHeader: () => ({ headers: { 'If-Match': '4711' } }),
  PreconditionFailed: () => ({ headers: { 'If-Match': '"elsewhere"' } }),
  InvalidQueryString: () => ({ query: '?%=1' }),
  UnknownParameter: () => ({ query: '?Nmae=1' }),
  InvalidFilter: ({ success }) => ({ query: success === 'changes' ? '?entity=Employes' : '?Id=x' }),
  FilterRequired: () => ({ filters: null }),
  TooManyFilters: () => ({ query: `?${Array(33).fill('Id=1').join('&')}` }),
  InvalidSort: () => ({ query: '?sort=Nmae' }),
  InvalidPageSize: () => ({ query: '?PageSize=many' }),
  InvalidPage: () => ({ query: '?page=0' }),
  InvalidCursor: () => ({ query: '?cursor=altered' }),
  InvalidFields: () => ({ query: '?fields=Nmae' }),
  InvalidMay: () => ({ query: '?may=upd' }),
  InvalidGroupBy: () => ({ query: '?groupBy=Nmae' }),
  InvalidZone: () => ({ query: '?zone=Nowhere' }),
  InvalidAggregate: () => ({ query: '?sum=Nmae' }),
  InvalidForm: ({ success }) => ({ query: success === 'changes' ? '?rows=all' : '?bom=yes' }),
  InvalidToken: () => ({ query: '?after=altered' }),
  InvalidWait: () => ({ query: '?wait=long' }),
  TokenExpired: () => ({ query: `?after=${writeToken({ run: '000000000000', position: '1', number: '1' })}` }),
  InvalidJson: () => ({ body: '"x"' }),
  InvalidRows: () => ({ body: '[]' }),
  InvalidDryRun: () => ({ query: '?dryRun=yes' }),
  InvalidMatch: () => ({ query: '?match=Nmae' }),
  AlreadyExists: (operation) => {
    const row = bodyOf([writtenKey(operation), 'Twice'])
    return { query: `?match=${writtenKey(operation)}`, body: `[${row},${row}]` }
  },
  UnknownProperty: () => ({ body: '{"Nmae": 1}' }),
  DuplicateProperty: (operation) => {
    const key = writtenKey(operation)
    return { body: bodyOf([key, 'a'], [key.toUpperCase(), 'b']) }
  },
  InvalidValue: (operation) => ({ body: bodyOf([writtenKey(operation), 5]) }),
  ValidationFailed: (operation) => ({ body: bodyOf([writtenKey(operation), 5], ['Nmae', 1]) }),
  // The document needs no key, and refuses one that is not valid.
  Unauthorized: ({ success }) => ({ headers: { Authorization: success === 'document' ? 'ApiKey unknown' : '' } }),
  Forbidden: ({ method, success }) => {
    const { headers } = success === 'rights' ? outdated : method === 'GET' ? writer : reader
    return { headers: { Authorization: headers.authorization } }
  },
  NotFound: ({ path, success }) => ({
    ...(success === 'changes' ? { from: forgetful } : {}),
    path: path.replace('{id}', '999999').replace('{code}', 'Nothing'),
  }),
  RequestTimeout: () => ({ headers: { 'Content-Length': '1000' } }),
  ReferenceNotFound: (operation) => {
    const key = referenceKey(operation)
    return key === undefined ? { query: '?match=Id', body: bodyOf(['Id', 999_999]) } : { body: bodyOf([key, 999_999]) }
  },
  PayloadTooLarge: () => ({ headers: { 'Content-Length': '2097153' } }),
  UriTooLong: () => ({ query: `?${'x'.repeat(3_072)}` }),
  UnsupportedMediaType: () => ({ headers: { 'Content-Type': 'text/plain' } }),
  // Neither the document nor the rights of a key need the database, once the key is known.
  ServiceUnavailable: ({ success }) => ({
    ...(success === 'document' || success === 'rights' ? { headers: { Authorization: makeKey().headers.authorization } } : {}),
    from: alone,
  }),
  ReadOnly: () => ({ from: reading }),
}

/** The operations that may answer with this code, each sent so that it does. */
async function provoke(
  code: ErrorCode,
  change: (operation: Operation) => Change = () => ({}),
  isAsked: (operation: Operation) => boolean = () => true,
) {
  const asked = operations.filter((operation) => operation.codes.includes(code) && isAsked(operation))
  expect(asked.length).toBeGreaterThan(0)
  const answer = async (operation: Operation) => {
    const { status, text } = await send(operation, change(operation))
    return [operation.operationId, status, JSON.parse(text).Error.Code]
  }
  // Costly lists of one key are read one after the other: sent together, some would wait for too long.
  const got =
    code === 'TooCostly' && !asked.every(isFiltered) ? await Array.fromAsync(asked, answer) : await Promise.all(asked.map(answer))
  expect(got).toEqual(asked.map(({ operationId }) => [operationId, errorTable[code].status, code]))
}

test.each(Object.entries(changes) as [ErrorCode, (operation: Operation) => Change][])(
  'operations answer %s as the OpenAPI document describes',
  (code, change) => provoke(code, change),
)

/** A write under a key is not answered before another one with it is. */
test('operations answer InProgress as the OpenAPI document describes', async () => {
  for (const operation of operations.filter(({ codes }) => codes.includes('InProgress'))) {
    const headers = { 'Idempotency-Key': `in-progress-${operation.operationId}` }
    // What others need stays.
    const path = operation.path.replace('{id}', '999999')
    const isDelete = operation.success === 'deleted' || operation.success === 'deletedRows'
    const change = isDelete ? { headers, path, filters: 'Id=999999' } : { headers }
    let both: Promise<{ status: number; text: string }>[] = []
    await server.sql.begin(async (transaction) => {
      await transaction.unsafe(`lock table ${TABLES} in share mode`)
      both = [send(operation, change), send(operation, change)]
      const { status, text } = await Promise.race(both)
      const { Error: error } = JSON.parse(text)
      expect([operation.operationId, status, error.Code]).toEqual([operation.operationId, 409, 'InProgress'])
    })
    await Promise.all(both)
  }
})

test('operations answer IdempotencyMismatch as the OpenAPI document describes', async () => {
  const headersOf = ({ operationId }: Operation) => ({ 'Idempotency-Key': `used-${operationId}` })
  const create = operations.find(({ operationId }) => operationId === 'createCompany') as Operation
  const body = JSON.stringify({ [writtenKey(create)]: 'Used' })
  for (const operation of operations.filter(({ codes }) => codes.includes('IdempotencyMismatch')))
    expect((await send(create, { headers: headersOf(operation), body })).status).toBe(201)
  await provoke('IdempotencyMismatch', (operation) => ({ headers: headersOf(operation) }))
})

test('writes by filters answer TooManyRows as the OpenAPI document describes', async () => {
  for (const { table } of entities) {
    const [{ max }] = (await server.sql.unsafe(`select coalesce(max(id), 0)::int as max from ${table}`)) as [{ max: number }]
    await server.sql.unsafe(`insert into ${table} (id) overriding system value select ${max} + n from generate_series(1, 1001) n`)
    const ofTable = ({ entity }: Operation) => entity?.table === table
    await provoke('TooManyRows', () => ({ filters: `Id=%3E${max}` }), ofTable)
    await server.sql.unsafe(`delete from ${table} where id > ${max}`)
  }
})

test.each([
  ['OutcomeUnknown', endingWrites, endingNoWrites],
  ['TooCostly', slowly, quickly],
  [
    'Conflict',
    (table: string) => `alter table ${table} add constraint never check (false) not valid;
      create or replace function refuse() returns trigger language plpgsql
        as 'begin raise check_violation using constraint = ''never''; end';
      create trigger refused before delete on ${table} execute function refuse()`,
    (table: string) => `drop trigger refused on ${table}; alter table ${table} drop constraint never`,
  ],
  [
    'StillReferenced',
    (table: string) => `create table kept_${table} as select id from ${table};
      alter table kept_${table} add foreign key (id) references ${table}`,
    (table: string) => `drop table kept_${table}`,
  ],
] as const)('operations answer %s as the OpenAPI document describes', async (code, before, after) => {
  for (const table of TABLES) await server.sql.unsafe(before(table))
  await provoke(code, undefined, (operation) => code !== 'TooCostly' || !isFiltered(operation))
  for (const table of TABLES) await server.sql.unsafe(after(table))
})

test('writes by filters answer TooCostly as the OpenAPI document describes', async () => {
  await server.sql`create function sleep() returns trigger language plpgsql as 'begin perform pg_sleep(10); return null; end'`
  for (const table of TABLES)
    await server.sql.unsafe(`create trigger slow before update or delete on ${table} execute function sleep()`)
  // Each has rows of its own, since they hold the locks of them.
  await provoke('TooCostly', ({ success }) => (success === 'deletedRows' ? { filters: 'Id=2' } : {}), isFiltered)
  await server.sql`drop function sleep cascade`
})

test(
  'summaries answer TooManyGroups as the OpenAPI document describes',
  async () => {
    // So many groups are formed on disk otherwise.
    const startMs = performance.now()
    const from = await startServer({ databaseUrl: withSetting('work_mem=64MB'), environment: { MEMORY_MB: '0' } })
    for (const { table } of entities) {
      await server.sql.unsafe(inGreatNumber(table))
      const ofTable = ({ entity }: Operation) => entity?.table === table
      const asked = () => provoke('TooManyGroups', () => ({ query: '?groupBy=Id', from }), ofTable)
      // A busy machine may take longer than a statement may.
      let isMet = false
      await until(async () => {
        isMet = await asked().then(
          () => true,
          () => false,
        )
        return isMet || performance.now() - startMs > GROUPS_MS_MAX
      })
      await server.sql.unsafe(quickly(table))
      expect([table, isMet]).toEqual([table, true])
    }
    await from.stop()
  },
  2 * GROUPS_MS_MAX,
)

test('operations answer RateLimitExceeded as the OpenAPI document describes', async () => {
  const headers = { Authorization: limited.headers.authorization }
  const [first] = operations as [Operation]
  expect((await send(first, { headers })).status).toBe(200)
  await provoke('RateLimitExceeded', () => ({ headers }))
})

test('operations answer InternalError as the OpenAPI document describes', async () => {
  await Bun.sleep(READINESS_MS)
  for (const table of TABLES_READ) await server.sql.unsafe(`alter table ${table} rename to ${table}_away`)
  await server.sql`alter table migration rename column file to file_away`
  await provoke('InternalError')
  await server.sql`alter table migration rename column file_away to file`
  for (const table of TABLES_READ) await server.sql.unsafe(`alter table ${table}_away rename to ${table}`)
  await Bun.sleep(READINESS_MS)
})

test('each operation succeeds as the OpenAPI document describes', async () => {
  for (const operation of operations) {
    const isDelete = operation.success === 'deleted' || operation.success === 'deletedRows'
    const created = isDelete ? await server.post(operation.path.replace('/{id}', ''), {}) : null
    const path = operation.path.replace('{id}', created?.body.id)
    const { status } = await send(operation, created === null ? {} : { path, filters: `Id=${created.body.id}` })
    expect([operation.operationId, status]).toEqual([
      operation.operationId,
      { created: 201, deleted: 204 }[String(operation.success)] ?? 200,
    ])
  }
})

test('each operation with an ETag answers 304 as the OpenAPI document describes', async () => {
  const stored = operations.filter(({ operationId }) => checked.described.includes(`${operationId} 304`))
  expect(stored.map(({ path }) => path)).toContain('/openapi.json')
  for (const operation of stored) expect((await send(operation, { headers: { 'If-None-Match': '*' } })).status).toBe(304)
})

test('the OpenAPI document describes every response of these tests, and each described response occurred', () => {
  expect(faults).toEqual([])
  expect(checked.described.length).toBeGreaterThan(200)
  expect(checked.described.filter((combination) => !checked.met.has(combination))).toEqual([])
})
