// Sends the rows of a file to a collection, piece by piece, and reports how many were imported.
import type { Entity, Property } from '../model/entity.ts'
import { isNotated } from '../model/kinds.ts'
import { divided } from '../spreadsheets/divided.ts'
import { faultText, groupFaults, type RowFault } from '../spreadsheets/faults.ts'
import type { ImportJournal } from './importJournal.ts'
import { counted, progress } from './output.ts'
import { type Answer, type Asked, askUntilAnswered, type Detail, errorOf, messageOf, OutcomeUnknown } from './request.ts'
import type { FileRow } from './rowsFile.ts'
import { CommandError } from './run.ts'

/** The collection to which rows are sent. */
export interface Target {
  /** URL of the collection, without a query. */
  readonly address: string
  readonly entity: Entity
  /** Name of the file in messages. */
  readonly name: string
  readonly key: string
  readonly isDry: boolean
  /**
   * Path of the file, or an id of the run. The Idempotency-Keys are hashes of this text and the number of the request, so that
   * the rows of each request are created once. Null: the keys are hashes of the rows.
   */
  readonly file: string | null
  /** Record of the import, by which it can be undone; null for a dry run, and if no record can be written. */
  readonly journal: ImportJournal | null
}

/** Maximum size of a request's body in bytes, as servers accept it. */
const PIECE_BYTES_MAX = 2 * 1024 * 1024
/** Maximum number of faults that a dry run asks the server for, and of different faults that are printed. */
const FAULTS_SHOWN = 100

/** Result of sending a file so far. */
interface Outcome {
  /** Number of rows created; in a dry run, of rows without a fault. */
  rows: number
  /** Number of rows that an earlier run created. */
  before: number
  /** Position of the last row created; null: none. */
  last: string | null
  readonly faults: RowFault[]
}

/**
 * Sends rows, at most `most` in a request. An import stops at the first refused piece, a dry run at `FAULTS_SHOWN` faults.
 * `found`: faults of rows that are not sent, to report together with the faults that the server finds. @throws CommandError that
 * says how many rows were imported
 */
export async function sendAll(
  target: Target,
  rows: AsyncIterable<FileRow> | Iterable<FileRow>,
  most: number,
  found: readonly RowFault[] = [],
): Promise<Outcome> {
  const outcome: Outcome = { rows: 0, before: 0, last: null, faults: [] }
  let index = 0
  let sent: readonly FileRow[] = []
  using shown = progress((sum) => counted(sum, 'row'))
  try {
    for await (const piece of divided(rows, most, PIECE_BYTES_MAX, ({ json }) => Buffer.byteLength(json) + 1)) {
      sent = piece
      await sendPiece(target, piece, index++, outcome)
      shown.add(piece.length)
      if (outcome.faults.length >= (target.isDry ? FAULTS_SHOWN : 1)) break
    }
  } catch (error) {
    if (!(error instanceof CommandError) || target.isDry) throw error
    if (!(error instanceof OtherVersion))
      throw new CommandError(`${error.message}\n${extentText(outcome, error instanceof OutcomeUnknown ? sent : [])}`)
    const created = outcome.rows - outcome.before
    throw created === 0 ? error : new CommandError(`${error.message}\n${counted(created, 'row')} before it were created.`)
  }
  const extent = target.isDry ? 'Nothing was created: it was a dry run.' : extentText(outcome)
  const mayBeMore = outcome.faults.length >= FAULTS_SHOWN ? [MORE_FAULTS] : []
  const faults = [...found, ...outcome.faults].sort((one, other) => lineOf(one) - lineOf(other))
  if (faults.length > 0) throw new CommandError(faultsText(target.name, faults, [...mayBeMore, extent].join('\n')))
  return outcome
}

const MORE_FAULTS = 'There may be more faults; these are the first.'

/** Returns the number of the line or row that has a fault. */
function lineOf({ at }: RowFault): number {
  return Number(/\d+/.exec(at)?.[0])
}

/** Returns a text that lists each different fault once, with `extent` as its last line. */
export function faultsText(name: string, faults: readonly RowFault[], extent: string): string {
  const groups = groupFaults(faults)
  const lines = groups.slice(0, FAULTS_SHOWN).map((group) => `${name}, ${faultText(group)}`)
  if (groups.length > FAULTS_SHOWN) lines.push(MORE_FAULTS)
  return [...lines, extent].join('\n')
}

/** Returns the fault of a row's property, with the value that the file has. */
export function faultOfCell({ at, cells }: FileRow, property: Property | undefined, message: string): RowFault {
  const value = property && cells.get(property)
  if (property === undefined || value === undefined) return { at, message }
  const { name } = property.kind
  return { at, message, value, kind: isNotated(name) ? name : undefined }
}

/**
 * Returns a sentence with the number of imported rows. `unknown`: rows of the next piece, if the server may have created them.
 */
function extentText({ rows, last }: Outcome, unknown: readonly FileRow[] = []): string {
  const first = unknown[0]
  if (last === null && !first) return 'No row was imported.'
  const extent =
    last === null ? 'No row was imported' : `${counted(rows, 'row')} ${rows === 1 ? 'was' : 'were'} imported, up to ${last}`
  const following = first ? `but those of ${first.at} to ${unknown.at(-1)?.at} may have been` : 'and none after it'
  return `${extent}, ${following}.\n${AGAIN}`
}

