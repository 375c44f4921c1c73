// `roster import`: the command and its options. importRows.ts runs an import, undoImport.ts undoes one.
import { existsSync, realpathSync } from 'node:fs'
import { Command, Option } from 'commander'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import { findMember } from '../parse/names.ts'
import { suggestOrList } from '../parse/nearestProperty.ts'
import { loadEntities } from '../registry.ts'
import { parseMapping } from '../spreadsheets/columns.ts'
import { decoderOf } from '../spreadsheets/encoding.ts'
import { notationOf } from '../spreadsheets/notation.ts'
import { ImportJournal, type ImportSummary, KEPT_DAYS, listJournals } from './importJournal.ts'
import { type ImportPlan, importRows } from './importRows.ts'
import { parseLookup } from './lookups.ts'
import { counted, formatTable, print, say } from './output.ts'
import { serverUrl, URL_MEANING } from './request.ts'
import { type FileFormat, formatOf } from './rowsFile.ts'
import { CommandError, collect, parserOf, parserOfNumber } from './run.ts'
import { undoImport } from './undoImport.ts'

interface Options {
  readonly url?: string
  readonly format?: FileFormat
  readonly locale?: string
  readonly encoding?: string
  readonly sheet?: string
  readonly header?: number
  readonly last?: number
  readonly empty?: readonly string[]
  readonly column?: readonly string[]
  readonly lookup?: readonly string[]
  readonly piece: number
  readonly dryRun?: true
  readonly output?: string
  readonly match?: string
  readonly create: boolean
  readonly again?: true
  readonly excel?: boolean
  readonly undo?: string | true
}

/** Settings of the command. `journals`: folder of the records that --undo needs; null if the user has no folder for data. */
export interface ImportSettings {
  readonly key: string | undefined
  readonly entitiesDir: string | null
  readonly journals: string | null
}

const PIECE_ROWS = 1_000
/** Highest line number that `--header` accepts. */
const LINES_MAX = 1_000
/** Highest line number that `--last` accepts. */
const LAST_MAX = 1_000_000_000

/** Returns the command. `readSettings`: reads the settings, for the default of `--url`. */
export function importCommand(settings: ImportSettings, readSettings: () => Config): Command {
  const command = new Command('import')
    .description('Create the rows of a CSV, .xlsx or NDJSON file, on a server that runs. The key is ROSTER_KEY.')
    .argument('[entity]', 'as in its address: employees')
    .argument('[file]', 'with a header of property names, as an export has it; - for stdin')
    .option('--url <address>', URL_MEANING)
    .addOption(new Option('--format <format>', 'the form; by the file’s name without it').choices(['csv', 'ndjson', 'xlsx']))
  addReadingOptions(command)
  addWritingOptions(command)
  return command.action(async (name: string | undefined, path: string | undefined, options: Options) => {
    // No key is needed, because the list only has imports that this user has recorded.
    if (options.undo === true) return print(listText(settings.journals === null ? [] : listJournals(settings.journals)))
    const key = settings.key?.trim()
    if (!key) throw new CommandError('ROSTER_KEY is not set: it is the key to write with')
    if (options.undo !== undefined) return undo(options, { ...settings, key }, readSettings)
    if (name === undefined) return command.error("error: missing required argument 'entity'")
    if (path === undefined) return command.error("error: missing required argument 'file'")
    const entity = entityNamed(name, await loadEntities(settings.entitiesDir))
    const url = serverUrl(options.url, readSettings)
    await importRows(entity, path, planOf(entity, path, options), { url, key, journals: settings.journals })
  })
}

