// Reads rows of a running server for an import: all rows of a small table, else only rows that have certain values.
import { type Entity, type Property, project } from '../model/entity.ts'
import { JsonNumber, Mismatch } from '../model/kinds.ts'
import { parseJson } from '../parse/body.ts'
import { VALUES_MAX } from '../parse/filter.ts'
import { choiceWriter } from '../respond/json.ts'
import { divided } from '../spreadsheets/divided.ts'
import { say } from './output.ts'
import { type Answer, type Asked, askUntilAnswered, errorOf, messageOf } from './request.ts'
import { CommandError } from './run.ts'

/** A collection of a server, and the API key for requests to it. */
export interface Collection {
  /** URL of the collection, without a query. */
  readonly address: string
  readonly key: string
}

/** Values of a row as PostgreSQL prints them, so that equal values have equal texts; null: no value. */
export type ValueTexts = ReadonlyMap<Property, string | null>

/** Maximum rows of a table that is read whole. Every 1,000 rows count as one request. */
export const WHOLE_ROWS_MAX = 50_000
/** Maximum bytes of the values that one request looks for: the URL of the request contains these values. */
const VALUES_BYTES_MAX = 2_000

interface RequestOptions {
  readonly body?: string | null
  /** Statuses from 400 on that the caller handles. */
  readonly taken?: readonly number[]
  /** True to fail at once if no server can be reached. */
  readonly isFirst?: boolean
}

/** Thrown for an answer with an error. */
export class RefusedRequest extends CommandError {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message)
  }
}

/**
 * Sends a request. `own`: headers in addition to the API key. @throws RefusedRequest for a status from 400 on that is not in
 * `taken`
 */
export async function ask(
  { key }: Collection,
  method: Asked['method'],
  address: string,
  own: Asked['headers'] = {},
  { body = null, taken = [412], isFirst = false }: RequestOptions = {},
): Promise<Answer> {
  const headers = { Authorization: `ApiKey ${key}`, ...own }
  const answer = await askUntilAnswered({ method, address, headers, body }, isFirst)
  if (answer.status >= 400 && !taken.includes(answer.status))
    throw new RefusedRequest(messageOf(answer.text, answer.status), answer.status)
  return answer
}

/** Returns the number of rows. @throws CommandError */
export async function countRows(collection: Collection): Promise<number> {
  const address = `${collection.address}?fields=Id&PageSize=5`
  const { headers } = await ask(collection, 'GET', address, { Accept: 'application/json' }, { isFirst: true })
  const total = headers.get('x-total-count')
  if (total === null || !/^\d+$/.test(total)) throw new CommandError('the address is not that of a list of a Roster')
  return Number(total)
}

/** Reads the id and these properties of all rows. @throws CommandError */
export async function readAllRows(
  collection: Collection,
  entity: Entity,
  properties: readonly Property[],
): Promise<ValueTexts[]> {
  const read = [...new Set([entity.id, ...properties])]
  const fields = read.map(({ name }) => name).join(',')
  const rows: ValueTexts[] = []
  for (;;) {
    const last = rows.at(-1)?.get(entity.id)
    const after = last ? `&${entity.id.name}=%3E${last}` : ''
    const address = `${collection.address}?fields=${fields}&sort=${entity.id.name}${after}`
    const end = await readStream(collection, entity, read, address, rows)
    if (end === null) return rows
    // A rate limit has ended the stream; the next stream continues after its last row.
    say(`waits ${end.seconds} s: ${end.message}`)
    await Bun.sleep(end.seconds * 1_000)
  }
}

/**
 * Yields the rows that have one of the values, in one part per request. `asked`: the values that this request looked for.
 * `properties`: properties to read; null: all.
 */
export async function* readRowsWith(
  collection: Collection,
  entity: Entity,
  property: Property,
  values: readonly string[],
  properties: readonly Property[] | null = null,
): AsyncGenerator<{ readonly asked: readonly string[]; readonly rows: readonly ValueTexts[] }> {
  const read = properties === null ? entity.properties : [...new Set([entity.id, property, ...properties])]
  const fields = properties === null ? '' : `fields=${read.map(({ name }) => name).join(',')}&`
  const name = encodeURIComponent(`${property.name}[]`)
  const bytesOf = (value: string) => encodeURIComponent(value).length + name.length + 2
  for await (const asked of divided(values, VALUES_MAX, VALUES_BYTES_MAX, bytesOf)) {
    const query = queryOfAny(property, asked)
    const rows: ValueTexts[] = []
    for (;;) {
      const end = await readStream(collection, entity, read, `${collection.address}?${fields}${query}`, rows)
      if (end === null) break
      rows.length = 0
      say(`waits ${end.seconds} s: ${end.message}`)
      await Bun.sleep(end.seconds * 1_000)
    }
    yield { asked, rows }
  }
}

/** Returns the query parameters that select the rows with one of the values. */
export function queryOfAny({ name }: Property, values: readonly string[]): string {
  return values.map((value) => `${encodeURIComponent(`${name}[]`)}=${encodeURIComponent(value)}`).join('&')
}

/**
 * Adds the rows of a stream to `rows`. Returns how long to wait if a rate limit cut the stream short, or null if it is complete.
 * @throws CommandError
 */
async function readStream(
  collection: Collection,
  { name }: Entity,
  properties: readonly Property[],
  address: string,
  rows: ValueTexts[],
): Promise<{ readonly seconds: number; readonly message: string } | null> {
  const { text, headers } = await ask(collection, 'GET', address, { Accept: 'application/x-ndjson' })
  if (headers.get('content-type')?.startsWith('application/x-ndjson') !== true)
    throw new CommandError(`the address is not that of a list of ${name} of a Roster`)
  for (const line of text.split('\n').filter(Boolean)) {
    if (!line.startsWith('{"Error":')) {
      rows.push(storedTexts(properties, line))
      continue
    }
    const error = errorOf(line)
    if (error?.Code !== 'RateLimitExceeded') throw new CommandError(messageOf(line, 200))
    return { seconds: Math.max(1, error.RetryAfter ?? 1), message: error.Message }
  }
  return null
}

/**
 * Returns the values of a row in a response. A value that clients could not write, because it is not valid for its property,
 * stays as the server sent it.
 */
export function storedTexts(properties: readonly Property[], json: string): ValueTexts {
  return rowTexts(properties, parseJson(json))
}

/** Returns the values of a row whose JSON is parsed already; see `storedTexts`. */
export function rowTexts(properties: readonly Property[], row: unknown): ValueTexts {
  return new Map(properties.map((property) => [property, storedText(property, row)]))
}

function storedText({ path, kind }: Property, row: unknown): string | null {
  const value = path.reduce<unknown>((object, key) => (object as Record<string, unknown> | null)?.[key] ?? null, row)
  if (value === null) return null
  try {
    return kind.printFilter(kind.parseJson(value))
  } catch (error) {
    if (error instanceof Mismatch) return value instanceof JsonNumber ? value.source : String(value)
    throw error
  }
}

/** Returns a value of a file or an option as PostgreSQL prints it; null if it is not valid for the property. */
export function printedText({ kind }: Property, text: string): string | null {
  try {
    return kind.printFilter(kind.parseFilter(text))
  } catch (error) {
    if (error instanceof Mismatch) return null
    throw error
  }
}

/** Returns the body of a request that writes these values. */
export function bodyOf(entity: Entity, values: ValueTexts): string {
  const choice = project(entity, new Set(values.keys()))
  return choiceWriter(choice, choice.properties)(choice.properties.map((property) => values.get(property) ?? null))
}
