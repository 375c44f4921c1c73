import { beforeAll, expect, test } from 'bun:test'
import { createSampleDatabase } from '../support/postgres.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { failureOf } from './failureOf.ts'
import { createRoster } from './roster.ts'

const server = useServer(async () => ({ databaseUrl: await createSampleDatabase() }))
let roster: ReturnType<typeof createRoster>
beforeAll(async () => {
  roster = createRoster({ url: server.url, key: KEY })
})

test('a summary of the client has the same groups and sums as a query in SQL', async () => {
  const { groups, total } = await roster.absences.summary({
    filter: { status: { any: ['Approved', null] }, reason: { '!=': 'a,b&c' } },
    groupBy: ['type', 'quarter(start)'],
    sum: ['period.days'],
    average: ['period.days'],
    sort: ['-sum(period.days)', 'type', 'start'],
    pageSize: 5,
    page: 1,
  })
  const expected = await server.sql`
    select type, to_char(date_trunc('quarter', start), 'YYYY-MM-DD"T00:00:00Z"') as start, count(*)::int as count,
      sum(period_days)::float as sum, round(avg(period_days), 8)::float as average
    from absence where status = 'Approved' or status is null group by 1, 2 order by 4 desc, 1, 2`
  expect(total).toBe(expected.length)
  expect(groups).toEqual(
    expected.slice(0, 5).map(({ type, start, count, sum, average }) => ({
      ...{ type, start, count, sum: { period: { days: sum } }, average: { period: { days: average } } },
    })),
  )
})

test('a summary without groupBy has one group, and an error has the server’s code', async () => {
  expect(await roster.companies.summary()).toEqual({ groups: [{ count: 6 }], total: 1 })
  expect(await failureOf(roster.companies.summary({ sum: ['name'] }))).toMatchObject({ code: 'InvalidAggregate' })
})