const AGAIN =
  'To go on, leave these rows as they are and run it again, with the same key and options: within a day, none of them is created twice.'

/** Thrown if an earlier run of the import sent different rows as this piece of the file. */
class OtherVersion extends CommandError {}

/**
 * Sends a piece of a file until the server answers. All attempts have the same Idempotency-Key, so that the rows are created
 * once. The first piece fails at once if no server can be reached. @throws CommandError if the server refuses the request as a
 * whole; OutcomeUnknown if it does not answer
 */
async function sendPiece(target: Target, piece: readonly FileRow[], index: number, outcome: Outcome): Promise<void> {
  const request = requestOf(target, piece, index)
  const { body, headers: sent } = request
  const pending = sent['Idempotency-Key']
  if (pending !== undefined) target.journal?.addPending(pending, firstAndLast(piece), body as string)
  const answer = await askUntilAnswered(request, index === 0)
  const { status, text, headers, mayBeDone } = answer
  if (status !== 200 && status !== 201) {
    if (pending !== undefined) target.journal?.addRefused(pending, errorCodesOf(text).includes('IdempotencyMismatch'))
    return void outcome.faults.push(...faultsOf(target.entity, piece, answer, index === 0))
  }
  requireRows(text, piece, target.isDry)
  if (pending !== undefined) target.journal?.addCreated(pending, text)
  outcome.rows += piece.length
  outcome.last = piece.at(-1)?.at ?? null
  if (headers.get('idempotency-replayed') === 'true' && !mayBeDone) outcome.before += piece.length
}

/** Returns the first and the last row of a piece, for messages. */
function firstAndLast(piece: readonly FileRow[]): string {
  return `${piece[0]?.at} to ${piece.at(-1)?.at}`
}

function errorCodesOf(text: string): string[] {
  const error = errorOf(text)
  return (error?.Details ?? (error ? [error] : [])).map(({ Code }) => Code)
}

function requestOf({ address, entity, key, isDry, file }: Target, piece: readonly FileRow[], index: number): Asked {
  const body = piece.map(({ json }) => json).join('\n')
  const headers = { Authorization: `ApiKey ${key}`, 'Content-Type': 'application/x-ndjson' }
  if (isDry) return { method: 'POST', address: `${address}?dryRun=1`, headers, body }
  const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify([entity.plural, index, file ?? body])).digest('hex')
  return { method: 'POST', address, headers: { ...headers, 'Idempotency-Key': `import-${hash}` }, body }
}

/**
 * Checks that Roster answered: a server that is not Roster may answer every request with 200. @throws OutcomeUnknown,
 * CommandError
 */
function requireRows(text: string, piece: readonly FileRow[], isDry: boolean) {
  let rows: unknown
  try {
    const answer = JSON.parse(text)
    rows = isDry ? answer.rows : answer.length
  } catch {}
  if (rows === piece.length) return
  const message = 'the address is not that of a collection of a Roster'
  throw isDry ? new CommandError(message) : new OutcomeUnknown(message)
}

/** Statuses for a body that arrives too slowly, or is too large for a proxy. */
const TOO_MUCH = [408, 413]

/** Returns the faults of single rows. @throws CommandError for a fault of the whole request */
function faultsOf(entity: Entity, piece: readonly FileRow[], { status, text }: Answer, isFirst: boolean): RowFault[] {
  const error = errorOf(text)
  const details = error?.Details ?? (error ? [error] : [])
  if (details.some(({ Code }) => Code === 'IdempotencyMismatch')) throw new OtherVersion(OTHER_VERSION)
  const faults = details.flatMap((detail) => {
    const [, index, name] = /^\[(\d+)\](?:\.(.*))?$/.exec(detail.Target) ?? []
    const row = piece[Number(index)]
    const property = entity.properties.find((one) => one.name.toLowerCase() === name?.toLowerCase())
    return row ? [faultOfCell(row, property, messageOfRow(piece, detail))] : []
  })
  if (faults.length > 0) return faults
  // Smaller pieces are proposed for the first piece only. The Idempotency-Keys count the pieces, so pieces of another size would
  // create the earlier rows again.
  const isMended = isFirst && piece.length > 1 && TOO_MUCH.includes(status)
  throw new CommandError(`${messageOf(text, status)}${isMended ? '\nSmaller pieces may be taken: --piece 100.' : ''}`)
}

const OTHER_VERSION = `This file was imported within the last day in another version, or with another --piece: its rows would be created again.
To change the rows that are there, and create the others: --match <property>. To create all rows again: --again. A file that is
replaced each day needs a name for each day.`

/** Returns the message of a fault, in which the position in the file replaces the index of the row. */
function messageOfRow(piece: readonly FileRow[], { Code, Message }: Detail): string {
  const message = Message.replace(/^\[\d+\]: /, '').replace(/^\[\d+\]/, 'The row')
  // If two rows have the same value, the fault of the later row names the earlier one.
  if (Code !== 'AlreadyExists') return message
  return message.replace(/\[(\d+)\](?= has this value\.$)/, (own, at) => piece[Number(at)]?.at ?? own)
}
