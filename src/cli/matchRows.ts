import type { Entity, Property } from '../model/entity.ts'
import { messageOf } from './export.ts'
import { type FileValues, readValues, ValueFault, writeValues } from './fileValues.ts'
import type { FileRow } from './jsonText.ts'
import { CommandError } from './run.ts'
import { type Asked, askUntilAnswered, type RowFault, type Target } from './sendRows.ts'

/** Maximum rows of a file that is matched: they are compared in memory. */
export const MATCHED_ROWS_MAX = 100_000
/** Values that one request looks for, by number and by bytes of its address. */
const VALUES_MAX = 100
const VALUES_BYTES_MAX = 2_000
/** Tries at a row that others write at the same time. */
const CHANGE_TRIES_MAX = 5

/** A value of a row that differs from the file's. */
interface Difference {
  readonly property: Property
  readonly before: string | null
  readonly after: string | null
}

/** A row of the file that is in the table with other values. */
export interface Change {
  readonly at: string
  readonly id: string
  readonly values: FileValues
  readonly differences: readonly Difference[]
}

/** Division of a file's rows by what the table has. */
export interface Matched {
  readonly created: readonly FileRow[]
  readonly changed: readonly Change[]
  readonly left: number
  readonly faults: readonly RowFault[]
}

interface Row {
  readonly at: string
  readonly json: string
  readonly values: FileValues
}

/** Finds the rows of a file in the table, by their value of a property. @throws CommandError where the server refuses */
export async function matchRows(entity: Entity, matched: Property, rows: readonly FileRow[], target: Target): Promise<Matched> {
  const faults: RowFault[] = []
  const byValue = rowsByValue(entity, matched, rows, faults)
  const created: FileRow[] = []
  const changed: Change[] = []
  let left = 0
  for (const values of chunksOf([...byValue.keys()])) {
    const found = await rowsWith(entity, matched, values, target)
    for (const value of values) {
      const row = byValue.get(value) as Row
      const [known, other] = found.get(value) ?? []
      if (other)
        faults.push({ at: row.at, message: `${matched.name} ${value} is in several rows: ${idsOf(entity, found.get(value))}.` })
      else if (known) {
        const differences = differencesOf(row.values, known)
        if (differences.length === 0) left++
        else changed.push({ at: row.at, id: idsOf(entity, [known]), values: row.values, differences })
      } else if (matched === entity.id) faults.push({ at: row.at, message: `There is no ${entity.name} with id ${value}.` })
      else created.push(row)
    }
  }
  return { created, changed, left, faults }
}

function rowsByValue(entity: Entity, matched: Property, rows: readonly FileRow[], faults: RowFault[]): Map<string, Row> {
  const byValue = new Map<string, Row>()
  for (const { at, json } of rows) {
    try {
      const values = readValues(entity, json)
      const value = values.get(matched)?.text ?? ''
      const earlier = byValue.get(value)
      if (value === '') throw new ValueFault(`The row has no ${matched.name} by which to find it.`)
      if (earlier) throw new ValueFault(`${matched.name} ${value} is also in ${earlier.at}.`)
      byValue.set(value, { at, json, values })
    } catch (error) {
      if (!(error instanceof ValueFault)) throw error
      faults.push({ at, message: error.message })
    }
  }
  return byValue
}

/** Divides values into as many as one request takes. */
function* chunksOf(values: readonly string[]): Generator<string[]> {
  let [chunk, bytes] = [[] as string[], 0]
  for (const value of values) {
    const own = encodeURIComponent(value).length + 40
    if (chunk.length === VALUES_MAX || (chunk.length > 0 && bytes + own > VALUES_BYTES_MAX)) {
      yield chunk
      ;[chunk, bytes] = [[], 0]
    }
    chunk.push(value)
    bytes += own
  }
  if (chunk.length > 0) yield chunk
}

/** The rows of the table by their value of the property. */
async function rowsWith(entity: Entity, { name }: Property, values: readonly string[], target: Target) {
  const query = values.map((value) => `${encodeURIComponent(`${name}[]`)}=${encodeURIComponent(value)}`).join('&')
  const { text } = await ask(target, { method: 'GET', address: `${target.address}?${query}`, accept: 'application/x-ndjson' })
  const found = new Map<string, FileValues[]>()
  for (const line of text.split('\n').filter(Boolean)) {
    if (line.startsWith('{"Error":')) throw new CommandError(messageOf(line, 200))
    const row = readValues(entity, line, true)
    const value = [...row].find(([property]) => property.name === name)?.[1].text as string
    found.set(value, [...(found.get(value) ?? []), row])
  }
  return found
}

function differencesOf(values: FileValues, row: FileValues): Difference[] {
  return [...values].flatMap(([property, { text: after }]) => {
    const before = row.get(property)?.text ?? null
    return !property.writable || before === after ? [] : [{ property, before, after }]
  })
}

function idsOf({ id }: Entity, rows: readonly FileValues[] = []): string {
  return rows.map((row) => row.get(id)?.json).join(', ')
}

/**
 * Writes what differed from the file, by the row's version. @throws CommandError where the server refuses, or where another has
 * changed one of these values since they were compared
 */
export async function changeRow(entity: Entity, { id, values, differences }: Change, target: Target): Promise<void> {
  const address = `${target.address}/${id}`
  for (let tries = 1; ; tries++) {
    const { text, etag } = await ask(target, { method: 'GET', address, accept: 'application/json' })
    const row = readValues(entity, text, true)
    const textOf = (property: Property) => row.get(property)?.text ?? null
    const open = differences.filter(({ property, after }) => textOf(property) !== after)
    const lost = open.find(({ property, before }) => textOf(property) !== before)
    if (lost) throw new CommandError(`${lost.property.name} of row ${id} was changed by another meanwhile.`)
    if (open.length === 0) return
    const body = writeValues(new Map([...values].filter(([property]) => open.some((other) => other.property === property))))
    const own = { 'If-Match': etag ?? '*', 'Idempotency-Key': crypto.randomUUID(), 'Content-Type': 'application/json' }
    const { status, text: answer } = await ask(target, { method: 'PATCH', address, accept: 'application/json', own, body })
    if (status !== 412) return
    if (tries === CHANGE_TRIES_MAX) throw new CommandError(messageOf(answer, status))
  }
}

interface Own {
  readonly method: Asked['method']
  readonly address: string
  readonly accept: string
  readonly own?: Readonly<Record<string, string>>
  readonly body?: string
}

/** @throws CommandError for a status from 400 on, but 412 */
async function ask({ key, onWait }: Target, { method, address, accept, own, body = '' }: Own) {
  const headers = { Authorization: `ApiKey ${key}`, Accept: accept, ...own }
  const answer = await askUntilAnswered({ method, address, headers, body: body || null }, onWait, false)
  if (answer.status >= 400 && answer.status !== 412) throw new CommandError(messageOf(answer.text, answer.status))
  return answer
}
