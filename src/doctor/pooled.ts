import type postgres from 'postgres'
import type { Config } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import { type Finding, fault, ok } from './finding.ts'
import { refusalOf } from './refusal.ts'

/** Looks at DATABASE_URL where it leads through a pooler to the database of `url`, which is looked at closely elsewhere. */
export async function examinePooled(url: string | null, config: Config): Promise<Finding[]> {
  const { databaseUrl, databaseDirectUrl } = config
  if (url === null || databaseDirectUrl === null || databaseUrl === null) return []
  const check = 'pooled database'
  const main = await withConnection(url, runOf).catch(() => null)
  try {
    const run = await withConnection(databaseUrl, runOf)
    if (run === main || main === null) return [ok(check, 'DATABASE_URL answers')]
    return [fault(check, 'DATABASE_URL leads to another database than DATABASE_DIRECT_URL: name the same in both')]
  } catch (error) {
    return [fault(check, refusalOf(error, 'DATABASE_URL'))]
  }
}

/** Reads what no two databases have in common; null: there are no tables, or none to read. */
async function runOf(sql: postgres.Sql): Promise<string | null> {
  const [there] = await sql`select to_regclass('change_feed') is not null as yes`
  if (!there?.yes) return null
  const [row] = await sql`select run from change_feed`
  return row?.run ?? null
}
