import { expect, test } from 'bun:test'
import { compileList } from '../../src/compile/list.ts'
import { compileGet } from '../../src/compile/row.ts'
import type { Entity } from '../../src/model/entity.ts'
import { unionFilter } from '../../src/model/query.ts'
import type { Statement } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { withFewIds } from '../../src/operations/fewIds.ts'
import { parseList } from '../../src/parse/list.ts'
import { entities } from '../support/entities.ts'
import { allNodes, explain, type PlanNode, usePlanSite } from '../support/planSite.ts'

const site = usePlanSite({ company: 10_000, employee: 20_000, absence: 20_000 })
const absence = entities.find(({ name }) => name === 'Absence') as Entity
const listOf = (query: string) => parseList(wholeView(absence), query)

function unionOf(alternatives: readonly string[]) {
  return unionFilter(
    absence,
    alternatives.map((query) => listOf(query).filters),
  )
}

/** Returns all steps of the plans of a statement, for its values and for any. */
async function nodesOf(statement: Statement): Promise<PlanNode[]> {
  const plans = [await explain(site.database, statement), await explain(site.database, statement, 'generic_plan')]
  return plans.flatMap(allNodes)
}

/** Steps that read every row of a table. */
const readsAll = (table: string) => (node: PlanNode) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === table

const NARROW = [
  ['EmployeeId=7', 'EmployeeId.ManagerId=7'],
  ['EmployeeId=7', 'EmployeeId.ManagerId=7&Status=Requested', 'EmployeeId.CompanyId=3'],
  ['EmployeeId=7', 'EmployeeId.ManagerId[under]=7'],
  ['Id=5', 'EmployeeId[]=7&EmployeeId[]=8', 'EmployeeId.CompanyId.Name=Company 7'],
]
const PAGES = ['', 'page=3', 'sort=-Start', 'Start=>2020-01-01T00:00:00Z']

test.each(NARROW.flatMap((alternatives) => PAGES.map((page) => [alternatives.join(' or '), page] as const)))(
  'the rows of a union that matches few rows are found by indexes, in a generic plan, too: %s, %s',
  async (alternatives, page) => {
    const list = listOf(page)
    const query = { ...list, filters: [...list.filters, unionOf(alternatives.split(' or '))] }
    const nodes = await nodesOf(compileList(absence, await withFewIds(query, absence, site.database)))
    expect(nodes.filter(readsAll('absence'))).toEqual([])
    expect(nodes.some((node) => node['Node Type'] === 'BitmapOr')).toBe(true)
  },
)

test.each([
  ['no index finds the rows of an alternative', ['Status=!=Requested', 'EmployeeId.Started=>2010-01-01T00:00:00Z']],
  ['over a thousand ids match', ['EmployeeId=7', 'EmployeeId.Started=>2010-01-01T00:00:00Z']],
  ['the ids would have to be searched', ['EmployeeId=7', 'EmployeeId.DisplayName[contains]=st 12']],
  ['most ids match', ['EmployeeId=7', 'EmployeeId.Department=!=Department 7']],
])('a union looks up ids in a hash table and not in an array if %s', async (_, alternatives) => {
  const query = await withFewIds({ ...listOf(''), filters: [unionOf(alternatives)] }, absence, site.database)
  const nodes = await nodesOf(compileList(absence, query))
  expect(nodes.filter(({ Filter = '' }) => Filter.includes('= ANY ('))).toEqual([])
  expect(nodes.some(({ Filter = '' }) => /hashed SubPlan|EXISTS/.test(Filter))).toBe(true)
})

test('unions that differ only in values share the statement that asks whether few ids match, which is sent only if needed', async () => {
  const asked: Statement[] = []
  const database = {
    read: (statement: Statement) => {
      asked.push(statement)
      return site.database.read(statement)
    },
  }
  const few = async (...alternatives: string[]) => {
    const { filters } = await withFewIds({ filters: [unionOf(alternatives)] }, absence, database)
    return filters[0]?.hasFewIds ?? false
  }
  expect(await few('EmployeeId=7', 'EmployeeId.ManagerId=7')).toBe(true)
  expect(await few('EmployeeId=8', 'EmployeeId.ManagerId=9')).toBe(true)
  expect(await few('EmployeeId=8', 'EmployeeId.ManagerId[under]=9', 'EmployeeId.CompanyId=3')).toBe(true)
  expect(await few('EmployeeId=8', 'EmployeeId.Status[]=Status 1&EmployeeId.Status[]=Status 2')).toBe(false)
  expect(new Set(asked.map(({ text }) => text)).size).toBe(3)
  expect(await few('EmployeeId=8', 'EmployeeId=9')).toBe(false)
  expect(await few('EmployeeId=8', 'Status=New')).toBe(false)
  expect(asked.length).toBe(4)
})

test('a union is evaluated for one row by its id without reading all employees', async () => {
  const union = unionOf(['EmployeeId=7', 'EmployeeId.Started=>2010-01-01T00:00:00Z'])
  const nodes = await nodesOf(compileGet(absence, '5', [union]))
  expect(nodes.filter(readsAll('employee'))).toEqual([])
  expect(nodes.some(({ Filter = '' }) => Filter.includes('= ANY ('))).toBe(false)
})
