import { describe, expect, test } from 'bun:test'
import { compileList } from '../../src/compile/list.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { ListQuery, Seek } from '../../src/model/query.ts'
import { order } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { entities } from '../support/entities.ts'
import { allNodes, explain, type PlanNode, usePlanSite } from '../support/planSite.ts'

const COUNTS = { company: 10_000, employee: 10_000, absence: 10_000 }
const PAGE_SIZE = 20
/** An id with many rows without a value on both sides, for every property. */
const MIDDLE_ID = '5000'

const site = usePlanSite(COUNTS)

/** Returns the position of the first row of a page. */
async function positionOn(entity: Entity, query: ListQuery, page: number): Promise<Seek['position']> {
  const [row] = await site.database.read(compileList(entity, { ...query, page }))
  return order(entity, query.sorts).map(({ property }) => row?.[entity.properties.indexOf(property)] as string | null)
}

/** Yields every kind of seek by one property, far from both ends: in both directions, from a value and from no value. */
async function* seeksBy(entity: Entity, { name, kind }: Property) {
  for (const sign of ['-', '%2B']) {
    const query = parseList(wholeView(entity), `sort=${sign}${name}&PageSize=${PAGE_SIZE}`)
    const position = await positionOn(entity, query, 250)
    for (const side of ['after', 'before'] as const) {
      yield { ...query, seek: { side, position } }
      if (kind.nullable) yield { ...query, seek: { side, position: [null, MIDDLE_ID] } }
    }
  }
}

const isScan = ({ 'Node Type': type }: PlanNode) => type.includes('Scan') && type !== 'Subquery Scan' && type !== 'CTE Scan'
/** Returns all steps but those that count the rows of the list. */
function pageNodes(plan: PlanNode): PlanNode[] {
  const total = (plan.Plans ?? []).filter((node) => node['Subplan Name'] === 'CTE First').flatMap(allNodes)
  return allNodes(plan).filter((node) => !total.includes(node))
}

const scansOf = (plan: PlanNode) => pageNodes(plan).filter(isScan)

/** Returns limits right above a scan. */
function branchesOf(plan: PlanNode) {
  const limits = pageNodes(plan).filter((node) => node['Node Type'] === 'Limit' && isScan(node.Plans?.[0] as PlanNode))
  return limits.map(({ Plans }) => Plans?.[0] as PlanNode)
}

describe('D32: a page by cursor in the order of any property', () => {
  for (const kind of ['analyze', 'generic_plan'] as const)
    test(`reads only ranges of indexes, in order, up to its limit: ${kind}`, async () => {
      for (const entity of entities)
        for (const property of entity.properties)
          for await (const query of seeksBy(entity, property)) {
            const statement = compileList(entity, query)
            const plan = await explain(site.database, statement, kind)
            const branches = branchesOf(plan)
            expect(branches.length).toBeGreaterThan(0)
            // All other scans are for the total.
            expect(scansOf(plan)).toEqual(branches)
            expect(pageNodes(plan).length).toBeLessThan(allNodes(plan).length)
            const isDescending = query.sorts[0]?.descending === true
            const isBackwards = isDescending === (query.seek.side === 'after')
            for (const scan of branches) {
              const { 'Node Type': type, 'Scan Direction': direction, 'Index Cond': range, Filter: filter = null } = scan
              const keys = site.indexKeys.get(scan['Index Name'] ?? '')
              expect({ text: statement.text, type, keys, direction, range, filter }).toEqual({
                text: statement.text,
                type: 'Index Scan',
                keys: property === entity.id ? '(id)' : `(${property.column}, id)`,
                direction: isBackwards ? 'Backward' : 'Forward',
                range: expect.any(String),
                filter: null,
              })
              // At any depth, each range reads at most a page, and one row.
              if (kind === 'analyze') expect(scan['Actual Rows']).toBeLessThanOrEqual(PAGE_SIZE + 1)
            }
          }
    })
})

describe('D32: a page by cursor in the order of several properties', () => {
  test.each([
    ...['Status,-Start', '-Type,Reason,-Period.Days', '-EmployeeId,Status', 'Start,-Status,Id', '-Reason,Start'],
    ...['Status,Start', '-Status,-Start', '-Start,Id', 'Status,-Id', '-Reason,Id'],
  ])('reads ranges of indexes, and sorts only rows with an equal value of the first property: %s', async (sort) => {
    const entity = entities.find(({ name }) => name === 'Absence') as Entity
    const query = parseList(wholeView(entity), `sort=${sort}&PageSize=${PAGE_SIZE}`)
    for (const page of [2, 75, 250, 490])
      for (const side of ['after', 'before'] as const) {
        const position = await positionOn(entity, query, page)
        const plan = await explain(site.database, compileList(entity, { ...query, seek: { side, position } }))
        const scans = scansOf(plan).filter((scan) => scan['Node Type'] !== 'Bitmap Heap Scan')
        expect(scans.length).toBeGreaterThan(0)
        for (const scan of scans) expect(scan['Index Cond']).toBeString()
      }
  })
})
