// `roster migrate`: applies migrations, or lists the pending ones; gives the server's role its rights.
import { resolve } from 'node:path'
import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { suggest } from '../model/nearest.ts'
import { grantRights, roleNames } from '../postgres/grants.ts'
import { migrate, migrationFolders, migrationNames, pendingMigrations } from '../postgres/migrate.ts'
import { hasEmbedded } from '../postgres/runner.ts'
import { loadEntities } from '../registry.ts'
import { openDatabase, orUnusable } from './openDatabase.ts'
import { print } from './output.ts'
import { CommandError } from './run.ts'

interface Options {
  readonly dryRun?: boolean
  /** Role that gets the rights of a server. */
  readonly grant?: string
}

/**
 * Returns the command. It applies the same migrations as the start of a server, but can be run with a role that has more rights.
 */
export function migrateCommand(readSettings: () => Config): Command {
  return new Command('migrate')
    .description('Apply the migrations that the database lacks, as the start of a server does.')
    .option('--dry-run', 'only say which these are')
    .option('--grant <role>', 'then give this role the rights on tables that a server needs')
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://owner@db/hr npm run --silent roster -- migrate --grant roster_app',
    )
    .action(async ({ dryRun = false, grant }: Options) => {
      if (dryRun && grant !== undefined) throw new CommandError('--dry-run grants nothing: leave out --grant, or --dry-run')
      await run(readSettings(), dryRun, grant)
    })
}

async function run(config: Config, isDry: boolean, role: string | undefined): Promise<void> {
  const verb = isDry ? 'to apply' : 'applied'
  const work = isDry ? pendingMigrations : migrate
  const textOf = (files: readonly string[]) => files.map((file) => `${verb}: ${file}\n`).join('')
  // Opening an embedded database would create it, and a dry run creates nothing.
  if (isDry && config.databaseUrl === null && !hasEmbedded(config.dataDir)) {
    console.error(`roster: there is no database yet in ${resolve(config.dataDir)}: the first start makes it`)
    return print(textOf(migrationNames(config)))
  }
  await using database = await openDatabase(config).catch(orUnusable)
  let count = 0
  // Each folder is applied in one transaction: if the second folder fails, the first one stays applied.
  for (const folder of migrationFolders(config)) {
    const files = await work(database.url, folder).catch(orUnusable)
    count += files.length
    await print(textOf(files))
  }
  if (count === 0) await print('All migrations are applied.\n')
  if (role === undefined) return
  const roles = await roleNames(database.url)
  if (!roles.includes(role)) throw new CommandError(`there is no role ${role} to grant to.${suggest(role, roles)}`)
  const entities = await loadEntities(config.entitiesDir)
  const granted = await grantRights(database.url, entities, role).catch(orUnusable)
  await print(granted.map((statement) => `${statement}\n`).join(''))
}
