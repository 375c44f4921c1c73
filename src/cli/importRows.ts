// Runs an import: checks the whole file first, then creates its rows, or changes those that the table has already.
import { realpathSync } from 'node:fs'
import type { Entity, Property } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import { faultText, groupFaults, type RowFault } from '../spreadsheets/faults.ts'
import { UniqueColumns } from '../spreadsheets/uniqueColumns.ts'
import { differenceLines, writeDifferences } from './differences.ts'
import { doublesText, findDoubles, type IsOwn } from './doubles.ts'
import { ImportJournal, ImportRuns, type ImportSummary, isRecent, KEPT_DAYS, listJournals, readJournal } from './importJournal.ts'
import { type Change, changeRow, MATCHED_ROWS_MAX, matchRows, type NearRow, parseRow } from './matchRows.ts'
import { counted, print, progress, say } from './output.ts'
import { type FileReading, type FileRow, RowsFile } from './rowsFile.ts'
import { CommandError } from './run.ts'
import { faultsText, sendAll, type Target } from './sendFile.ts'
import { RefusedRequest, storedTexts } from './storedRows.ts'

/** Checked options of an import. */
export interface ImportPlan extends FileReading {
  readonly isDry: boolean
  /** True for `--again`: creates rows even if the table may have them already. */
  readonly isAgain: boolean
  /** False for `--no-create`: `--match` only changes rows. */
  readonly creates: boolean
  /** CSV file for all changes that `--match` would make; null: no such file. */
  readonly output: string | null
  /** Maximum rows of one request. */
  readonly pieceRows: number
}

/** Server of an import, and the folder for its record. `journals`: null if the user has no folder for data. */
export interface ImportServer {
  readonly url: string
  readonly key: string
  readonly journals: string | null
}

/** Imports the rows of a file, or only checks them in a dry run. @throws CommandError */
export async function importRows(entity: Entity, path: string, plan: ImportPlan, server: ImportServer): Promise<void> {
  const file = new RowsFile(path, entity, plan)
  const isLasting = file.isLasting()
  if (isLasting) await file.findEncoding(say)
  await readLookups(file, plan, server, isLasting)
  const realPath = isLasting ? realpathSync(path) : null
  const earlier = earlierImports(server)
  const ofFile = { plural: entity.plural, path: realPath }
  const recent = plan.isAgain ? [] : earlier.filter((record) => isRecent(record, ofFile))
  // Ids belong to one server, so an import into another server does not continue this record.
  const continued = recent.find(({ url }) => url === server.url) ?? null
  const keyName = keyNameOf(plan, ofFile, earlier, continued)
  const target: Target = {
    address: `${server.url}/${entity.plural}`,
    entity,
    name: file.name,
    key: server.key,
    isDry: plan.isDry,
    // With --match, each run has different Idempotency-Keys. Further runs create no row twice, because they first look for
    // existing rows.
    file: plan.matched === null ? keyName : crypto.randomUUID(),
    journal: null,
  }
  const { matched } = plan
  const checked =
    isLasting && matched === null ? await checkFile(file, entity, plan, target, ownRows(entity, server, recent)) : []
  using journal = plan.isDry ? null : openJournal(server, { ...ofFile, keyName }, continued)
  const recorded = { ...target, journal }
  if (matched !== null) await importMatched(file, plan, matched, recorded)
  else await createRows(file, plan, recorded, checked)
  if (journal === null) return
  journal.end()
  const { id, path: record } = journal
  say(`to undo it within ${KEPT_DAYS} days: --undo ${isLasting ? path : id} (recorded in ${record}, which only you can read)`)
}

/**
 * Returns the text that stands for the file in Idempotency-Keys. Returns null for stdin and with `--again`: Idempotency-Keys are
 * then hashes of the rows. After an undo the file gets a new text: with the old text, the server would repeat its response to the
 * undone import. An import that continues keeps its text.
 */
function keyNameOf(
  plan: ImportPlan,
  file: Pick<ImportSummary, 'plural' | 'path'>,
  earlier: readonly ImportSummary[],
  continued: ImportSummary | null,
): string | null {
  if (file.path === null || plan.isAgain) return null
  if (continued?.keyName) return continued.keyName
  const undone = earlier.find(({ plural, path, left }) => plural === file.plural && path === file.path && left !== null)
  return undone === undefined ? file.path : `${file.path}\0${undone.id}`
}