function addReadingOptions(command: Command): void {
  command
    .option('--locale <language>', 'how the file writes days, numbers and booleans: de for 01.09.2026, 1.234,5 and WAHR or Ja')
    .option(
      '--encoding <name>',
      'as windows-1252; found by itself without it, if the file is UTF-8, UTF-16 or windows-1252',
      encoding,
    )
    .option('--sheet <name>', 'the sheet of an .xlsx that has several with rows')
    .option(
      '--header <line>',
      'the line or row with the names of the columns; found by itself without it, below titles too',
      parserOfNumber(1, LINES_MAX),
    )
    .option('--last <line>', 'the last line or row to read, if totals or notes are below it', parserOfNumber(1, LAST_MAX))
    .option('--empty <text>', 'a cell that stands for no value: N/A', collect)
    .option(
      '--column <header=property>',
      'what a column is, by its name or number: Personalnummer=EmployeeNumber; nothing after = leaves it out, *= all others',
      collect,
    )
    .option('--lookup <reference=property>', 'find the other row by this property of it: Company=Name', collect)
    .option(
      '--excel',
      'the CSV is one of export --excel: its date-times are in UTC, and its apostrophes before formulas are taken away',
    )
    .option('--no-excel', 'it is none: such apostrophes belong to its texts')
}

function addWritingOptions(command: Command): void {
  command
    .option('--piece <rows>', 'rows of one request, which are created all or none', parserOfNumber(1, PIECE_ROWS), PIECE_ROWS)
    .option('--match <property>', 'change the rows that have the same value of this property, and create the others')
    .option('--no-create', 'with --match: change rows, and create none')
    .option('--again', 'create all rows, although the table may have them, or this file was imported in another version')
    .option('--dry-run', 'check the rows to create, and write none; with --match, show and count what would change')
    .option('--output <file>', 'with --match and --dry-run: a CSV of all that would change')
    .option('--undo [file or id]', 'undo the last import of a file, or that of an id; without either, list what can be undone')
    .addHelpText(
      'after',
      '\nA file that is imported again within a day, under the same path, continues: what was imported is not created twice.\n\nExample:\n  ROSTER_KEY=... npm run --silent roster -- import employees people.csv',
    )
}

const encoding = parserOf((label: string) => decoderOf(label).encoding as string)

/** Returns the plan of an import from its options. @throws CommandError for options that cannot be combined */
function planOf(entity: Entity, path: string, options: Options): ImportPlan {
  const format = options.format ?? formatOf(path)
  const matched = options.match === undefined ? null : matchedBy(entity, options.match)
  requireFormat(format, options)
  if (matched === null && !options.create) throw new CommandError('--no-create is for --match: without it, all rows are created')
  if (options.output !== undefined && (matched === null || !options.dryRun))
    throw new CommandError('--output is for --match with --dry-run: it gets all that would change')
  return {
    format,
    matched,
    encoding: options.encoding ?? null,
    sheet: options.sheet ?? null,
    headerLine: options.header ?? null,
    lastLine: options.last ?? null,
    empty: new Set(options.empty?.map((text) => text.trim())),
    notation: options.locale === undefined ? null : notation(options.locale),
    mapping: mapping(options.column ?? []),
    lookups: (options.lookup ?? []).map((text) => parseLookup(entity, text)),
    isExcel: options.excel ?? null,
    isDry: options.dryRun === true,
    isAgain: options.again === true,
    creates: options.create,
    output: options.output ?? null,
    pieceRows: options.piece,
  }
}

/** Refuses options that have no effect on a format. @throws CommandError */
function requireFormat(format: FileFormat, options: Options): void {
  const { sheet, encoding } = options
  if (format !== 'xlsx' && sheet !== undefined) throw new CommandError('--sheet is for .xlsx: other files have no sheets')
  if (format === 'xlsx' && encoding !== undefined)
    throw new CommandError('--encoding is for CSV and NDJSON: an .xlsx names its own')
  if (format !== 'ndjson') return
  const given = (['locale', 'column', 'lookup', 'header', 'last', 'empty'] as const).find((name) => options[name] !== undefined)
  if (given) throw new CommandError(`--${given} is for CSV and .xlsx: NDJSON has names and values as the API does`)
}

function notation(language: string) {
  const found = notationOf(language)
  if (found) return found
  throw new CommandError(`--locale is a language with decimal points or commas, such as de, fr-CH or en, not "${language}"`)
}

function mapping(texts: readonly string[]) {
  try {
    return parseMapping(texts)
  } catch (error) {
    throw new CommandError(`--column: ${errorOf(error).message}`)
  }
}

