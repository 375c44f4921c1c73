import { describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compilePageFromEnd } from '../../src/compile/pageFromEnd.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { parseList } from '../../src/parse/list.ts'
import { loadEntities } from '../../src/registry.ts'
import { allNodes, explain, type PlanNode } from '../support/explain.ts'
import { usePlanSite } from '../support/planSite.ts'

const COUNTS = { company: 10_000, employee: 10_000, absence: 10_000 }
const TIMEOUT_MS = 60_000
const [SKIP, SIZE, REACH] = [400, 20, 512]

const site = usePlanSite(COUNTS, vacuumWhole)
const entities = (await loadEntities()).filter(({ table }) => table in COUNTS)

/** Until no index has to look into its table: a vacuum leaves rows out that another session may still see otherwise. */
async function vacuumWhole(sql: postgres.Sql) {
  const left = () => sql`
    select from pg_class where relname = any (${Object.keys(COUNTS)}) and relallvisible < relpages`
  while ((await left()).count > 0) {
    await sql`vacuum company, employee, absence`
    await Bun.sleep(50)
  }
}

function* placesBy(entity: Entity, property: Property) {
  for (const sign of ['-', '%2B'])
    for (const end of ['first', 'last'] as const)
      yield {
        end,
        // A list that descends is its index backwards, and so is one that ascends, from its end.
        direction: (sign === '-') === (end === 'first') ? 'Backward' : 'Forward',
        statement: compilePageFromEnd(entity, parseList(entity, `sort=${sign}${property.name}`), end, SKIP, SIZE),
      }
}

/** The index that has the orders of a property, and which way a step reads it. */
function indexOf({ id }: Entity, property: Property, direction: string) {
  return { keys: property === id ? '(id)' : `(${property.column}, id)`, direction }
}

function readOf(scan: PlanNode) {
  return { keys: site.indexKeys.get(scan['Index Name'] ?? ''), direction: scan['Scan Direction'] }
}

const isScan = ({ 'Node Type': type }: PlanNode) =>
  type.includes('Scan') && !/^(Subquery|CTE|Function) Scan$/.test(type)
const scansOf = (plan: PlanNode) => allNodes(plan).filter(isScan)
/** What finds the ids: steps below the array of them. */
const idNodesOf = (plan: PlanNode) =>
  allNodes(plan)
    .filter((node) => node['Parent Relationship'] === 'InitPlan' && !node['Subplan Name']?.startsWith('CTE'))
    .flatMap(allNodes)

/** Steps that sort what no limit bounds. */
function wholeSorts(plan: PlanNode): PlanNode[] {
  const isSort = (node: PlanNode) => node['Node Type'].endsWith('Sort')
  const isBound = (node: PlanNode): boolean =>
    node['Node Type'] === 'Limit' || (!isScan(node) && (node.Plans ?? []).every(isBound))
  return allNodes(plan).filter((node) => isSort(node) && !isBound(node))
}

describe('rows from an end, in the order of any property', () => {
  test.each(['values known', 'generic_plan'] as const)(
    'ids from ranges of indexes alone, never sorted; the rows by their ids: %s',
    async (kind) => {
      for (const entity of entities)
        for (const property of entity.properties)
          for (const { end, direction, statement } of placesBy(entity, property)) {
            const plan = await explain(site.database, statement, kind === 'generic_plan' ? kind : undefined)
            const context = [entity.name, property.name, end]
            const ids = idNodesOf(plan)
            const idScans = ids.filter((node) => scansOf(plan).includes(node))
            expect([context, idScans.length > 0]).toEqual([context, true])
            const index = indexOf(entity, property, direction)
            for (const scan of idScans)
              expect([context, scan['Node Type'], readOf(scan)]).toEqual([context, 'Index Only Scan', index])
            expect([context, wholeSorts(plan).filter((node) => ids.includes(node))]).toEqual([context, []])
            // A page of rows is found by the ids.
            const rowScans = scansOf(plan).filter((node) => !ids.includes(node))
            expect([context, rowScans.length > 0]).toEqual([context, true])
            for (const scan of rowScans) expect([context, scan['Index Cond']]).toEqual([context, expect.any(String)])
          }
    },
    TIMEOUT_MS,
  )

  test(
    'reads no more than its reach of each range, and as many rows as the page has',
    async () => {
      for (const entity of entities)
        for (const property of entity.properties)
          for (const { end, statement } of placesBy(entity, property)) {
            const plan = await explain(site.database, statement, 'analyze')
            const ids = idNodesOf(plan)
            for (const scan of scansOf(plan)) {
              const most = ids.includes(scan) ? REACH : SIZE
              expect([end, (scan['Actual Rows'] ?? 0) <= most ? '' : scan]).toEqual([end, ''])
            }
          }
    },
    TIMEOUT_MS,
  )
})
