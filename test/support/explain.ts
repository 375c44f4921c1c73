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

export function allNodes(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(allNodes)]
}
