import type postgres from 'postgres'
import type { Database } from '../../src/execute/database.ts'
import type { Statement } from '../../src/model/sql.ts'

/** One step of a plan, as PostgreSQL prints it. */
export interface PlanNode {
  'Node Type': string
  'Parent Relationship'?: string
  'Subplan Name'?: string
  'Index Name'?: string
  'Scan Direction'?: string
  'Index Cond'?: string
  Filter?: string
  'Actual Loops'?: number
  'Actual Rows'?: number
  Plans?: PlanNode[]
}

/** The plan of exactly this statement; `analyze` runs it, `generic_plan` is the one for values not known. */
export async function explain(database: Database, { text, values }: Statement, option?: 'analyze' | 'generic_plan') {
  const command = `explain (${option ? `${option}, ` : ''}format json) ${text}`
  const rows = (await database.read({ text: command, values })) as unknown[][]
  const [[plan]] = rows as [[[{ Plan: PlanNode }]]]
  return plan[0].Plan
}

/** A step and all below it, but for what is computed once beside it. */
export function mainNodes(node: PlanNode): PlanNode[] {
  const below = (node.Plans ?? []).filter((child) => child['Parent Relationship'] !== 'InitPlan')
  return [node, ...below.flatMap(mainNodes)]
}

export function allNodes(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(allNodes)]
}

/** The two branches that find a later page's ids: from the front, and from the end. */
export function idBranches(plan: PlanNode): PlanNode[] {
  const appends = allNodes(plan).filter((node) => node['Node Type'] === 'Append')
  if (appends.length !== 1) throw new Error(`${appends.length} places where ids are put together`)
  return appends[0]?.Plans ?? []
}

/** `(status DESC, id)` by index name. */
export async function readIndexKeys(sql: postgres.Sql): Promise<Map<string, string>> {
  const indexes = await sql`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index`
  return new Map(indexes.map(({ name, definition }) => [name, definition.replace(/^.* USING btree /, '').replaceAll('"', '')]))
}
