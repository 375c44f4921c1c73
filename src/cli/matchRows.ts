// Finds the rows of a file that the table has already, by a property, and writes the values that differ.
import { ApiError } from '../errors.ts'
import type { Entity, Property } from '../model/entity.ts'
import { Mismatch } from '../model/kinds.ts'
import { parsePartial, wholeBody } from '../parse/assignments.ts'
import { isObject, parseJson } from '../parse/body.ts'
import type { RowFault } from '../spreadsheets/faults.ts'
import { nearKey } from '../spreadsheets/nearValues.ts'
import { messageOf } from './request.ts'
import type { FileRow } from './rowsFile.ts'
import { CommandError } from './run.ts'
import { faultOfCell, type Target } from './sendFile.ts'
import { ask, bodyOf, countRows, readAllRows, readRowsWith, storedTexts, type ValueTexts, WHOLE_ROWS_MAX } from './storedRows.ts'

/** Maximum rows of a file with `--match`: they are compared in memory. */
export const MATCHED_ROWS_MAX = 100_000
/** Maximum attempts to change a row that other clients write at the same time. */
const CHANGE_TRIES_MAX = 5
const JSON_ACCEPTED = { Accept: 'application/json' }

/** Value of a property before and after a write. Null: no value. */
export interface Difference {
  readonly property: Property
  readonly before: string | null
  readonly after: string | null
}

/** A row of the file whose values differ from the values in the table. */
export interface Change {
  readonly at: string
  readonly id: string
  /** Value by which the row was found. */
  readonly value: string
  readonly differences: readonly Difference[]
}

/** A row of the file that is not in the table, although a stored row has nearly the same value. */
export interface NearRow {
  readonly at: string
  readonly value: string
  readonly id: string
  readonly stored: string
}

type Row = FileRow & { readonly texts: ValueTexts }

/**
 * Divides the rows of a file into new, changed and equal rows. `matched`: property by which they are found in the table.
 * @throws CommandError for a refused request
 */
export async function matchRows(entity: Entity, matched: Property, rows: readonly FileRow[], target: Target) {
  const faults: RowFault[] = []
  const byValue = rowsByValue(entity, matched, rows, faults)
  const created = new Map<string, FileRow>()
  const changed: Change[] = []
  let left = 0
  for await (const { asked, rows: stored } of readRowsWith(target, entity, matched, [...byValue.keys()])) {
    const found = Map.groupBy(stored, (row) => row.get(matched) as string)
    for (const value of asked) {
      const row = byValue.get(value) as Row
      const [known, other] = found.get(value) ?? []
      if (other)
        faults.push({ at: row.at, message: `${matched.name} ${value} is in several rows: ${idsOf(entity, found.get(value))}.` })
      else if (known) {
        const differences = differencesOf(row.texts, known)
        if (differences.length === 0) left++
        else changed.push({ at: row.at, id: idsOf(entity, [known]), value, differences })
      } else if (matched === entity.id) faults.push({ at: row.at, message: `There is no ${entity.name} with id ${value}.` })
      else created.set(value, row)
    }
  }
  const near = created.size === 0 || faults.length > 0 ? [] : await nearRows(entity, matched, created, target)
  return { created: [...created.values()], changed, left, near, faults }
}

function differencesOf(texts: ValueTexts, known: ValueTexts): Difference[] {
  return [...texts].flatMap(([property, after]) => {
    const before = known.get(property) ?? null
    return before === after ? [] : [{ property, before, after }]
  })
}

/**
 * Returns the new rows whose value differs from a stored value only in case, blanks, leading zeros and accents. Returns none if
 * the table is too large to read whole.
 */
async function nearRows(
  entity: Entity,
  matched: Property,
  created: ReadonlyMap<string, FileRow>,
  target: Target,
): Promise<NearRow[]> {
  if ((await countRows(target)) > WHOLE_ROWS_MAX) return []
  const stored = await readAllRows(target, entity, [matched])
  const byKey = new Map(stored.map((row) => [nearKey(row.get(matched) ?? ''), row]))
  return [...created].flatMap(([value, { at }]) => {
    const row = byKey.get(nearKey(value))
    return row === undefined ? [] : [{ at, value, id: idsOf(entity, [row]), stored: row.get(matched) ?? '' }]
  })
}