/** Returns the property of `--match`. @throws CommandError if rows cannot be found by this property */
function matchedBy(entity: Entity, name: string): Property {
  const member = findMember(entity, name)
  const isUsable = (property: Property) => property === entity.id || (property.writable && property.kind.namesRows)
  if (member && !isGroup(member) && isUsable(member)) return member
  const hint = suggestOrList(name, entity.properties.filter(isUsable))
  throw new CommandError(`--match names no property by which rows of ${entity.plural} can be found: "${name}".${hint}`)
}

/** Returns the entity with this plural name, ignoring case. @throws CommandError that says what was probably meant */
function entityNamed(name: string, entities: readonly Entity[]): Entity {
  const entity = entities.find(({ plural }) => plural.toLowerCase() === name.toLowerCase())
  if (entity) return entity
  const known = entities.map(({ plural }) => plural.toLowerCase())
  throw new CommandError(`there is no entity "${name}".${suggest(name, known)}`)
}

type UndoSettings = ImportSettings & { readonly key: string }

async function undo(options: Options, { key, entitiesDir, journals }: UndoSettings, readSettings: () => Config): Promise<void> {
  const imports = journals === null ? [] : listJournals(journals)
  const given = options.url === undefined ? null : serverUrl(options.url, readSettings)
  const chosen = chosenImport(imports, options.undo as string, given)
  const entity = entityNamed(chosen.plural, await loadEntities(entitiesDir))
  const url = given ?? chosen.url
  using journal = ImportJournal.open(journals as string, chosen, chosen)
  say(`undoes the import of ${chosen.path ?? 'stdin'} into ${chosen.plural} of ${timeText(chosen)}, on ${url}`)
  const { deleted, restored, before, left } = await undoImport({ address: `${url}/${entity.plural}`, key }, entity, journal)
  const earlier = before === 0 ? '' : `, ${before} ${before === 1 ? 'was' : 'were'} as before already`
  const counts = `${counted(deleted, 'row')} of ${entity.plural} ${deleted === 1 ? 'was' : 'were'} deleted, ${restored} changed back${earlier}`
  const rest = left.length === 0 ? '' : `; ${left.length} left as ${left.length === 1 ? 'it is' : 'they are'}`
  await print([...left, `${counts}${rest}.\n`].join('\n'))
}

/**
 * Returns the import with the id `word`, or else the latest import of the file `word` that can still be undone. `url`: the server
 * of `--url`, so that imports of the file into other servers do not count; null: imports into all servers count.
 * @throws CommandError
 */
function chosenImport(imports: readonly ImportSummary[], word: string, url: string | null): ImportSummary {
  const byId = imports.find(({ id }) => id === word)
  if (byId) return byId
  const path = existsSync(word) ? realpathSync(word) : word
  const ofFile = imports.filter((one) => one.path === path)
  const onServer = ofFile.filter((one) => url === null || one.url === url)
  const open = onServer.find(({ left }) => left === null) ?? onServer.find(({ left }) => left !== 0)
  if (open) return open
  const [other] = onServer.length === 0 ? ofFile : []
  if (other)
    throw new CommandError(
      `${word} was imported on ${other.url}. If ${url} is the same server, name the import by its id: --undo ${other.id}`,
    )
  const reason = ofFile.length > 0 ? 'was undone already' : `was not imported by you on this machine within ${KEPT_DAYS} days`
  throw new CommandError(`${word} ${reason}. --undo without a file lists what can be undone.`)
}

function listText(imports: readonly ImportSummary[]): string {
  const open = imports.filter(({ left }) => left !== 0)
  if (open.length === 0) return `There is no import of the last ${KEPT_DAYS} days that can be undone.\n`
  const rows = open.map((one) => [one.id, timeText(one), one.plural, one.path ?? 'stdin', one.url])
  return formatTable([['id', 'time', 'into', 'file', 'server'], ...rows])
}

function timeText({ begun }: ImportSummary): string {
  return `${begun.slice(0, 16).replace('T', ' ')} UTC`
}
