import { describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileAnchors, compileFromAnchor } from '../../src/compile/anchors.ts'
import { compileList } from '../../src/compile/list.ts'
import type { Start } from '../../src/compile/seek.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import { order } from '../../src/model/order.ts'
import { parseList } from '../../src/parse/list.ts'
import { loadEntities } from '../../src/registry.ts'
import { allNodes, explain, type PlanNode } from '../support/explain.ts'
import { usePlanSite } from '../support/planSite.ts'

const COUNTS = { company: 10_000, employee: 10_000, absence: 10_000 }
const TIMEOUT_MS = 60_000
const [SKIP, SIZE, REACH] = [400, 20, 512]
/** Many rows without a value lie on either side of it, whatever the property. */
const MIDDLE_ID = '5000'

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

/** From both ends of the list, and behind a row amid it, which has a value or none. */
async function startsOf(entity: Entity, sort: string, { kind }: Property): Promise<Start[]> {
  const query = parseList(entity, `sort=${sort}&page=250`)
  const [row] = await site.database.read(compileList(entity, query))
  const position = order(entity, query.sorts).map(
    ({ property }) => row?.[1 + entity.properties.indexOf(property)] as string | null,
  )
  const starts: Start[] = [
    { side: 'behind', position: null },
    { side: 'before', position: null },
    { side: 'behind', position },
  ]
  return kind.nullable ? [...starts, { side: 'behind', position: [null, MIDDLE_ID] }] : starts
}

async function* placesBy(entity: Entity, property: Property) {
  for (const sign of ['-', '%2B']) {
    const sort = `${sign}${property.name}`
    for (const start of await startsOf(entity, sort, property))
      yield {
        start,
        // A list that descends is its index backwards, and so is one that ascends, from its end.
        direction: (sign === '-') === (start.side === 'behind') ? 'Backward' : 'Forward',
        statement: compileFromAnchor(entity, parseList(entity, `sort=${sort}`), start, SKIP, SIZE),
      }
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

describe('rows from a start, in the order of any property', () => {
  test.each(['values known', 'generic_plan'] as const)(
    'ids from ranges of indexes alone, never sorted; the rows by their ids: %s',
    async (kind) => {
      for (const entity of entities)
        for (const property of entity.properties)
          for await (const { start, direction, statement } of placesBy(entity, property)) {
            const plan = await explain(site.database, statement, kind === 'generic_plan' ? kind : undefined)
            const context = [entity.name, property.name, start]
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
          for await (const { start, statement } of placesBy(entity, property)) {
            const plan = await explain(site.database, statement, 'analyze')
            const ids = idNodesOf(plan)
            for (const scan of scansOf(plan)) {
              const most = ids.includes(scan) ? REACH : SIZE
              expect([start, (scan['Actual Rows'] ?? 0) <= most ? '' : scan]).toEqual([start, ''])
            }
          }
    },
    TIMEOUT_MS,
  )
})

describe('notes in the order of any property', () => {
  test(
    'are read in one pass over the index of that order',
    async () => {
      for (const entity of entities)
        for (const property of entity.properties)
          for (const [sign, direction] of [
            ['-', 'Backward'],
            ['%2B', 'Forward'],
          ] as const) {
            const statement = compileAnchors(entity, parseList(entity, `sort=${sign}${property.name}`), 256)
            const plan = await explain(site.database, statement)
            const context = [entity.name, sign, property.name]
            // What is sorted are the notes: nothing below their numbers.
            const numbers = allNodes(plan).filter((node) => node['Node Type'] === 'WindowAgg')
            expect([context, numbers.length, numbers.flatMap(wholeSorts)]).toEqual([context, 1, []])
            expect([context, scansOf(plan).map((scan) => scan['Node Type'])]).toEqual([context, ['Index Only Scan']])
            expect([context, scansOf(plan).map(readOf)]).toEqual([context, [indexOf(entity, property, direction)]])
          }
    },
    TIMEOUT_MS,
  )
})
