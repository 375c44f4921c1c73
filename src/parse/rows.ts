// Bodies of several rows: counts the rows before it parses them, so that they can be charged first. D59
import { ApiError, FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { CreateAccess, CreateRight } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { yieldEvery } from '../os/time.ts'
import { completeRow, type NewRow, nearestRight, type ParsedBody, parseBody } from './assignments.ts'
import { BODY_BYTES_MAX, checkComplexity, elementEnd, invalidJson, isObject, parseOrThrow, type UnparsedRows } from './body.ts'

/** Maximum number of rows of a body. If you change it, change the error messages that repeat it. */
const ROWS_MAX = 1_000

/**
 * Splits a body into the texts of its rows, which need not be valid JSON. @throws ApiError InvalidJson, InvalidRows,
 * PayloadTooLarge
 */
export async function findRows({ text, form }: UnparsedRows): Promise<readonly string[]> {
  const turn = yieldEvery()
  const rows: string[] = []
  // The pattern leaves out leading spaces of lines, and blank lines.
  for (const row of form === 'lines' ? text.matchAll(/[^ \t\r\n][^\n]*/g).map(([line]) => line) : elementsOf(text)) {
    if (rows.length === ROWS_MAX) throw invalidRows('The body has more than 1,000 rows; send the others by further requests.')
    const target = `[${rows.length}]`
    if (row.length > BODY_BYTES_MAX) throw new ApiError('PayloadTooLarge', `${target}: A row may have up to 1 MiB.`, { target })
    // The rows of an array have been checked by `elementsOf`.
    if (form === 'lines') checkComplexity(row, target)
    rows.push(row)
    const others = turn()
    if (others !== null) await others
  }
  if (rows.length === 0) throw invalidRows('The body has no rows; it may have 1 to 1,000.')
  return rows
}

function* elementsOf(text: string): Generator<string> {
  let start = text.indexOf('[') + 1
  for (let index = 0; ; index++) {
    const end = elementEnd(text, start, `[${index}]`)
    if (end < 0 || text[end] === '}') break
    const element = text.slice(start, end)
    if (text[end] === ']') {
      if (!BLANK.test(text.slice(end + 1))) break
      if (index > 0 || !BLANK.test(element)) yield element
      return
    }
    yield element
    start = end + 1
  }
  throw invalidJson('The body is not JSON: the array does not end where the body does.')
}

const BLANK = /^[ \t\r\n]*$/

function invalidRows(message: string): ApiError {
  return new ApiError('InvalidRows', message, { target: 'Body' })
}

/** Parsed rows, and the right that creates all of them. */
interface ParsedRows {
  readonly rows: readonly NewRow[]
  readonly right: CreateRight
}

/**
 * Parses the rows of a body. One right must create all of them. The target of a fault has the index of its row: `[3].Title`. D59
 * @throws ApiError with the faults of all rows
 */
export async function parseRows(entity: Entity, access: CreateAccess, texts: readonly string[]): Promise<ParsedRows> {
  const turn = yieldEvery()
  const parsed: { readonly body: ParsedBody | null; readonly faults: readonly Fault[] }[] = []
  for (let index = 0, count = 0; index < texts.length && count < FAULTS_MAX; index++) {
    const target = `[${index}]`
    const value = parseOrThrow(texts[index] as string, target)
    const faults: Fault[] = []
    let body: ParsedBody | null = null
    if (isObject(value)) body = orFaults(index, faults, () => parseBody(entity, access, value))
    else faults.push({ code: 'InvalidValue', target, message: `${target} must be an object.` })
    parsed.push({ body, faults })
    count += body?.faults.length ?? faults.length
    const others = turn()
    if (others !== null) await others
  }
  const bodies = parsed.flatMap(({ body }) => body ?? [])
  const right = nearestRight(access.rights, bodies)
  const rows: NewRow[] = []
  const faults: Fault[] = []
  for (const [index, { body, faults: own }] of parsed.entries()) {
    faults.push(...own)
    const row = body && orFaults(index, faults, () => completeRow(entity, access, right, body))
    if (row) rows.push(row)
    if (faults.length >= FAULTS_MAX) break
    const others = turn()
    if (others !== null) await others
  }
  if (faults.length > 0) throw faultsError(faults.slice(0, FAULTS_MAX))
  return { rows, right }
}

/**
 * Returns the result of `parse` for a row. If it throws an ApiError, returns null, and adds the faults of the error to `faults`,
 * each converted by `faultOf`.
 */
export function orFaults<Parsed>(
  index: number,
  faults: Fault[],
  parse: () => Parsed,
  faultOf: (index: number, fault: Fault) => Fault = faultOfRow,
): Parsed | null {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    for (const fault of error.details ?? []) faults.push(faultOf(index, fault))
    return null
  }
}

/** Adds the index of the row to a fault's target. */
export function faultOfRow(index: number, { code, target, message }: Fault): Fault {
  return { code, target: `[${index}].${target}`, message: `[${index}]: ${message}` }
}
