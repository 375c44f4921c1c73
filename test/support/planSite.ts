import { beforeAll } from 'bun:test'
import type postgres from 'postgres'
import type { Database } from '../../src/execute/database.ts'
import type { Statement } from '../../src/model/sql.ts'
import { useDatabase } from './database.ts'
import { loadMany } from './manyRows.ts'

/** A database with enough rows that PostgreSQL uses indexes. */
export interface PlanSite {
  readonly sql: postgres.Sql
  readonly database: Database
  /** Key of each index, by its name: `(property, id)`. */
  indexKeys: Map<string, string>
}

/** For the top of a test file: makes a database with many rows. */
export function usePlanSite(counts: Parameters<typeof loadMany>[1]): PlanSite {
  const { sql, poolOf } = useDatabase()
  const site: PlanSite = { sql, database: poolOf({ poolSize: 1 }), indexKeys: new Map() }
  beforeAll(async () => {
    await loadMany(sql, counts)
    site.indexKeys = await readIndexKeys(sql)
  })
  return site
}

/** Returns keys such as `(status DESC, id)` by index name. */
async function readIndexKeys(sql: postgres.Sql): Promise<Map<string, string>> {
  const indexes = await sql`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index`
  return new Map(indexes.map(({ name, definition }) => [name, definition.replace(/^.* USING btree /, '').replaceAll('"', '')]))
}

/** A step of a plan, as PostgreSQL prints it. */
export interface PlanNode {
  'Node Type': string
  'Parent Relationship'?: string
  'Subplan Name'?: string
  'Index Name'?: string
  'Relation Name'?: string
  Alias?: string
  'Join Type'?: string
  'Scan Direction'?: string
  'Index Cond'?: string
  Filter?: string
  'Actual Loops'?: number
  'Actual Rows'?: number
  Plans?: PlanNode[]
}

/** Returns the plan of exactly this statement; `analyze` runs it, `generic_plan` is the plan for unknown values. */
export async function explain(database: Database, { text, values }: Statement, option?: 'analyze' | 'generic_plan') {
  const command = `explain (${option ? `${option}, ` : ''}format json) ${text}`
  const rows = (await database.read({ text: command, values })) as unknown[][]
  const [[plan]] = rows as [[[{ Plan: PlanNode }]]]
  return plan[0].Plan
}

export function allNodes(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(allNodes)]
}
