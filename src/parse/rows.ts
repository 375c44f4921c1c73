import { ApiError, FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { takeTurns } from '../os/time.ts'
import { parseComplete } from './assignments.ts'
import { faultOf, isObject, parseJson } from './json.ts'

/**
 * Parses the rows of a body. Faults name their row by its index, from 0: `[3].Title`. D59 @throws ApiError that lists the
 * faults of all rows
 */
export async function parseRows(entity: Entity, rows: readonly string[]): Promise<Assignments[]> {
  const turn = takeTurns()
  const parsed: Assignments[] = []
  const faults: Fault[] = []
  for (let index = 0; index < rows.length && faults.length < FAULTS_MAX; index++) {
    const assignments = parseRow(entity, rows[index] as string, index, faults)
    if (assignments !== null) parsed.push(assignments)
    const others = turn()
    if (others !== null) await others
  }
  if (faults.length > 0) throw faultsError(faults.slice(0, FAULTS_MAX) as [Fault, ...Fault[]])
  return parsed
}

/** Null: the row has faults. @throws ApiError where the row is not JSON */
function parseRow(entity: Entity, text: string, index: number, faults: Fault[]): Assignments | null {
  const target = `[${index}]`
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    throw new ApiError('InvalidJson', `${target} is not JSON: ${faultOf(error)}.`, { target })
  }
  if (!isObject(value)) {
    faults.push({ code: 'InvalidValue', target, message: `${target} must be an object.` })
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
