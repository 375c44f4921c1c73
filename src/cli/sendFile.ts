import type { FileRow } from './jsonText.ts'
import { counted, progress } from './progress.ts'
import { CommandError } from './run.ts'
import { OtherVersion, OutcomeUnknown, type RowFault, type Sent, sendRows, type Target } from './sendRows.ts'

/** Maximum size of a request in bytes that a server takes. */
const PIECE_BYTES_MAX = 2 * 1024 * 1024
/** A file of nothing but faults shall not fill the screen. */
const FAULTS_SHOWN = 100

/** Divides rows into pieces; the same rows always make the same pieces, so that a repeated import sends the same keys. */
export function piecesOf(rows: AsyncIterable<FileRow> | Iterable<FileRow>, most: number): AsyncGenerator<FileRow[]> {
  return divided(rows, most, PIECE_BYTES_MAX, ({ json }) => Buffer.byteLength(json) + 1)
}

/** Divides items into parts of at most so many, and so many bytes, where one alone does not have more. */
export async function* divided<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  most: number,
  bytesMax: number,
  bytesOf: (item: Item) => number,
): AsyncGenerator<Item[]> {
  let [part, sum] = [[] as Item[], 0]
  for await (const item of items) {
    const bytes = bytesOf(item)
    if (part.length === most || (part.length > 0 && sum + bytes > bytesMax)) {
      yield part
      ;[part, sum] = [[], 0]
    }
    part.push(item)
    sum += bytes
  }
  if (part.length > 0) yield part
}

/** Extent of what was sent. */
export interface Outcome {
  /** Created, or right. */
  readonly rows: number
  /** Created by an earlier run. */
  readonly before: number
  /** The place of the last of them; null: there is none. */
  readonly last: string | null
  readonly faults: readonly RowFault[]
}

/** Outcome before the first piece. */
export const NOTHING: Outcome = { rows: 0, before: 0, last: null, faults: [] }

/** Sends pieces until one is refused; in a dry run all of them. @throws CommandError that says how far it came */
export async function sendAll(target: Target, pieces: AsyncIterable<FileRow[]>): Promise<Outcome> {
  let outcome = NOTHING
  let [index, sent] = [0, [] as readonly FileRow[]]
  const shown = progress((rows) => counted(rows, 'row'))
  try {
    for await (const piece of pieces) {
      sent = piece
      outcome = after(outcome, piece, await sendRows(target, piece, index++))
      shown.add(piece.length)
      if (outcome.faults.length >= (target.isDry ? FAULTS_SHOWN : 1)) break
    }
  } catch (error) {
    if (!(error instanceof CommandError) || target.isDry) throw error
    if (!(error instanceof OtherVersion))
      throw new CommandError(`${error.message}\n${extentText(outcome, error instanceof OutcomeUnknown ? sent : [])}`)
    const created = outcome.rows - outcome.before
    throw created === 0 ? error : new CommandError(`${error.message}\n${counted(created, 'row')} before it were created.`)
  } finally {
    shown.end()
  }
  return outcome
}

function after(outcome: Outcome, piece: readonly FileRow[], sent: Sent): Outcome {
  if ('faults' in sent) return { ...outcome, faults: [...outcome.faults, ...sent.faults] }
  const before = outcome.before + (sent.wasThere ? sent.rows : 0)
  return { ...outcome, rows: outcome.rows + sent.rows, before, last: piece.at(-1)?.at ?? null }
}

/** Text of the faults, and how far it came; `dry`: the end of a dry run. */
export function faultsText(
  name: string,
  outcome: Outcome,
  isDry: boolean,
  dry = 'Nothing was created: it was a dry run.',
): string {
  const shown = outcome.faults.slice(0, FAULTS_SHOWN)
  const lines = shown.map(({ at, message }) => `${name}, ${at}: ${message}`)
  if (outcome.faults.length >= FAULTS_SHOWN) lines.push('There may be more faults; these are the first.')
  return [...lines, isDry ? dry : extentText(outcome)].join('\n')
}

/** `unknown`: the piece behind, where it is not known whether it was created. */
function extentText({ rows, last }: Outcome, unknown: readonly FileRow[] = []): string {
  const first = unknown[0]
  if (last === null && !first) return 'No row was imported.'
  const extent =
    last === null ? 'No row was imported' : `${counted(rows, 'row')} ${rows === 1 ? 'was' : 'were'} imported, up to ${last}`
  const behind = first ? `but those of ${first.at} to ${unknown.at(-1)?.at} may have been` : 'and none behind'
  return `${extent}, ${behind}.\n${AGAIN}`
}

const AGAIN =
  'To go on, leave these rows as they are and run it again, with the same key and options: within a day, none of them is created twice.'
