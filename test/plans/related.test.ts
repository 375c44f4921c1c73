import { expect, test } from 'bun:test'
import { compileList } from '../../src/compile/list.ts'
import { compileSummary } from '../../src/compile/summary.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Statement } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { parseSummary } from '../../src/parse/summary.ts'
import { entities } from '../support/entities.ts'
import { allNodes, explain, type PlanNode, usePlanSite } from '../support/planSite.ts'

const site = usePlanSite({ company: 10_000, employee: 20_000, absence: 20_000 })
const entityOf = (plural: string) => entities.find((entity) => entity.plural === plural) as Entity

function listOf(path: string): Statement {
  const [plural = '', query = ''] = path.split('?')
  return compileList(entityOf(plural), parseList(wholeView(entityOf(plural)), query))
}

/** Returns all steps of the plans of a statement, for its values and for any. */
async function nodesOf(statement: Statement): Promise<PlanNode[]> {
  const plans = [await explain(site.database, statement), await explain(site.database, statement, 'generic_plan')]
  return plans.flatMap(allNodes)
}

const isRunForRows = (node: PlanNode) => node['Parent Relationship'] === 'SubPlan'

const POSITIVE = [
  'EmployeeId.Department=Department 7',
  'EmployeeId.CompanyId.Name=Company 7',
  'EmployeeId.Started=>2010-01-01T00:00:00Z',
]
const COMPLEMENTS = [
  'EmployeeId.Department=!=Department 7',
  'EmployeeId.CompanyId.Name=',
  'EmployeeId.CompanyId.Name=!=Company 7',
]
const PAGES = ['', '&page=30', '&sort=-Start']

test.each([...POSITIVE, ...COMPLEMENTS].flatMap((filter) => PAGES.map((page) => [filter + page])))(
  'a list by a path joins tables, and runs no subselect for each row: %s',
  async (query) => {
    const nodes = await nodesOf(listOf(`Absences?${query}`))
    expect(nodes.filter(isRunForRows)).toEqual([])
    expect(nodes.filter((node) => /Join|Nested Loop/.test(node['Node Type'])).length).toBeGreaterThan(1)
  },
)

// A subselect whose ids do not fit into this memory is read again for each row.
test.each(COMPLEMENTS)(
  'rows that do not match a filter by a path are found by an anti join, without memory for all ids: %s',
  async (query) => {
    await site.database.read({ text: "select set_config('work_mem', '64kB', false)", values: [] })
    const nodes = await nodesOf(listOf(`Absences?${query}`))
    await site.database.read({ text: "select set_config('work_mem', '4MB', false)", values: [] })
    expect(nodes.filter(isRunForRows)).toEqual([])
    expect(nodes.filter((node) => node['Join Type'] === 'Anti').length).toBeGreaterThan(1)
  },
)

test('a filter by a path with != uses an index to find the rows that it leaves out', async () => {
  const nodes = await nodesOf(listOf('Absences?EmployeeId.Department=!=Department 7'))
  const conditions = nodes.map((node) => node['Index Cond'] ?? '')
  expect(conditions.some((condition) => condition.includes('(department = '))).toBe(true)
})

test.each([
  'Employees?ManagerId[under]=3&sort=LastName',
  'Employees?ManagerId[under]=3&page=3',
  'Absences?EmployeeId.ManagerId[under]=3',
])('a chain ([under]) is followed only once for the page and the total: %s', async (path) => {
  const plan = await explain(site.database, listOf(path))
  const nodes = allNodes(plan)
  expect(nodes.filter((node) => node['Node Type'] === 'Recursive Union').length).toBe(1)
  expect(nodes.filter(isRunForRows)).toEqual([])
})

test('the text of a filter by a path is searched only once for the page and the total', async () => {
  const nodes = allNodes(await explain(site.database, listOf('Absences?EmployeeId.DisplayName[contains]=st 12')))
  expect(nodes.filter((node) => node['Subplan Name'] === 'CTE Found').length).toBe(1)
  expect(nodes.filter(({ Alias }) => Alias === 'F1').length).toBe(1)
})

test('the related values of a page are looked up by the ids of their rows', async () => {
  const nodes = await nodesOf(listOf('Absences?fields=Id,EmployeeId.Department,EmployeeId.CompanyId.Name&page=2'))
  const lookUps = nodes.filter(isRunForRows)
  expect(lookUps.length).toBeGreaterThan(4)
  for (const { 'Index Cond': condition = '' } of lookUps) expect(condition).toMatch(/^\(id = /)
})

test('a summary joins the rows of a reference once, however many of their properties it needs', async () => {
  const absences = entityOf('Absences')
  const query = 'groupBy=EmployeeId.Department,EmployeeId.CompanyId.Name&maximum=EmployeeId.Started&sum=Period.Days'
  const statement = compileSummary(absences, parseSummary(wholeView(absences), query, 'json'), { offset: 0, size: 100 })
  const nodes = allNodes(await explain(site.database, statement))
  const tables = nodes.flatMap((node) => node['Relation Name'] ?? [])
  expect(tables.toSorted()).toEqual(['absence', 'company', 'employee'])
})
