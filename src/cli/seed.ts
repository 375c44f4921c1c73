// `roster seed`: fills empty tables with generated rows. The folder seed/ generates them.
import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import type { Entity } from '../model/entity.ts'
import { migrationFolders, pendingMigrations } from '../postgres/migrate.ts'
import { loadEntities } from '../registry.ts'
import { type Share, seed, sharesOf, withRows } from '../seed/seed.ts'
import { openDatabase, orFailed, orUnusable, requireTable } from './openDatabase.ts'
import { counted, print, progress } from './output.ts'
import { CommandError, parserOfNumber } from './run.ts'

interface Options {
  readonly rows: number
  readonly seed: number
  readonly add?: true
}

const ROWS = 10_000
const ROWS_MAX = 10_000_000
const SEED_MAX = 2 ** 31 - 1

export function seedCommand(readSettings: () => Config): Command {
  return new Command('seed')
    .description('Fill the database of the settings with made rows of all entities, to try and to measure with.')
    .option('--rows <number>', 'how many, of all entities together: 1 to 10000000', parserOfNumber(1, ROWS_MAX), ROWS)
    .option('--seed <number>', 'the same number makes the same rows in an empty database', parserOfNumber(0, SEED_MAX), 1)
    .option('--add', 'also where there are rows already, beside them')
    .addHelpText('after', '\nExample:\n  npm run --silent roster -- seed --rows 1000000 --seed 42')
    .action((options: Options) => run(readSettings(), options))
}

async function run(config: Config, options: Options): Promise<void> {
  const entities = await loadEntities(config.entitiesDir)
  await using database = await openDatabase(config).catch(orUnusable)
  await requireTables(database.url, config).catch(orUnusable)
  const seeded = await fill(database.url, entities, options)
  await print(textOf(seeded, options))
}

/** Creates the tables of an empty database. @throws Error with the names of migrations that a database with tables lacks */
async function requireTables(url: string, config: Config) {
  await requireTable(url, 'api_key_version', config, true)
  const pending = await Promise.all(migrationFolders(config).map((folder) => pendingMigrations(url, folder)))
  const names = pending.flat().join(', ')
  if (names !== '') throw new Error(`${names} not applied: start a server, or run roster migrate, first`)
}

async function fill(url: string, entities: readonly Entity[], options: Options): Promise<Share[]> {
  return await withConnection(url, async (sql) => {
    const filled = options.add ? [] : await withRows(sql, entities)
    if (filled.length > 0) throw new CommandError(`there are rows already, of ${filled.join(', ')}: --add makes more beside them`)
    const wanted = counted(sumOf(sharesOf(entities, options.rows)), 'row')
    using shown = progress((rows) => `${rows} of ${wanted}`)
    // Triggers do not record changes of a session that has Roster's application name and no API key.
    await sql`set application_name = 'roster seed'`
    return await seed(sql, entities, { ...options, onRows: (count) => shown.add(count) })
  }).catch((error) => orFailed(error, 'the rows cannot be made', '\nWhat was made before stays.'))
}

function textOf(seeded: readonly Share[], options: Options): string {
  const parts = seeded.map(({ entity, rows }) => `${rows} of ${entity.plural}`)
  const fewer = sumOf(seeded) < options.rows ? ' There are no more values where they must be unique.' : ''
  return `Made ${counted(sumOf(seeded), 'row')} by seed ${options.seed}: ${parts.join(', ')}.${fewer}\n`
}

function sumOf(seeded: readonly Share[]): number {
  return seeded.reduce((sum, { rows }) => sum + rows, 0)
}
