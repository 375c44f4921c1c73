// `roster import`: creates the rows of a file on a running server, or changes existing rows. rowsFile.ts reads the file.
import { realpathSync } from 'node:fs'
import { Command, Option } from 'commander'
import type { Config } from '../config/config.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import { findMember } from '../parse/names.ts'
import { suggestOrList } from '../parse/nearestProperty.ts'
import { loadEntities } from '../registry.ts'
import { type Change, changeRow, MATCHED_ROWS_MAX, matchRows } from './matchRows.ts'
import { counted, print, progress, say } from './output.ts'
import { serverUrl, URL_MEANING } from './request.ts'
import { type FileRow, formatOf, RowsFile } from './rowsFile.ts'
import { CommandError, parserOfNumber } from './run.ts'
import { faultsText, sendAll, type Target } from './sendFile.ts'

interface Options {
  readonly url?: string
  readonly format?: 'csv' | 'ndjson'
  readonly piece: number
  readonly dryRun?: true
  readonly match?: string
  readonly again?: true
  readonly excel?: boolean
}

const PIECE_ROWS = 1_000

/** Returns the command. `key`: ROSTER_KEY; `entitiesDir`: ENTITIES_DIR; `readSettings`: for the default of `--url`. */
export function importCommand(key: string | undefined, entitiesDir: string | null, readSettings: () => Config): Command {
  return new Command('import')
    .description('Create the rows of a CSV or NDJSON file, on a server that runs. The key is ROSTER_KEY.')
    .argument('<entity>', 'as in its address: employees')
    .argument('<file>', 'with a header of property names, as an export has it; - for stdin')
    .option('--url <address>', URL_MEANING)
    .addOption(new Option('--format <format>', 'the form; by the file’s name without it').choices(['csv', 'ndjson']))
    .option('--piece <rows>', 'rows of one request, which are created all or none', parserOfNumber(1, PIECE_ROWS), PIECE_ROWS)
    .option(
      '--excel',
      'the CSV is one of export --excel: its date-times are in UTC, and its apostrophes before formulas are taken away',
    )
    .option('--no-excel', 'it is none: such apostrophes belong to its texts')
    .option('--match <property>', 'change the rows that have the same value of this property, and create the others')
    .option('--again', 'create all rows, although this file was imported before in another version')
    .option('--dry-run', 'check the rows to create, and write none; with --match, show and count what would change')
    .addHelpText(
      'after',
      '\nA file that is imported again within a day, under the same path, continues: what was imported is not created twice.\n\nExample:\n  ROSTER_KEY=... npm run --silent roster -- import employees people.csv',
    )
    .action(async (name: string, path: string, options: Options) => {
      const entity = entityNamed(name, await loadEntities(entitiesDir))
      await importRows(entity, path, { ...options, url: serverUrl(options.url, readSettings) }, key?.trim())
    })
}

async function importRows(entity: Entity, path: string, options: Options & { readonly url: string }, key: string | undefined) {
  if (!key) throw new CommandError('ROSTER_KEY is not set: it is the key to write with')
  const matched = options.match === undefined ? null : matchedBy(entity, options.match)
  const file = new RowsFile(path, entity, options.format ?? formatOf(path), { isExcel: options.excel ?? null, matched })
  const isLasting = file.isLasting()
  // Reads the whole file first, so that a file with a fault creates no rows.
  if (isLasting) for await (const _ of file.rows());
  const isDry = options.dryRun === true
  const target: Target = {
    address: `${options.url}/${entity.plural}`,
    plural: entity.plural,
    name: file.name,
    key,
    isDry,
    // With --match, each run looks for existing rows first, so the rows it creates are new ones.
    file: matched !== null ? crypto.randomUUID() : isLasting && !options.again ? realpathSync(path) : null,
  }
  if (matched !== null) return importMatched(entity, matched, file, target, options.piece)
  const { rows: count, before } = await sendAll(target, file.rows(say), options.piece)
  const of = `${counted(count, 'row')} of ${entity.plural}`
  if (isDry) return print(`${of} ${count === 1 ? 'is' : 'are'} right; nothing was created.\n`)
  const earlier = before === 0 ? '' : `, ${before} of them by an earlier run over this file`
  await print(`${of} ${count === 1 ? 'was' : 'were'} created${earlier}.\n`)
}

