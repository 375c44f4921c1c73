import type postgres from 'postgres'
import type { Config } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import { type Finding, fault, ok } from './finding.ts'
import { refusalOf } from './refusal.ts'

/** The databases that the settings name beside the one of `url`, which is looked at closely: behind the pooler, and the standbys. */
export async function examineOthers(url: string | null, config: Config): Promise<Finding[]> {
  const { databaseUrl, databaseDirectUrl, databaseReadUrls } = config
  const pooled = databaseDirectUrl === null || databaseUrl === null ? [] : [databaseUrl]
  if (url === null || pooled.length + databaseReadUrls.length === 0) return []
  const main = await withConnection(url, runOf).catch(() => null)
  return await Promise.all([
    ...pooled.map((other) => examinePooled(other, main)),
    ...databaseReadUrls.map((other) => examineStandby(other, main)),
  ])
}

/** What no two databases have in common, and a standby has of its primary; null: there are no tables, or none to read. */
async function runOf(sql: postgres.Sql): Promise<string | null> {
  const [there] = await sql`select to_regclass('change_feed') is not null as yes`
  if (!there?.yes) return null
  const [row] = await sql`select run from change_feed`
  return row?.run ?? null
}

async function examinePooled(url: string, main: string | null): Promise<Finding> {
  const check = 'pooled database'
  try {
    const run = await withConnection(url, runOf)
    if (run === main || main === null) return ok(check, 'DATABASE_URL answers')
    return fault(check, 'DATABASE_URL leads to another database than DATABASE_DIRECT_URL: name the same in both')
  } catch (error) {
    return fault(check, refusalOf(error, 'DATABASE_URL'))
  }
}

async function examineStandby(url: string, main: string | null): Promise<Finding> {
  const check = `standby ${new URL(url).host}`
  try {
    return await withConnection(url, async (sql) => {
      const [row] = await sql`select pg_is_in_recovery() as standby`
      if (!row?.standby) return fault(check, 'it is no hot standby, so no list is read there: mend DATABASE_READ_URLS')
      const run = await runOf(sql)
      if (run === main || main === null) return ok(check, 'it is a hot standby, and answers')
      return fault(check, 'it is a standby of another database than DATABASE_URL: mend DATABASE_READ_URLS')
    })
  } catch (error) {
    return fault(check, refusalOf(error, 'DATABASE_READ_URLS'))
  }
}
