import postgres from 'postgres'
import { Random } from '../test/support/random.ts'
import { authorizationOf, type DrawRange, fillDraws, nextPathOf, rangesOf } from './load/requests.mjs'
import type { Operation } from './operation.ts'
import type { Peer } from './peers.ts'
import { type Reference, type Row, referenceOf } from './referenceSql.ts'
import type { HttpTarget } from './server.ts'

/** Number of requests to make of an operation that has random values. */
const FILLS = 3
const SEED = 4_711
/** Each request is sent twice, because the second answer may come from memory. */
const TIMES = 2

/** A server to check; peers translate requests and answers. */
type Asked = Pick<HttpTarget, 'name' | 'urls' | 'headers'> & Partial<Pick<Peer, 'translate' | 'readBody'>>

/**
 * Sends requests to servers, and reads the same rows from PostgreSQL by SQL that shares no code with the server. Compares status,
 * total, order and every value. Only operations that read and succeed are checked. @throws Error with the server, the request and
 * the first difference
 */
export async function checkAnswers(
  servers: readonly Asked[],
  databaseUrl: string,
  operations: readonly Operation[],
): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, fetch_types: false })
  try {
    for (const operation of operations) {
      if (operation.method !== 'GET' || operation.status !== 200) continue
      for (const { wholePath, ...filled } of fillsOf(operation)) {
        const stored = await readStored(sql, referenceOf(wholePath))
        const next = operation.nextKind === undefined ? null : await readStored(sql, referenceOf(nextPageOf(wholePath)))
        for (const server of servers) await checkServer(server, filled, stored, next)
      }
    }
  } finally {
    await sql.end()
  }
}

/** Checks the answers of a server. `next`: rows of the next page, to which the answer links; null: the link is not followed. */
async function checkServer(server: Asked, operation: Operation, stored: Stored, next: Stored | null) {
  const { name, urls, headers, translate, readBody } = server
  const asked = translate ? translate(operation) : operation
  const own = operation.key === undefined ? {} : { Authorization: authorizationOf(operation.key, operation.tokens) }
  for (let time = 0; asked && time < TIMES; time++) {
    const response = await fetch(urls[0] + asked.path, { headers: { ...headers, ...own } })
    const text = await response.text()
    const body = response.ok ? JSON.parse(text) : text
    const answer = { status: response.status, total: response.headers.get('x-total-count'), body }
    const difference = differenceOf(readBody && response.ok ? { ...answer, body: readBody(body) } : answer, stored)
    if (difference) throw new Error(`GET ${asked.path} is answered wrongly by ${name}: ${difference}`)
    const path = nextPathOf(response.headers.get('link'))
    if (next !== null && path !== null) await checkServer({ name, urls, headers }, { ...operation, path }, next, null)
  }
}

function nextPageOf(path: string): string {
  return path.replace(/(?<=[?&]page=)\d+/, (page) => String(Number(page) + 1))
}

/** A request, and the path with which a key with all rights requests the same rows. */
interface Filled extends Operation {
  readonly wholePath: string
}

/** Makes `FILLS` requests with random values, or one request if the operation has no random values. */
function fillsOf({ whole, ...operation }: Operation): Filled[] {
  const { path, key } = operation
  const random = new Random(SEED)
  const fill = (): Filled => {
    const drawn: number[] = []
    const draw = ({ low, high }: DrawRange) => {
      const number = low + random.below(high - low + 1)
      drawn.push(number)
      return number
    }
    const filled = { ...operation, path: fillDraws(path, draw), ...(key === undefined ? {} : { key: fillDraws(key, draw) }) }
    const wholePath = whole ? fillDraws(whole.path, () => drawn.shift() as number) : filled.path
    return { ...filled, wholePath }
  }
  return Array.from({ length: rangesOf(path + (key ?? '')).length > 0 ? FILLS : 1 }, fill)
}

interface Answer {
  readonly status: number
  readonly total: string | null
  readonly body: unknown
}

/** Result of the reference's SQL; `total` is null for a path with an id. */
type Stored = Pick<Answer, 'total'> & { readonly rows: readonly Row[] }

async function readStored(sql: postgres.Sql, { rows, total }: Reference): Promise<Stored> {
  const [counted] = total === null ? [] : await sql.unsafe<{ count: string }[]>(total)
  return { rows: await sql.unsafe<Row[]>(rows), total: counted?.count ?? null }
}

/** Describes the first difference between an answer and the reference; null if there is none. */
function differenceOf(answer: Answer, { rows, total }: Stored): string | null {
  const status = total === null && rows.length === 0 ? 404 : 200
  if (answer.status !== status) return unlike('status', answer.status, status)
  if (status === 404) return null
  if (answer.total !== total) return unlike('X-Total-Count', answer.total, total)
  return differenceOfRows(total === null ? [answer.body as Row] : (answer.body as Row[]), rows)
}

/** Describes the first difference between rows, named by their ids, or between groups of a summary, which have no ids. */
function differenceOfRows(answered: readonly Row[], expected: readonly Row[]): string | null {
  const ids = String(answered.map(({ id }) => id))
  const expectedIds = String(expected.map(({ id }) => id))
  if (ids !== expectedIds) return unlike('ids', ids, expectedIds)
  for (const [index, row] of expected.entries()) {
    const difference = differenceOfRow(flat(answered[index] as Row), row)
    if (difference) return `${row.id === undefined ? `group ${index + 1}` : `id ${row.id}`}, ${difference}`
  }
  return null
}

function differenceOfRow(answered: Row, stored: Row): string | null {
  const columns = Object.keys(stored).filter((column) => !column.endsWith('_key'))
  for (const column of columns) {
    const value = answered[column] === undefined ? nullGroup(answered, column) : answered[column]
    if (!isSame(value, stored[column])) return unlike(column, value, stored[column])
  }
  const unknown = Object.keys(answered).find((name) => !columns.includes(name) && answered[name] !== null)
  return unknown === undefined ? null : `${unknown}: there is no such column`
}

/** Returns null for a column of an object that is null. */
function nullGroup(answered: Row, column: string): null | undefined {
  const group = Object.keys(answered).find((name) => column.startsWith(`${name}_`))
  return group !== undefined && answered[group] === null ? null : undefined
}

/** Compares values: JSON has numbers for some texts of the driver, and texts for its dates. */
function isSame(value: unknown, stored: unknown): boolean {
  if (stored instanceof Date) return value === stored.toISOString().replace('.000Z', 'Z')
  return typeof value === 'number' ? value === Number(stored ?? Number.NaN) : value === stored
}

/** Flattens `{period: {days: 1}, jobTitle: ''}` to columns: `{period_days: 1, job_title: ''}`. */
function flat(row: Row, prefix = ''): Row {
  const entries = Object.entries(row).flatMap(([name, value]): [string, unknown][] => {
    const column = prefix + name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const isGroup = typeof value === 'object' && value !== null
    return isGroup ? Object.entries(flat(value as Row, `${column}_`)) : [[column, value]]
  })
  return Object.fromEntries(entries)
}

function unlike(what: string, answered: unknown, expected: unknown): string {
  return `${what}: the server says ${JSON.stringify(answered)}, the reference ${JSON.stringify(expected)}`
}
