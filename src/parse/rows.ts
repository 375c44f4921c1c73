import { ApiError, FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { takeTurns } from '../os/turns.ts'
import { parseComplete } from './assignments.ts'
import { BODY_BYTES_MAX } from './bodyBytes.ts'
import { isExcessive, isObject, parseJson } from './json.ts'
import { type RowPlaces, type RowsText, rowNotJson } from './rowTexts.ts'

/** What each row of a body sets. Faults name their row by its index, from 0: `[3].Title`. D59 @throws ApiError that lists the faults of all rows */
export async function parseRows(entity: Entity, rows: RowsText, places: RowPlaces): Promise<Assignments[]> {
  const turn = takeTurns()
  const parsed: Assignments[] = []
  const faults: Fault[] = []
  for (let index = 0; 2 * index < places.length && faults.length < FAULTS_MAX; index++) {
    const assignments = parseRow(
      entity,
      rows,
      index,
      [places[2 * index] as number, places[2 * index + 1] as number],
      faults,
    )
    if (assignments !== null) parsed.push(assignments)
    const others = turn()
    if (others !== null) await others
  }
  if (faults.length > 0) throw faultsError(faults.slice(0, FAULTS_MAX) as [Fault, ...Fault[]])
  return parsed
}

/** Null: the row has faults. @throws ApiError where the body is not JSON */
function parseRow(
  entity: Entity,
  rows: RowsText,
  index: number,
  [start, end]: readonly [number, number],
  faults: Fault[],
): Assignments | null {
  if (end - start > BODY_BYTES_MAX)
    throw new ApiError('PayloadTooLarge', `[${index}]: A row may have up to 1 MiB.`, { target: `[${index}]` })
  const text = rows.text.slice(start, end)
  if (isExcessive(text)) {
    const message = `[${index}] has more values or escapes, or is nested more deeply, than any entity.`
    throw new ApiError('InvalidJson', message, { target: `[${index}]` })
  }
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    throw rowNotJson(rows, start, end)
  }
  if (!isObject(value)) {
    faults.push({ code: 'InvalidValue', target: `[${index}]`, message: `[${index}] must be an object.` })
    return null
  }
  try {
    return parseComplete(entity, value)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    for (const fault of error.details ?? []) faults.push(faultOfRow(index, fault))
    return null
  }
}

/** A fault as a body of several rows has it. */
export function faultOfRow(index: number, { code, target, message }: Fault): Fault {
  return { code, target: `[${index}].${target}`, message: `[${index}]: ${message}` }
}