/** Reads the rows that lookups need. @throws CommandError */
async function readLookups(
  file: RowsFile,
  { lookups }: ImportPlan,
  { url, key }: ImportServer,
  isLasting: boolean,
): Promise<void> {
  if (lookups.length === 0) return
  // This first reading of the file only collects the values to look up.
  if (isLasting) for await (const _ of file.rows());
  for (const lookup of lookups) await lookup.read({ address: `${url}/${lookup.target.plural}`, key }, isLasting)
}

/**
 * Returns a function that says whether an earlier run of this import created a row. Rows whose response was lost count too: with
 * the same Idempotency-Key, the server does not create them again.
 */
function ownRows(entity: Entity, { journals }: ImportServer, recent: readonly ImportSummary[]): IsOwn {
  if (recent.length === 0 || journals === null) return () => false
  const records = recent.map(({ id }) => readJournal(journals, id))
  const lines = records.flatMap(({ pending }) => [...pending.values()].flatMap(({ body }) => body.split('\n')))
  const sent = lines.map((line) => storedTexts(entity.properties, line))
  const values = memoize((property: Property) => new Set(sent.map((row) => row.get(property))))
  return (id, property, value) => records.some(({ created }) => created.has(id)) || values(property).has(value)
}

/**
 * Opens the record of an import. Returns null if no record can be written: the import then goes on without a record. @throws
 * ImportRuns
 */
function openJournal(
  { journals, url }: ImportServer,
  file: Pick<ImportSummary, 'plural' | 'path' | 'keyName'>,
  continued: ImportSummary | null,
): ImportJournal | null {
  try {
    if (journals === null) throw new CommandError('neither XDG_DATA_HOME nor HOME names a folder for its record')
    return ImportJournal.open(journals, { ...file, url, begun: new Date().toISOString() }, continued)
  } catch (error) {
    if (!(error instanceof CommandError) || error instanceof ImportRuns) throw error
    say(`this import cannot be undone: ${error.message}`)
    return null
  }
}

/**
 * Returns the imports that the user has records of. If the records cannot be read, returns none, and `openJournal` reports why.
 */
function earlierImports({ journals }: ImportServer): ImportSummary[] {
  try {
    return journals === null ? [] : listJournals(journals)
  } catch (error) {
    if (error instanceof CommandError) return []
    throw error
  }
}

/**
 * Checks the whole file before any row is sent. Throws if the file has a fault, or rows that the table has already, so that
 * nothing is created. A dry run returns the faults instead, and lets the server check the rows without faults. @throws
 * CommandError
 */
async function checkFile(
  file: RowsFile,
  entity: Entity,
  plan: ImportPlan,
  target: Target,
  isOwn: IsOwn,
): Promise<readonly RowFault[]> {
  const faults: RowFault[] = []
  const columns = new UniqueColumns(entity)
  for await (const row of file.rows()) {
    const parsed = parseRow(entity, row)
    if (parsed.texts === null) faults.push(...parsed.faults)
    else columns.add(row.at, parsed.texts)
  }
  if (faults.length > 0 && !plan.isDry) throw new CommandError(faultsText(file.name, faults, 'Nothing was created.'))
  if (plan.isAgain || faults.length > 0) return faults
  const doubles = await findDoubles(target, entity, columns.find(), isOwn).catch((error) => {
    if (!(error instanceof CommandError)) throw error
    const isHidden = error instanceof RefusedRequest && (error.status === 403 || error.status === 400)
    if (!isHidden) throw new CommandError(`${error.message}\nNo row was imported.`)
    say(`whether the table has these rows already is not known: ${error.message}`)
    return null
  })
  if (doubles) throw new CommandError(doublesText(entity, doubles))
  return faults
}

/** Creates all rows. `faults`: faults that a dry run has found in the file; rows with a fault are not sent. */
async function createRows(file: RowsFile, plan: ImportPlan, target: Target, faults: readonly RowFault[]): Promise<void> {
  const { entity } = target
  const faulty = new Set(faults.map(({ at }) => at))
  const rows = withoutRows(withoutFaults(file, file.rows(say), plan), faulty)
  const { rows: count, before } = await sendAll(target, rows, plan.pieceRows, faults)
  const of = `${counted(count, 'row')} of ${entity.plural}`
  if (plan.isDry) return print(`${of} ${count === 1 ? 'is' : 'are'} right; nothing was created.\n`)
  const earlier = before === 0 ? '' : `, ${before} of them by an earlier run over this file`
  await print(`${of} ${count === 1 ? 'was' : 'were'} created${earlier}.\n`)
}

/**
 * Yields the rows. A faulty row ends an import, but not a dry run. In an import, only a pipe can have a faulty row here: a file
 * was checked before, and a pipe cannot be read twice. @throws CommandError for a row with a faulty cell
 */
