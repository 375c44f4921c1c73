import { resolve } from 'node:path'
import { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { migrate, migrationFolders, migrationNames, pendingMigrations } from '../postgres/migrate.ts'
import { hasEmbedded } from '../postgres/runner.ts'
import { openDatabase, orUnusable } from './openStores.ts'
import { CommandError, print } from './run.ts'

interface Options {
  readonly dryRun?: true
  readonly json?: true
}

/** The migrations that were applied, or are pending, and the one that failed. */
interface Outcome {
  readonly files: readonly string[]
  readonly fault: CommandError | null
}

/** `migrate`: what a server's start applies, as a step of its own, by a role that may. */
export function migrateCommand(readSettings: () => Config): Command {
  return new Command('migrate')
    .description('Apply the migrations that the database lacks, as the start of a server does.')
    .option('--dry-run', 'only say which these are')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://owner@db/hr npm run --silent roster -- migrate --dry-run')
    .action((options: Options) => run(readSettings(), options))
}

async function run(config: Config, options: Options): Promise<void> {
  // To look at an embedded one would make it.
  const isNew = options.dryRun && config.databaseUrl === null && !hasEmbedded(config.dataDir)
  if (isNew) console.error(`roster: there is no database yet in ${resolve(config.dataDir)}: the first start makes it`)
  const { files, fault } = isNew ? allOf(config) : await workThrough(config, options)
  await print(options.json ? jsonOf(files, fault, options) : textOf(files, fault, options))
  if (fault) throw fault
}

/** Outcome for a database that does not exist: all migrations are pending. */
function allOf(config: Config): Outcome {
  try {
    return { files: migrationNames(config), fault: null }
  } catch (error) {
    return orUnusable(error as Error)
  }
}

/** Each folder is a transaction: where the second fails, the first is done. */
async function workThrough(config: Config, { dryRun }: Options): Promise<Outcome> {
  const database = await openDatabase(config).catch(orUnusable)
  const files: string[] = []
  try {
    const work = dryRun ? pendingMigrations : migrate
    for (const folder of migrationFolders(config)) files.push(...(await work(database.url, folder).catch(orUnusable)))
    return { files, fault: null }
  } catch (error) {
    if (error instanceof CommandError) return { files, fault: error }
    throw error
  } finally {
    await database.close()
  }
}

function jsonOf(files: readonly string[], fault: CommandError | null, { dryRun }: Options): string {
  const done = { [dryRun ? 'pending' : 'applied']: files }
  return `${JSON.stringify(fault ? { ...done, error: fault.message } : done, null, 2)}\n`
}

function textOf(files: readonly string[], fault: CommandError | null, { dryRun }: Options): string {
  if (files.length === 0) return fault ? '' : 'All migrations are applied.\n'
  return files.map((file) => `${dryRun ? 'to apply' : 'applied'}: ${file}\n`).join('')
}
