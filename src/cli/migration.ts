import { readdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Config } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import { applyPending, MIGRATIONS, migrationFolders, readMigrations } from '../postgres/migrate.ts'
import { type NextMigration, nextMigration } from '../postgres/nextMigration.ts'
import { loadEntities } from '../registry.ts'
import { openDatabase } from './openStores.ts'
import { CommandError } from './run.ts'

/** Names of more tables make no name of a file. */
const TABLES_MAX = 3
/** A project has its numbers behind those that Roster will ever have: the database knows migrations by their names. */
export const OWN_FROM = 1_001
const NAME = /^\w{1,60}$/

/**
 * Writes the file that follows in the folder of migrations: what the database lacks, once all files that are there are applied,
 * of what entities declare. Nothing is written where it lacks nothing; the database is left as it was. @throws CommandError
 */
export async function writeMigration(config: Config, name?: string): Promise<void> {
  const folder = config.migrationsDir ?? MIGRATIONS
  if (name !== undefined && !NAME.test(name))
    throw new CommandError(`${name} cannot be the name of a migration: letters, digits and _ can`)
  const next = await compare(config)
  for (const remark of next.remarks) console.error(`roster: ${remark}`)
  if (next.text === '') {
    const isAlike = next.remarks.length === 0
    console.error(`roster: ${isAlike ? 'the tables are as the entities declare them' : 'nothing is to be added'}`)
    return
  }
  const file = join(folder, `${nextNumber(folder)}_${name ?? nameOf(next)}.sql`)
  writeFileSync(file, next.text, { flag: 'wx' })
  console.error(`roster: wrote ${relative('.', file)}, which the next start applies; read it before`)
}

async function compare(config: Config): Promise<NextMigration> {
  const entities = await loadEntities(config.entitiesDir)
  // The tables of Roster's own entities are there in any case.
  const others = (await loadEntities()).map(({ table }) => table)
  const own = entities.find(({ table }) => config.entitiesDir !== null && others.includes(table))
  if (own)
    throw new CommandError(
      `${own.name} needs another name: Roster's own migrations make the table ${own.table}, and later ones may change it`,
    )
  const database = await openDatabase(config).catch(orUnusable)
  try {
    return await withConnection(database.url, async (sql) => {
      // The transaction is rolled back when the connection ends.
      await sql`begin`
      for (const folder of migrationFolders(config)) await applyPending(sql, readMigrations(folder))
      return nextMigration(sql, entities, config.entitiesDir === null ? [] : others)
    }).catch(orUnusable)
  } finally {
    await database.close()
  }
}

function orUnusable(error: Error): never {
  throw new CommandError(`the tables cannot be compared: ${error.message || String(error)}`)
}

/** The first that no file has, in four digits. */
function nextNumber(folder: string): string {
  const numbers = readdirSync(folder).map((file) => Number(/^(\d{4})_/.exec(file)?.[1] ?? 0))
  const before = folder === MIGRATIONS ? 0 : OWN_FROM - 1
  return String(Math.max(before, ...numbers) + 1).padStart(4, '0')
}

function nameOf({ tables }: NextMigration): string {
  return tables.length > TABLES_MAX ? `${tables.length}_tables` : tables.join('_and_')
}
