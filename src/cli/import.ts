import { Command, InvalidArgumentError, Option } from 'commander'
import { printable } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import { loadEntities } from '../registry.ts'
import type { FileRow } from './jsonText.ts'
import { counted, progress } from './progress.ts'
import { type FileFormat, FORMATS, formatOf, RowsFile } from './rowsFile.ts'
import { CommandError, print } from './run.ts'
import { OutcomeUnknown, type RowFault, type Sent, sendRows, type Target } from './sendRows.ts'

interface Options {
  readonly url: string
  readonly format?: FileFormat
  readonly piece: number
  readonly dryRun?: true
  readonly excel?: boolean
}

const PIECE_ROWS = 1_000
/** Maximum size of a request in bytes that a server takes. */
const PIECE_BYTES_MAX = 2 * 1024 * 1024
/** A file of nothing but faults shall not fill the screen. */
const FAULTS_SHOWN = 100

/**
 * `import employees people.csv`: creates the rows of a file on a server that runs. `readKey`: ROSTER_KEY; `readEntitiesDir`:
 * ENTITIES_DIR.
 */
export function importCommand(readKey: () => string | undefined, readEntitiesDir: () => string | null): Command {
  return new Command('import')
    .description('Create the rows of a CSV, NDJSON or JSON file, on a server that runs. The key is ROSTER_KEY.')
    .argument('<entity>', 'as in its address: employees')
    .argument('<file>', 'with a header of property names, as an export has it; - for stdin')
    .option('--url <address>', 'the address of the server', 'http://127.0.0.1:3000')
    .addOption(new Option('--format <format>', 'the form; by the file’s name without it').choices(FORMATS))
    .option('--piece <rows>', 'rows of one request, which are created all or none', parsePiece, PIECE_ROWS)
    .option(
      '--excel',
      'the CSV is one of export --excel: its date-times are in UTC, and its apostrophes before formulas are taken away',
    )
    .option('--no-excel', 'it is none: such apostrophes belong to its texts')
    .option('--dry-run', 'check all rows, and create none')
    .showHelpAfterError('(--help says more)')
    .addHelpText(
      'after',
      '\nA file that is imported again within a day continues: what was imported is not created twice.\n\nExample:\n  ROSTER_KEY=... npm run --silent roster -- import employees people.csv',
    )
    .action(async (name: string, file: string, options: Options) =>
      importRows(entityNamed(name, await loadEntities(readEntitiesDir())), file, options, readKey()?.trim()),
    )
}

async function importRows(entity: Entity, path: string, options: Options, key: string | undefined): Promise<void> {
  if (!key) throw new CommandError('ROSTER_KEY is not set: it is the key to write with')
  const file = new RowsFile(path, entity, options.format ?? formatOf(path), options.excel ?? null)
  // Read whole first, so that a file which is none creates nothing.
  if (file.isLasting()) for await (const _ of file.rows());
  const isDry = options.dryRun === true
  const address = `${options.url.replace(/\/+$/, '')}/${entity.plural}`
  const onWait = (seconds: number, reason: string) => say(`waits ${seconds} s: ${reason}`)
  const rows = file.rows((names) => {
    if (names.length > 0) say(`left out, since the server makes them: ${names.join(', ')}`)
  })
  const outcome = await sendAll({ address, plural: entity.plural, key, isDry, onWait }, piecesOf(rows, options.piece))
  if (outcome.faults.length > 0) throw new CommandError(faultsText(file.name, outcome, isDry))
  await print(`${doneText(outcome, entity, isDry)}\n`)
}

/** @throws CommandError that says what was probably meant */
function entityNamed(name: string, entities: readonly Entity[]): Entity {
  const entity = entities.find(({ plural }) => plural.toLowerCase() === name.toLowerCase())
  if (entity) return entity
  const known = entities.map(({ plural }) => plural.toLowerCase())
  throw new CommandError(`there is no entity "${name}".${suggest(name, known)}`)
}

/** Divides rows into pieces; the same rows always make the same pieces, so that a repeated import sends the same keys. */
async function* piecesOf(rows: AsyncIterable<FileRow>, most: number): AsyncGenerator<FileRow[]> {
  let piece: FileRow[] = []
  let sum = 0
  for await (const row of rows) {
    const bytes = Buffer.byteLength(row.json) + 1
    if (piece.length === most || (piece.length > 0 && sum + bytes > PIECE_BYTES_MAX)) {
      yield piece
      piece = []
      sum = 0
    }
    piece.push(row)
    sum += bytes
  }
  if (piece.length > 0) yield piece
}

interface Outcome {
  /** Created, or right. */
  readonly rows: number
  /** Created by an earlier run. */
  readonly before: number
  /** The place of the last of them; null: there is none. */
  readonly last: string | null
  readonly faults: readonly RowFault[]
}

/** Sends pieces until one is refused; in a dry run all of them. @throws CommandError that says how far it came */
async function sendAll(target: Target, pieces: AsyncIterable<FileRow[]>): Promise<Outcome> {
  let outcome: Outcome = { rows: 0, before: 0, last: null, faults: [] }
  let [isFirst, sent] = [true, [] as readonly FileRow[]]
  const shown = progress((rows) => counted(rows, 'row'))
  try {
    for await (const piece of pieces) {
      sent = piece
      outcome = after(outcome, piece, await sendRows(target, piece, isFirst))
      isFirst = false
      shown.add(piece.length)
      if (outcome.faults.length >= (target.isDry ? FAULTS_SHOWN : 1)) break
    }
  } catch (error) {
    if (!(error instanceof CommandError) || target.isDry) throw error
    throw new CommandError(`${error.message}\n${extentText(outcome, error instanceof OutcomeUnknown ? sent : [])}`)
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

function faultsText(name: string, outcome: Outcome, isDry: boolean): string {
  const shown = outcome.faults.slice(0, FAULTS_SHOWN)
  const lines = shown.map(({ at, message }) => `${name}, ${at}: ${message}`)
  if (outcome.faults.length >= FAULTS_SHOWN) lines.push('There may be more faults; these are the first.')
  return [...lines, isDry ? 'Nothing was created: it was a dry run.' : extentText(outcome)].join('\n')
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
  'To go on, leave these rows as they are and run it again, with the same key and --piece: within a day, none of them is created twice.'

function doneText({ rows, before }: Outcome, { plural }: Entity, isDry: boolean): string {
  if (isDry) return `${counted(rows, 'row')} of ${plural} ${rows === 1 ? 'is' : 'are'} right; nothing was created.`
  const earlier = before === 0 ? '' : `, ${before} of them by an earlier run over this file`
  return `${counted(rows, 'row')} of ${plural} ${rows === 1 ? 'was' : 'were'} created${earlier}.`
}

/** In the place of the line that says how far it is, on a terminal. */
function say(text: string) {
  process.stderr.write(`${process.stderr.isTTY ? '\r\x1b[K' : ''}roster: ${printable(text)}\n`)
}

function parsePiece(text: string): number {
  const rows = Number(text)
  if (!/^\d+$/.test(text) || rows < 1 || rows > PIECE_ROWS) throw new InvalidArgumentError('It is a number from 1 to 1000.')
  return rows
}