/** Returns the property of `--match`. @throws CommandError if rows cannot be found by it */
function matchedBy(entity: Entity, name: string): Property {
  const member = findMember(entity, name)
  const isUsable = (property: Property) =>
    property === entity.id || (property.writable && ['text', 'oneOf', 'integer'].includes(property.kind.name))
  if (member && !isGroup(member) && isUsable(member)) return member
  const hint = suggestOrList(name, entity.properties.filter(isUsable))
  throw new CommandError(`--match names no property by which rows of ${entity.plural} can be found: "${name}".${hint}`)
}

/** Creates new rows and changes those that differ. It can be run again: rows that were written before match, and stay. */
async function importMatched(entity: Entity, matched: Property, file: RowsFile, target: Target, most: number) {
  const all: FileRow[] = []
  for await (const row of file.rows(say)) {
    if (all.length === MATCHED_ROWS_MAX)
      throw new CommandError(`--match takes files of up to ${MATCHED_ROWS_MAX} rows; divide this one`)
    all.push(row)
  }
  const { created, changed, left, faults } = await matchRows(entity, matched, all, target)
  if (faults.length > 0) throw new CommandError(faultsText(file.name, faults, 'Nothing was written.'))
  if (created.length > 0) await sendAll(target, created, most)
  const counts = (verb: string) =>
    `${counted(created.length, 'row')} of ${entity.plural} ${verb} created, ${changed.length} changed, ${left} left as they are`
  if (target.isDry) {
    return print([...differenceLines(entity, changed), `${counts('would be')}; nothing was written.\n`].join('\n'))
  }
  {
    using shown = progress((rows) => counted(rows, 'change'))
    for (const [done, change] of changed.entries()) {
      await changeRow(entity, change, target).catch((error) => {
        if (!(error instanceof CommandError)) throw error
        const extent = `${created.length} created, ${done} changed so far: mend it, and run it again.`
        throw new CommandError(`${file.name}, ${change.at}: ${error.message}\n${extent}`)
      })
      shown.add(1)
    }
  }
  await print(`${counts(created.length === 1 ? 'was' : 'were')}.\n`)
}

const DIFFERENCES_SHOWN = 10

/** Returns the first differences, such as `line 7: lastName "A" -> "B"`, and their number by property. */
function differenceLines({ properties }: Entity, changed: readonly Change[]): string[] {
  const shown = (text: string | null) => (text === null ? 'nothing' : JSON.stringify(text))
  const lines: string[] = []
  const rows = new Map<Property, number>()
  let count = 0
  for (const { at, differences } of changed)
    for (const { property, before, after } of differences) {
      if (count++ < DIFFERENCES_SHOWN) lines.push(`${at}: ${property.path.join('.')} ${shown(before)} -> ${shown(after)}`)
      rows.set(property, (rows.get(property) ?? 0) + 1)
    }
  if (count === 0) return []
  const extent = count > DIFFERENCES_SHOWN ? `, of which the first ${DIFFERENCES_SHOWN} are shown` : ''
  const byProperty = properties.flatMap((property) => {
    const of = rows.get(property)
    return of === undefined ? [] : `${property.path.join('.')} in ${counted(of, 'row')}`
  })
  return [...lines, `${counted(count, 'difference')}${extent}: ${byProperty.join(', ')}`]
}

/** Returns the entity of a plural name in any case. @throws CommandError that says what was probably meant */
function entityNamed(name: string, entities: readonly Entity[]): Entity {
  const entity = entities.find(({ plural }) => plural.toLowerCase() === name.toLowerCase())
  if (entity) return entity
  const known = entities.map(({ plural }) => plural.toLowerCase())
  throw new CommandError(`there is no entity "${name}".${suggest(name, known)}`)
}