function rowsByValue(entity: Entity, matched: Property, rows: readonly FileRow[], faults: RowFault[]): Map<string, Row> {
  const byValue = new Map<string, Row>()
  for (const row of rows) {
    const fault = (message: string) => faults.push({ at: row.at, message })
    const parsed = parseRow(entity, row)
    if (parsed.texts === null) {
      faults.push(...parsed.faults)
      continue
    }
    try {
      const value = (matched.writable ? parsed.texts.get(matched) : idIn(matched, parsed.body)) ?? ''
      const earlier = byValue.get(value)
      if (value === '') fault(`The row has no ${matched.name} by which to find it.`)
      else if (earlier) fault(`${matched.name} ${value} is also in ${earlier.at}.`)
      else byValue.set(value, { ...row, texts: parsed.texts })
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      fault(`${matched.name} ${error.message}.`)
    }
  }
  return byValue
}

type ParsedRow =
  | { readonly texts: ValueTexts; readonly body: Record<string, unknown> }
  | { readonly texts: null; readonly faults: readonly RowFault[] }

/** Returns the values of a row, or the faults that can be found without reading other rows. */
export function parseRow(entity: Entity, row: FileRow): ParsedRow {
  const { at, json } = row
  if (row.faults.length > 0) return { texts: null, faults: row.faults }
  const body = parseJson(json)
  if (!isObject(body)) return { texts: null, faults: [{ at, message: 'The row must be an object.' }] }
  try {
    const values = [...parsePartial(entity, wholeBody(entity), body)]
    const texts = new Map(values.map(([property, text]) => [property, text === null ? null : property.kind.printFilter(text)]))
    return { texts, body }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const faults = (error.details ?? []).map(({ target, message }) => {
      const property = entity.properties.find(({ name }) => name === target)
      return faultOfCell(row, property, message)
    })
    return { texts: null, faults }
  }
}

/** Returns the id in a row of a file, or null. The name of the id can be in upper or lower case. @throws Mismatch */
function idIn({ name, kind }: Property, row: Record<string, unknown>): string | null {
  const [, value = null] = Object.entries(row).find(([key]) => key.toLowerCase() === name.toLowerCase()) ?? []
  return value === null ? null : kind.printFilter(kind.parseJson(value))
}

function idsOf({ id }: Entity, rows: readonly ValueTexts[] = []): string {
  return rows.map((row) => row.get(id)).join(', ')
}

/** Thrown if another client has changed a value since it was read. */
class ChangedByOther extends CommandError {}

/** Writes the differences of one row, with `If-Match`. @throws ChangedByOther, or CommandError if the server refuses the write */
export async function changeRow(
  entity: Entity,
  { id, differences }: Pick<Change, 'id' | 'differences'>,
  target: Pick<Target, 'address' | 'key'>,
): Promise<void> {
  const address = `${target.address}/${id}`
  for (let tries = 1; ; tries++) {
    const { text, headers } = await ask(target, 'GET', address, JSON_ACCEPTED)
    const row = storedTexts(entity.properties, text)
    const open = differences.filter(({ property, after }) => row.get(property) !== after)
    const lost = open.find(({ property, before }) => row.get(property) !== before)
    if (lost) throw new ChangedByOther(`${lost.property.name} of row ${id} was changed by another meanwhile.`)
    if (open.length === 0) return
    const body = bodyOf(entity, new Map(open.map(({ property, after }) => [property, after])))
    const own = {
      ...JSON_ACCEPTED,
      'If-Match': strongTag(headers),
      'Idempotency-Key': crypto.randomUUID(),
      'Content-Type': 'application/json',
    }
    const { status, text: answer } = await ask(target, 'PATCH', address, own, { body })
    if (status !== 412) return
    if (tries === CHANGE_TRIES_MAX) throw new CommandError(messageOf(answer, status))
  }
}

/**
 * Returns the version of a row for If-Match, or `*` without an ETag. A proxy that compresses makes the ETag weak; `W/` is
 * removed, because a weak ETag never matches.
 */
export function strongTag(headers: Headers): string {
  return headers.get('etag')?.replace(/^W\//, '') ?? '*'
}
