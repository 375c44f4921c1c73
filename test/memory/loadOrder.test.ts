import { expect, test } from 'bun:test'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { startServer } from '../support/start.ts'

test('the table with the most waiting lists is loaded next', async () => {
  const loaded: unknown[] = []
  const info = (text: string, fields?: Record<string, unknown>) => {
    if (text === 'a table is in memory') loaded.push(fields?.table)
  }
  const server = await startServer({ log: quietLog({ info }) })
  const loads = () => server.sql`
    select from pg_stat_activity
    where application_name = 'roster/memory' and wait_event_type = 'Lock' and datname = current_database()`
  const lists: Promise<{ status: number }>[] = []
  await server.sql.begin(async (transaction) => {
    await transaction`lock table company in access exclusive mode`
    lists.push(server.get('/Companies'))
    await until(async () => (await loads()).length > 0)
    for (const path of ['/Absences', '/Absences/Summary', '/Employees?Title=a', '/Employees', '/Employees/Summary'])
      expect((await server.get(path)).status).toBe(200)
    expect(loaded).toEqual([])
  })
  await until(() => loaded.length === 3)
  expect(loaded).toEqual(['company', 'employee', 'absence'])
  await Promise.all(lists)
})
