import { expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { readToken } from '../../src/model/changesToken.ts'
import { arrayText, type Row, type Statement } from '../../src/model/sql.ts'
import { viewOf, wholeView } from '../../src/model/view.ts'
import { Changes } from '../../src/operations/changes.ts'
import { useDatabase } from '../support/database.ts'

const { sql, poolOf } = useDatabase()
const database = poolOf()
const EVENTS = 70_000
const VISIBLE = [2, 25_000, 50_000, EVENTS]
const named = viewOf(company, new Set(company.properties.filter(({ name }) => name === 'Name')), [], 'read Companies?fields=Name')

interface Plan {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

/** Events that the parts of a plan have read. */
function readBy(plan: Plan): number {
  const own = plan['Relation Name'] === 'entity_change' ? plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) : 0
  return (plan.Plans ?? []).reduce((sum, part) => sum + readBy(part), own * plan['Actual Loops'])
}

test('a statement for a history reads at most about 20,000 events, however many events of the row are hidden', async () => {
  await sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select change_position(), 'company', 7, 'u', 'k', case when n = any (${arrayText(VISIBLE.map(String))}::int[]) then '{name}' else '{enabled}' end::text[]
    from generate_series(1, ${EVENTS}::int) as n`
  await sql`vacuum analyze entity_change`
  const read: number[] = []
  const counting = {
    read: async (statement: Statement): Promise<Row[]> => {
      const explained = await sql.unsafe(`explain (analyze, format json) ${statement.text}`, statement.values as string[])
      read.push(readBy(explained[0]?.['QUERY PLAN'][0].Plan))
      return database.read(statement)
    },
  }
  const changes = new Changes(counting)
  const query = { pageSize: 50, hasRows: false }
  const page = await changes.historyAfter(named, '7', null, query)
  expect([page.events.length, page.more]).toEqual([VISIBLE.length, false])
  // Each page is read from its token on, and not from the first event of the row.
  const first = await changes.historyAfter(named, '7', null, { ...query, pageSize: 3 })
  expect([first.events.length, first.more]).toEqual([3, true])
  const after = readToken(first.events[2]?.token ?? '')
  const before = read.length
  expect((await changes.historyAfter(named, '7', after, query)).events).toHaveLength(1)
  expect(Math.max(...read)).toBeLessThan(20_100)
  expect(Math.max(...read)).toBeGreaterThan(19_000)
  expect(read.slice(before).reduce((sum, events) => sum + events)).toBeLessThan(2 * (EVENTS - 50_000) + 100)
  read.length = 0
  expect((await changes.historyAfter(wholeView(company), '7', after, query)).events).toHaveLength(50)
  expect(Math.max(...read)).toBeLessThan(100)
})
