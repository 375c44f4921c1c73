// Finds the rows of a file that the table has already, by a property, and writes the values that differ.
import { ApiError } from '../errors.ts'
import { type Entity, type Property, project } from '../model/entity.ts'
import { JsonNumber, Mismatch } from '../model/kinds.ts'
import { parsePartial, wholeBody } from '../parse/assignments.ts'
import { isObject, parseJson } from '../parse/body.ts'
import { VALUES_MAX } from '../parse/filter.ts'
import { choiceWriter } from '../respond/json.ts'
import { type Asked, askUntilAnswered, messageOf } from './request.ts'
import type { FileRow } from './rowsFile.ts'
import { CommandError } from './run.ts'
import { divided, type RowFault, type Target } from './sendFile.ts'

/** Maximum rows of a file with `--match`: they are compared in memory. */
export const MATCHED_ROWS_MAX = 100_000
/** Maximum bytes of the values that one request looks for: they are part of its URL. */
const VALUES_BYTES_MAX = 2_000
/** Maximum attempts to change a row that others write at the same time. */
const CHANGE_TRIES_MAX = 5
const JSON_ACCEPTED = { Accept: 'application/json' }

/** A row of the file that has other values in the table. */
export interface Change {
  readonly at: string
  readonly id: string
  readonly differences: readonly { readonly property: Property; readonly before: string | null; readonly after: string | null }[]
}

type Row = FileRow & { readonly texts: ValueTexts }

/** Divides rows of a file into new, changed and equal ones, by a property. @throws CommandError for a refused request */
export async function matchRows(entity: Entity, matched: Property, rows: readonly FileRow[], target: Target) {
  const faults: RowFault[] = []
  const byValue = rowsByValue(entity, matched, rows, faults)
  const created: FileRow[] = []
  const changed: Change[] = []
  let left = 0
  // Each value is sent with the name of its parameter.
  const bytesOf = (value: string) => encodeURIComponent(value).length + 40
  for await (const values of divided(byValue.keys(), VALUES_MAX, VALUES_BYTES_MAX, bytesOf)) {
    const found = await rowsWith(entity, matched, values, target)
    for (const value of values) {
      const row = byValue.get(value) as Row
      const [known, other] = found.get(value) ?? []
      if (other)
        faults.push({ at: row.at, message: `${matched.name} ${value} is in several rows: ${idsOf(entity, found.get(value))}.` })
      else if (known) {
        const differences = [...row.texts].flatMap(([property, after]) => {
          const before = known.get(property) ?? null
          return before === after ? [] : [{ property, before, after }]
        })
        if (differences.length === 0) left++
        else changed.push({ at: row.at, id: idsOf(entity, [known]), differences })
      } else if (matched === entity.id) faults.push({ at: row.at, message: `There is no ${entity.name} with id ${value}.` })
      else created.push(row)
    }
  }
  return { created, changed, left, faults }
}

function rowsByValue(entity: Entity, matched: Property, rows: readonly FileRow[], faults: RowFault[]): Map<string, Row> {
  const byValue = new Map<string, Row>()
  for (const { at, json } of rows) {
    const fault = (message: string) => faults.push({ at, message })
    const row = parseJson(json)
    if (!isObject(row)) {
      fault('The row must be an object.')
      continue
    }
    try {
      const values = [...parsePartial(entity, wholeBody(entity), row)]
      const texts = new Map(values.map(([property, text]) => [property, text === null ? null : property.kind.printFilter(text)]))
      const value = (matched.writable ? texts.get(matched) : idIn(matched, row)) ?? ''
      const earlier = byValue.get(value)
      if (value === '') fault(`The row has no ${matched.name} by which to find it.`)
      else if (earlier) fault(`${matched.name} ${value} is also in ${earlier.at}.`)
      else byValue.set(value, { at, json, texts })
    } catch (error) {
      if (error instanceof ApiError) for (const { message } of error.details ?? []) fault(message)
      else if (error instanceof Mismatch) fault(`${matched.name} ${error.message}.`)
      else throw error
    }
  }
  return byValue
}