async function* withoutFaults(file: RowsFile, rows: AsyncIterable<FileRow>, plan: ImportPlan): AsyncGenerator<FileRow> {
  for await (const row of rows) {
    if (row.faults.length > 0 && !plan.isDry)
      throw new CommandError(
        groupFaults(row.faults)
          .map((group) => `${file.name}, ${faultText(group)}`)
          .join('\n'),
      )
    yield row
  }
}

async function* withoutRows(rows: AsyncIterable<FileRow>, excluded: ReadonlySet<string>): AsyncGenerator<FileRow> {
  for await (const row of rows) if (!excluded.has(row.at)) yield row
}

/**
 * Creates new rows, and changes stored rows that differ from the file. It can be run again: rows that an earlier run has written
 * are then equal to the rows of the file, and stay as they are.
 */
async function importMatched(file: RowsFile, plan: ImportPlan, matched: Property, target: Target): Promise<void> {
  const { entity } = target
  const all: FileRow[] = []
  for await (const row of file.rows(say)) {
    if (all.length === MATCHED_ROWS_MAX)
      throw new CommandError(`--match takes files of up to ${MATCHED_ROWS_MAX} rows; divide this one`)
    all.push(row)
  }
  const { created, changed, left, near, faults } = await matchRows(entity, matched, all, target)
  if (faults.length > 0) throw new CommandError(faultsText(file.name, faults, 'Nothing was written.'))
  const unmatched = plan.creates ? [] : created
  const toCreate = plan.creates ? created : []
  if (!target.isDry && near.length > 0 && plan.creates && !plan.isAgain)
    throw new CommandError([...nearLines(matched, near), NEAR_ADVICE].join('\n'))
  if (toCreate.length > 0) await sendAll(target, toCreate, plan.pieceRows)
  const counts = (verb: string) =>
    [
      `${counted(toCreate.length, 'row')} of ${entity.plural} ${verb} created, ${changed.length} changed, ${left} left as they are`,
      ...(plan.creates ? [] : [`, ${unmatched.length} not found`]),
    ].join('')
  const notFound = unmatchedLines(unmatched)
  if (target.isDry) {
    if (plan.output !== null) writeDifferences(plan.output, matched, changed)
    const lines = [...differenceLines(entity, changed, plan.output), ...nearLines(matched, near), ...notFound]
    return print([...lines, `${counts('would be')}; nothing was written.\n`].join('\n'))
  }
  await changeAll(file, changed, toCreate.length, target)
  await print([...notFound, `${counts(toCreate.length === 1 ? 'was' : 'were')}.\n`].join('\n'))
}

const ROWS_SHOWN = 10

/**
 * Returns lines about new rows that are nearly equal to stored rows: probably each new row is a duplicate with a typing error.
 */
function nearLines({ name }: Property, near: readonly NearRow[]): string[] {
  const lines = near
    .slice(0, ROWS_SHOWN)
    .map(
      ({ at, value, id, stored }) => `${at}: ${name} ${JSON.stringify(value)} is nearly ${JSON.stringify(stored)} of row ${id}`,
    )
  return near.length > ROWS_SHOWN ? [...lines, `and ${near.length - ROWS_SHOWN} more rows that nearly match`] : lines
}

const NEAR_ADVICE = `Nothing was written: these rows would be created beside the others. Write the values as they are in the table. To
create them all the same: --again. To change rows only: --no-create.`

function unmatchedLines(rows: readonly FileRow[]): string[] {
  if (rows.length === 0) return []
  const shown = rows.slice(0, ROWS_SHOWN).map(({ at }) => at)
  return [`not found: ${shown.join(', ')}${rows.length > ROWS_SHOWN ? ` and ${rows.length - ROWS_SHOWN} more` : ''}`]
}

/** Writes the changes one after the other. @throws CommandError that says how many changes were made */
async function changeAll(file: RowsFile, changed: readonly Change[], created: number, target: Target): Promise<void> {
  target.journal?.addChanges(
    changed.map(({ at, id, differences }) => ({
      at,
      id,
      values: differences.map(({ property, before, after }) => [property.name, before, after] as const),
    })),
  )
  using shown = progress((rows) => counted(rows, 'change'))
  for (const [done, change] of changed.entries()) {
    await changeRow(target.entity, change, target).catch((error) => {
      if (!(error instanceof CommandError)) throw error
      const extent = `${created} created, ${done} changed so far: mend it, and run it again.`
      throw new CommandError(`${file.name}, ${change.at}: ${error.message}\n${extent}`)
    })
    shown.add(1)
  }
}
