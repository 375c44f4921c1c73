import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { migrate, migrationFolders } from '../postgres/migrate.ts'
import { pendingMigrations } from '../postgres/pendingMigrations.ts'
import { openDatabase, orUnusable } from './openStores.ts'
import { print } from './run.ts'

interface Options {
  readonly dryRun?: true
  readonly json?: true
}

/** `migrate`: what a server's start applies, as a step of its own, by a role that may. */
export function migrateCommand(readSettings: () => Config): Command {
  return new Command('migrate')
    .description('Apply the migrations that the database lacks, as the start of a server does.')
    .option('--dry-run', 'only say which these are')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://owner@db/hr npm run --silent roster -- migrate --dry-run',
    )
    .action((options: Options) => run(readSettings(), options))
}

async function run(config: Config, { dryRun, json }: Options): Promise<void> {
  const database = await openDatabase(config).catch(orUnusable)
  try {
    const work = dryRun ? pendingMigrations : migrate
    const files: string[] = []
    for (const folder of migrationFolders(config)) files.push(...(await work(database.url, folder).catch(orUnusable)))
    if (json) return await print(`${JSON.stringify({ [dryRun ? 'pending' : 'applied']: files }, null, 2)}\n`)
    const verb = dryRun ? 'to apply' : 'applied'
    await print(
      files.length === 0 ? 'All migrations are applied.\n' : files.map((file) => `${verb}: ${file}\n`).join(''),
    )
  } finally {
    await database.close()
  }
}
