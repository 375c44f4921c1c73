import { describe, expect, test } from 'bun:test'
import { compileList } from '../../src/compile/list.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Statement } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { entities } from '../support/entities.ts'
import { allNodes, explain, type PlanNode, usePlanSite } from '../support/planSite.ts'

/** Returns a step and all steps below it, without subplans that are computed once. */
function mainNodes(node: PlanNode): PlanNode[] {
  const below = (node.Plans ?? []).filter((child) => child['Parent Relationship'] !== 'InitPlan')
  return [node, ...below.flatMap(mainNodes)]
}

/** Returns the two branches that find the ids of a later page: from the front, and from the end. */
function idBranches(plan: PlanNode): PlanNode[] {
  const appends = allNodes(plan).filter((node) => node['Node Type'] === 'Append')
  if (appends.length !== 1) throw new Error(`${appends.length} places where ids are put together`)
  return appends[0]?.Plans ?? []
}

const COUNTS = { company: 10_000, employee: 20_000, absence: 10_000 }
const site = usePlanSite(COUNTS)

const statementOf = (entity: Entity, query: string): Statement => compileList(entity, parseList(wholeView(entity), query))
const scansOf = (nodes: PlanNode[]) => nodes.filter((node) => node['Node Type'].includes('Scan'))

/** Every order by a single property. */
const orders = entities.flatMap((entity) =>
  entity.properties.flatMap((property) => [true, false].map((descending) => ({ entity, property, descending }))),
)

function sortOf({ name }: Property, descending: boolean): string {
  return `sort=${descending ? '-' : '%2B'}${name}`
}

/** Returns the columns of an index, and the direction of its scan, that give this order without a sort. */
function orderingScan(entity: Entity, property: Property, descending: boolean) {
  const keys = property === entity.id ? '(id)' : `(${property.column}, id)`
  return { keys, direction: descending ? 'Backward' : 'Forward' }
}

function scanOf(node: PlanNode | undefined) {
  return { keys: site.indexKeys.get(node?.['Index Name'] ?? ''), direction: node?.['Scan Direction'] }
}

describe('the first page in the order of any property', () => {
  test('is read from the index of the property: no sort, and no scan of the whole table', async () => {
    for (const { entity, property, descending } of orders) {
      const plan = await explain(site.database, statementOf(entity, sortOf(property, descending)))
      const [limit, scan, ...rest] = mainNodes(plan)
      const seen = {
        order: [entity.name, property.name],
        nodes: [limit?.['Node Type'], scan?.['Node Type'], rest.length],
        ...scanOf(scan),
      }
      expect(seen).toEqual({
        order: [entity.name, property.name],
        nodes: ['Limit', 'Index Scan', 0],
        ...orderingScan(entity, property, descending),
      })
    }
  })
})

describe('a later page in the order of any property', () => {
  test.each(['values known', 'generic_plan'] as const)(
    'can be found from either end of the index, and needs a scan of the table only for the total: %s',
    async (kind) => {
      for (const { entity, property, descending } of orders) {
        const statement = statementOf(entity, `${sortOf(property, descending)}&page=3`)
        const plan = await explain(site.database, statement, kind === 'generic_plan' ? kind : undefined)
        const forwards = orderingScan(entity, property, descending)
        const backwards = { ...forwards, direction: forwards.direction === 'Forward' ? 'Backward' : 'Forward' }
        const branches = idBranches(plan).map((branch) => {
          const nodes = mainNodes(branch)
          const types = nodes.map((node) => node['Node Type']).filter((type) => type !== 'Subquery Scan')
          return { types: types.map((type) => type.replace('Only ', '')), ...scanOf(nodes.at(-1)) }
        })
        const types = ['Limit', 'Index Scan']
        const order = [entity.name, property.name, descending]
        expect({ order, branches }).toEqual({
          order,
          branches: [
            { types, ...forwards },
            { types, ...backwards },
          ],
        })
        const rows = scansOf(mainNodes(plan)).filter((node) => node['Node Type'] !== 'CTE Scan')
        expect(rows.map((node) => site.indexKeys.get(node['Index Name'] ?? ''))).toEqual(['(id)'])
        const total = (plan.Plans ?? []).filter((node) => node['Subplan Name'] === 'CTE Total').flatMap(allNodes)
        expect(total.length).toBeGreaterThan(0)
        const whole = allNodes(plan).filter((node) => node['Node Type'] === 'Seq Scan' && !total.includes(node))
        expect(whole).toEqual([])
      }
    },
  )

  /** Returns how often each branch was read, and how many index entries it read. */
  async function readsOf(entity: Entity, query: string) {
    const plan = await explain(site.database, statementOf(entity, query), 'analyze')
    const scans = idBranches(plan).map((branch) => mainNodes(branch).at(-1))
    return scans.map((scan) => ({ loops: scan?.['Actual Loops'], rows: scan?.['Actual Rows'] }))
  }

  const never = { loops: 0, rows: 0 }

  test('is read from the nearer end of the index, and the branch for the other end is never executed', async () => {
    for (const { entity, property, descending } of orders) {
      const count = COUNTS[entity.table as keyof typeof COUNTS]
      const order = [entity.name, property.name, descending]
      const query = `${sortOf(property, descending)}&PageSize=20&page=`
      const second = await readsOf(entity, `${query}2`)
      expect({ order, second }).toEqual({ order, second: [{ loops: 1, rows: 40 }, never] })
      const last = await readsOf(entity, query + count / 20)
      expect({ order, last }).toEqual({ order, last: [never, { loops: 1, rows: 20 }] })
    }
  })

  test('reads no ids at all if it is past the last page', async () => {
    for (const entity of entities) expect(await readsOf(entity, 'sort=-Id&page=99999999')).toEqual([never, never])
  })
})

describe('the texts of statements', () => {
  const absence = entities.find(({ name }) => name === 'Absence') as Entity
  const pairs: [string, string][] = [
    ['Status=one&page=1', 'Status=other'],
    ['Status=one&page=2', 'Status=other&page=900'],
    ['Start=>2020-01-01T00:00:00Z&sort=-End', 'start=>2021-01-01T00:00:00Z&sort=-end,-End'],
    ['PageSize=75', 'PageSize=50'],
    ['Period.Days==1', 'Period.Days=2'],
  ]

  test.each(pairs)('are the same for the lists %s and %s, with different values', (one, other) => {
    const [first, second] = [statementOf(absence, one), statementOf(absence, other)]
    expect(second.text).toBe(first.text)
    if (first.values.length > 0) expect(second.values).not.toEqual(first.values)
    for (const value of first.values) if (value && !/^\d+$/.test(value)) expect(first.text).not.toContain(value)
  })

  test.each([
    ['Status=a', 'Status='],
    ['Status=a', 'Status=!=a'],
    ['Status=a', 'Type=a'],
    ['sort=Start', 'sort=-Start'],
    ['page=1', 'page=2'],
    ['PageSize=5', 'PageSize=6'],
  ])('are different for the lists %s and %s', (one, other) => {
    expect(statementOf(absence, other).text).not.toBe(statementOf(absence, one).text)
  })
})
