// `roster migrate`: applies migrations, or lists the pending ones.
import { resolve } from 'node:path'
import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { migrate, migrationFolders, migrationNames, pendingMigrations } from '../postgres/migrate.ts'
import { hasEmbedded } from '../postgres/runner.ts'
import { openDatabase, orUnusable } from './openDatabase.ts'
import { print } from './output.ts'

/** Returns the command. It applies the migrations that a server's start would, by a role with more rights. */
export function migrateCommand(readSettings: () => Config): Command {
  return new Command('migrate')
    .description('Apply the migrations that the database lacks, as the start of a server does.')
    .option('--dry-run', 'only say which these are')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://owner@db/hr npm run --silent roster -- migrate --dry-run')
    .action(({ dryRun = false }: { dryRun?: boolean }) => run(readSettings(), dryRun))
}

async function run(config: Config, isDry: boolean): Promise<void> {
  const verb = isDry ? 'to apply' : 'applied'
  const work = isDry ? pendingMigrations : migrate
  const textOf = (files: readonly string[]) => files.map((file) => `${verb}: ${file}\n`).join('')
  // Looking into an embedded database would create it.
  if (isDry && config.databaseUrl === null && !hasEmbedded(config.dataDir)) {
    console.error(`roster: there is no database yet in ${resolve(config.dataDir)}: the first start makes it`)
    return print(textOf(migrationNames(config)))
  }
  await using database = await openDatabase(config).catch(orUnusable)
  let count = 0
  // Each folder is a transaction: if the second one fails, the first one stays applied.
  for (const folder of migrationFolders(config)) {
    const files = await work(database.url, folder).catch(orUnusable)
    count += files.length
    await print(textOf(files))
  }
  if (count === 0) await print('All migrations are applied.\n')
}