/** Returns the id in a row of a file, whose name may be in any case. @throws Mismatch */
function idIn({ name, kind }: Property, row: Record<string, unknown>): string | null {
  const [, value = null] = Object.entries(row).find(([key]) => key.toLowerCase() === name.toLowerCase()) ?? []
  return value === null ? null : kind.printFilter(kind.parseJson(value))
}

/** Reads the rows of the table that have one of the values, by value. */
async function rowsWith(entity: Entity, matched: Property, values: readonly string[], target: Target) {
  const query = values.map((value) => `${encodeURIComponent(`${matched.name}[]`)}=${encodeURIComponent(value)}`).join('&')
  const { text } = await ask(target, 'GET', `${target.address}?${query}`, { Accept: 'application/x-ndjson' })
  const rows = text.split('\n').filter(Boolean)
  const fault = rows.find((line) => line.startsWith('{"Error":'))
  if (fault) throw new CommandError(messageOf(fault, 200))
  const stored = rows.map((line) => storedTexts(entity, line))
  return Map.groupBy(stored, (row) => row.get(matched) as string)
}

function idsOf({ id }: Entity, rows: readonly ValueTexts[] = []): string {
  return rows.map((row) => row.get(id)).join(', ')
}

/** Writes what differs, with `If-Match`. @throws CommandError if it is refused, or if another client changed one of the values */
export async function changeRow(entity: Entity, { id, differences }: Change, target: Target): Promise<void> {
  const address = `${target.address}/${id}`
  for (let tries = 1; ; tries++) {
    const { text, headers } = await ask(target, 'GET', address, JSON_ACCEPTED)
    const row = storedTexts(entity, text)
    const open = differences.filter(({ property, after }) => row.get(property) !== after)
    const lost = open.find(({ property, before }) => row.get(property) !== before)
    if (lost) throw new CommandError(`${lost.property.name} of row ${id} was changed by another meanwhile.`)
    if (open.length === 0) return
    const body = bodyOf(entity, new Map(open.map(({ property, after }) => [property, after])))
    // A compressing proxy turns the ETag into a weak one, which never matches If-Match.
    const version = { 'If-Match': headers.get('etag')?.replace(/^W\//, '') ?? '*' }
    const own = { ...version, 'Idempotency-Key': crypto.randomUUID(), 'Content-Type': 'application/json' }
    const { status, text: answer } = await ask(target, 'PATCH', address, { ...JSON_ACCEPTED, ...own }, body)
    if (status !== 412) return
    if (tries === CHANGE_TRIES_MAX) throw new CommandError(messageOf(answer, status))
  }
}

/** Sends a request. `own`: its headers besides the key. @throws CommandError for a status from 400 on, except 412 */
async function ask({ key }: Target, method: Asked['method'], address: string, own: Asked['headers'], body?: string) {
  const headers = { Authorization: `ApiKey ${key}`, ...own }
  const answer = await askUntilAnswered({ method, address, headers, body: body ?? null }, false)
  if (answer.status >= 400 && answer.status !== 412) throw new CommandError(messageOf(answer.text, answer.status))
  return answer
}

/** Values of a row as PostgreSQL prints them, so that equal values have equal texts; null: no value. */
type ValueTexts = ReadonlyMap<Property, string | null>

/** Returns the values of a row in a response. A value that clients cannot write may fit no rule; it stays as it is. */
function storedTexts({ properties }: Entity, json: string): ValueTexts {
  const row = parseJson(json)
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

/** Returns the body of a request that writes these values. */
function bodyOf(entity: Entity, values: ValueTexts): string {
  const choice = project(entity, new Set(values.keys()))
  return choiceWriter(choice, choice.properties)(choice.properties.map((property) => values.get(property) ?? null))
}
