// `roster generate`: writes the typed client, and the migration that the tables of a database need.
import { readdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Command } from 'commander'
import { clientFile } from '../client/clientFile.ts'
import type { Config } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import { declaredTables, requireOwnNames } from '../postgres/declaredTable.ts'
import { applyPending, MIGRATIONS, migrationFolders } from '../postgres/migrate.ts'
import { nextMigration } from '../postgres/schemaDiff.ts'
import { loadEntities } from '../registry.ts'
import { loadRoles } from '../roles/load.ts'
import { openDatabase, orUnusable } from './openDatabase.ts'
import { print } from './output.ts'
import { CommandError } from './run.ts'

/** Settings that `generate client` needs. The command works even if another setting is wrong. */
type ClientSettings = Pick<Config, 'entitiesDir' | 'rolesFile'>

export function generateCommand(readSettings: () => Config, settings: ClientSettings): Command {
  const generate = new Command('generate').description('Print files that follow from the entities.')
  generate
    .command('client')
    .description('Print a typed client: one TypeScript file without imports, for Bun, Node and browsers.')
    .addHelpText('after', '\nExample:\n  npm run --silent roster generate client > roster.ts')
    .action(() => printClient(settings))
  generate
    .command('migration')
    .description('Write the SQL file that makes the tables of the database as the entities declare them. Drops nothing.')
    .argument('[name]', 'what the file is about, instead of the names of its tables')
    .addHelpText('after', '\nExample:\n  npm run --silent roster generate migration')
    .action((name?: string) => writeMigration(readSettings(), name))
  return generate
}

/** Prints the client of the entities, and of the named views of the roles file. @throws Refused if the roles file has faults */
async function printClient(settings: ClientSettings): Promise<void> {
  const entities = await loadEntities(settings.entitiesDir)
  await print(clientFile(entities, loadRoles(settings, entities)?.views))
}

/** Maximum number of tables in a file name. */
const TABLES_MAX = 3
/**
 * First number of a project's migrations. It is higher than the numbers of Roster's own migrations, so that no two migrations
 * have the same name.
 */
export const OWN_FROM = 1_001
const NAME = /^\w{1,60}$/

/**
 * Writes a migration that adds what the entities declare and the tables lack. Pending migrations count as applied. The database
 * is not changed. @throws CommandError
 */
async function writeMigration(config: Config, name?: string): Promise<void> {
  if (config.entitiesDir !== null && config.migrationsDir === null)
    throw new CommandError('set MIGRATIONS_DIR to a folder for the migrations of ENTITIES_DIR')
  const folder = config.migrationsDir ?? MIGRATIONS
  if (name !== undefined && !NAME.test(name))
    throw new CommandError(`${name} cannot be the name of a migration: letters, digits and _ can`)
  const { text, tables, remarks } = await compare(config)
  for (const remark of remarks) console.error(`roster: ${remark}`)
  const reason = remarks.length === 0 ? 'the tables are as the entities declare them' : 'nothing is to be added'
  if (text === '') return console.error(`roster: ${reason}`)
  const topic = name ?? (tables.length > TABLES_MAX ? `${tables.length}_tables` : tables.join('_and_'))
  const file = join(folder, `${nextNumber(folder)}_${topic}.sql`)
  writeFileSync(file, text, { flag: 'wx' })
  console.error(`roster: wrote ${relative('.', file)}, which the next start applies; read it before`)
}

async function compare(config: Config) {
  const entities = await loadEntities(config.entitiesDir)
  // Entities of a project cannot use the tables of Roster's own entities, because Roster's migrations create and change these
  // tables.
  const rosters = await loadEntities()
  const others = rosters.map(({ table }) => table)
  const own = entities.find(({ table }) => config.entitiesDir !== null && others.includes(table))
  if (own)
    throw new CommandError(
      `${own.name} needs another name: Roster's own migrations make the table ${own.table}, and later ones may change it`,
    )
  await using database = await openDatabase(config).catch(orUnusable)
  return await withConnection(database.url, async (sql) => {
    // The transaction is rolled back when the connection ends.
    await sql`begin`
    requireOwnNames(declaredTables(config.entitiesDir === null ? entities : [...rosters, ...entities], (name) => name))
    for (const folder of migrationFolders(config)) await applyPending(sql, folder)
    return nextMigration(sql, entities, config.entitiesDir === null ? [] : others)
  }).catch((error) => orUnusable(error, 'the tables cannot be compared'))
}

/** Returns the number of the next migration in four digits: one more than the highest number in the folder. */
function nextNumber(folder: string): string {
  const numbers = readdirSync(folder).map((file) => Number(/^(\d{4})_/.exec(file)?.[1] ?? 0))
  const before = folder === MIGRATIONS ? 0 : OWN_FROM - 1
  return String(Math.max(before, ...numbers) + 1).padStart(4, '0')
}
