import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { referenceOf } from '../../bench/referenceSql.ts'
import type { Results } from '../../bench/results.ts'
import { copyCluster } from '../support/cluster.ts'
import { run, temporaryFolder } from '../support/process.ts'

const folder = temporaryFolder()
const output = join(folder.path, 'results')
const data = join(folder.path, 'data')
copyCluster(data)

/** If the machine stands still for seconds, a round has no responses, and the run reports it. */
const ONCE_MORE = { timeout: 480_000, retry: 1 }

test(
  'lists and summaries by related properties give the same answers as peers that join the tables',
  async () => {
    const load = ['--rows', '1000', '--seconds', '0.1', '--rounds', '1', '--connections', '4', '--workers', '1', '--no-curves']
    const asked = ['--peers', 'fastify,hono', '--only', 'related,summaries-department']
    const options = ['--data', data, '--output', output, ...load, ...asked]
    const program = run([process.execPath, '--no-env-file', 'bench/run.ts', ...options])
    expect([await program.ended, program.output()]).toEqual([0, expect.any(String)])
    const [file = ''] = readdirSync(output).filter((name) => name.endsWith('.json'))
    const { scenarios } = JSON.parse(readFileSync(join(output, file), 'utf8')) as Results
    const measured = ['roster', 'no-memory', 'constant', 'fastify', 'hono', 'fastify-indexed', 'hono-indexed']
    for (const { name, targets } of scenarios)
      expect([name, targets.map(({ target, void: reason }) => [target, reason])]).toEqual([
        name,
        measured.map((target) => [target, null]),
      ])
    expect(scenarios.map(({ name }) => name)).toEqual(['summaries-department', 'related'])
  },
  ONCE_MORE,
)

test('the SQL that checks lists by paths joins employees to absences, and selects the properties of the paths', () => {
  const joined = (columns: string) =>
    `from absence left join (select id as related_id, ${columns} from employee) as related on related_id = employee_id where true`
  const { rows, total } = referenceOf(
    '/Absences?EmployeeId.Department=Sales&EmployeeId.Started=>2020-01-01T00:00:00Z&sort=-Start',
  )
  const matching = `${joined('"department" as "employee_id.department", "started" as "employee_id.started"')} \
and "employee_id.department" = 'Sales' and "employee_id.started" > '2020-01-01T00:00:00Z'`
  expect(rows).toBe(`select absence.* ${matching} order by "start" desc nulls first,id desc nulls first limit 20 offset 0`)
  expect(total).toBe(`select count(*) ${matching}`)
  expect(referenceOf('/Absences/Summary?groupBy=EmployeeId.Department&sum=Period.Days').rows).toBe(
    `select "employee_id.department",sum("period_days") as "sum_period_days",count(*) ${joined('"department" as "employee_id.department"')} \
group by 1 order by 1 asc nulls last limit 100 offset 0`,
  )
})
