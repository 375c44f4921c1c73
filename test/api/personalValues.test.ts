import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Writable } from 'node:stream'
import { createLog, type Log } from '../../src/log.ts'
import { MIGRATIONS, migrate } from '../../src/postgres/migrate.ts'
import { untilServed } from '../support/cases.ts'
import { declaredCompanies } from '../support/declaredCompanies.ts'
import { hostileTexts } from '../support/hostile.ts'
import { type PlainPostgres, startPlainPostgres } from '../support/plainPostgres.ts'
import { createRow, createRows } from '../support/rows.ts'
import type { Answer, Json } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

/** What stands in every value of a person here, and nowhere else. */
const MARK = 'Xanthippe'
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

const folder = declaredCompanies()
let postgres: PlainPostgres
let log: Log
let ownLog = ''
let asked = 0
const statuses = new Set<number>()

beforeAll(async () => {
  postgres = await startPlainPostgres()
  await migrate(postgres.url, MIGRATIONS)
  const stream = new Writable({ write: (chunk, _, done) => done(void (ownLog += chunk)) })
  log = createLog('debug', 'json', stream as unknown as NodeJS.WriteStream)
})
const server = useServer(() => ({ databaseUrl: postgres.url, log, environment: { DATABASE_POOL: '10' } }))
afterAll(() => postgres?.stop())

async function askOnce(method: string, path: string, body?: unknown): Promise<Answer> {
  asked++
  const answer = await server.send(method, path, body)
  statuses.add(answer.status)
  return answer
}
const ask = (method: string, path: string, body?: unknown) => untilServed(() => askOnce(method, path, body))
const codesOf = (answers: Answer[]) => [...new Set(answers.map(({ status, body }) => `${status} ${body?.Error?.Code}`))]
const named = (index: number) => ({ FirstName: `${MARK} ${index}`, LastName: `${MARK}-Last`, WorkEmail: `${MARK}@e.com` })
const ill = (more: object = {}) => ({ Type: 'Sickness', Reason: `${MARK} has the flu`, Status: `of ${MARK}`, ...more })
const people = (count: number) => createRows(server, '/Employees', times(count, named))

describe('personal values of refused requests are in no log', () => {
  test('references to missing rows are 409, in single and in concurrent requests', async () => {
    const [someone] = await people(1)
    const own = await createRow(server, '/Absences', ill())
    const refused: [string, string, Json][] = [
      ['POST', '/Absences', ill({ EmployeeId: 999_999 })],
      ['PUT', `/Absences/${own.id}`, ill({ EmployeeId: 999_999 })],
      ['PATCH', `/Absences/${own.id}`, ill({ EmployeeId: 999_999 })],
      ['POST', '/Employees', { ...named(0), CompanyId: 999_999, ManagerId: 0 }],
      ['PUT', `/Employees/${someone.id}`, { ...named(0), ManagerId: 999_999 }],
      ['PATCH', `/Employees/${someone.id}`, { KnownAs: MARK, ManagerId: 999_999 }],
      ['PATCH', `/Employees/${someone.id}`, { Department: MARK, CompanyId: 1e30 }],
    ]
    for (const request of refused) expect(codesOf([await ask(...request)])).toEqual(['409 ReferenceNotFound'])
    const together = times(42, (index) => refused[index % refused.length] as (typeof refused)[0])
    const others = times(20, (index) => ask('POST', '/Absences', ill({ EmployeeId: index % 2 ? someone.id : null })))
    const answers = await Promise.all(together.map((request) => ask(...request)))
    expect(codesOf(answers)).toEqual(['409 ReferenceNotFound'])
    expect(codesOf(await Promise.all(others))).toEqual(['201 undefined'])
  })

  test('an end before the stored start is 400, in single and in concurrent requests', async () => {
    const rows = await createRows(server, '/Absences', Array(12).fill(ill({ Start: '2024-01-02T00:00:00Z' })))
    const turned = (id: number) => ask('PATCH', `/Absences/${id}`, ill({ End: '2024-01-01T00:00:00Z' }))
    const right = (id: number) => ask('PATCH', `/Absences/${id}`, ill({ End: '2024-01-03T00:00:00Z' }))
    expect(codesOf([await turned(rows[0].id)])).toEqual(['400 InvalidValue'])
    const answers = await Promise.all(rows.map(({ id }, index) => (index % 3 ? right(id) : turned(id))))
    expect(codesOf(answers.filter((_, index) => index % 3 === 0))).toEqual(['400 InvalidValue'])
    expect(codesOf(answers.filter((_, index) => index % 3))).toEqual(['200 undefined'])
    const started = await ask('PATCH', `/Absences/${rows[1].id}`, ill({ Start: '2024-01-04T00:00:00Z' }))
    expect(codesOf([started])).toEqual(['400 InvalidValue'])
  })

  test('deletions of referenced rows are 409, in single and in concurrent requests', async () => {
    const [boss, ...reports] = await people(6)
    for (const { id } of reports) await ask('PATCH', `/Employees/${id}`, { ManagerId: boss.id })
    const absent = await createRow(server, '/Absences', ill({ EmployeeId: reports[0].id }))
    const targets = [boss.id, reports[0].id, boss.id, reports[0].id]
    for (const id of targets) expect(codesOf([await ask('DELETE', `/Employees/${id}`)])).toEqual(['409 StillReferenced'])
    const answers = await Promise.all([...targets, reports[1].id].map((id) => ask('DELETE', `/Employees/${id}`)))
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409, 409, 204])
    expect((await ask('DELETE', `/Absences/${absent.id}`)).status).toBe(204)
  })

  test('texts, numbers and dates that no column accepts, and bodies that are not JSON, are refused', async () => {
    const bodies: unknown[] = [
      ...hostileTexts.slice(0, 30).map((text) => ({ Reason: `${MARK}${text}`, EmployeeId: 999_999 })),
      ...[{ Reason: `${MARK}\0` }, { Reason: `${MARK}\ud800` }, { Reason: MARK.repeat(100) }, { [MARK]: MARK }],
      ...[`{"Reason":"${MARK}\\ud800"}`, `{"Reason":"${MARK}\\u0000"}`, `{"Reason":"${MARK}"`, `${MARK}`, `["${MARK}"]`],
      ...[`{"Reason":"${MARK}","Period":{"Hours":1e400}}`, `{"Reason":"${MARK}","reason":"${MARK}"}`],
      ...[{ Days: 99_999_999_999 }, { Prefered: MARK, Days: MARK }].map((Period) => ill({ Period })),
      ...[MARK, '2024-02-30T00:00:00Z', '+294277-01-01T00:00:00Z'].map((Start) => ill({ Start })),
      ill({ EmployeeId: MARK }),
      new Uint8Array([...new TextEncoder().encode(`{"Reason":"${MARK}`), 0xff, 0x22, 0x7d]),
    ]
    const answers = await Promise.all(bodies.map((body) => ask('POST', '/Absences', body)))
    expect(answers.filter(({ status }) => status < 400 || status >= 500)).toEqual([])
  })

  test('filters, sorts and cursors with personal values are sent, both valid and invalid ones', async () => {
    const values = ['Employee=', 'Start=', 'Period.Days=', 'sort=', 'cursor=', 'Reason=!=', `${MARK}=`, 'Id=', 'page=']
    for (const name of values) await ask('GET', `/Absences?${name}${MARK}`)
    for (const name of values) await ask('GET', `/Absences?${name}${MARK}%00%ff`)
  })

  test('deletions are done or refused while other writes refer to the rows, rename them or delete them', async () => {
    const rows = await people(60)
    const races = rows.map(async ({ id }, index) => {
      const path = `/Employees/${id}`
      const other = rows[(index + 1) % rows.length].id
      const against = [
        () => ask('POST', '/Absences', ill({ EmployeeId: id })),
        () => ask('PATCH', `/Employees/${other}`, { ManagerId: id }),
        () => ask('PATCH', path, { KnownAs: `${MARK} again` }),
        () => ask('DELETE', path),
      ]
      const remove = () => ask('DELETE', path)
      return Promise.all([remove, against[index % 4] as () => Promise<Answer>, remove].map((one) => one()))
    })
    const codes = codesOf((await Promise.all(races)).flat())
    const allowed = ['200', '201', '204', '404 NotFound', '409 ReferenceNotFound', '409 StillReferenced']
    expect(codes.map((code) => code.replace(' undefined', '')).filter((code) => !allowed.includes(code))).toEqual([])
  })

  test('writes to a row that stays locked are 503, and writes whose connections are killed are done or 503', async () => {
    const rows = await people(4)
    const writes = () => rows.map(({ id }) => askOnce('PATCH', `/Employees/${id}`, { Title: `${MARK}` }))
    await server.sql.begin(async (transaction) => {
      await transaction`select from employee where id = ${rows[0].id} for update`
      expect((await Promise.all(writes())).map(({ status }) => status)).toEqual([503, 200, 200, 200])
    })
    const cut = Promise.all([...writes(), ...times(10, () => askOnce('POST', '/Absences', ill({ EmployeeId: rows[1].id })))])
    await server.sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name like 'roster%'`
    for (const { status } of await cut) expect([200, 201, 503]).toContain(status)
  })

  test('taken unique values are 409, whether sent in turn or concurrently', async () => {
    await server.sql`alter table company add constraint company_name_unique unique (name)`
    const unique = await startServer({ databaseUrl: postgres.url, log, entitiesDir: folder.path, hasForeignRows: true })
    const name = (at: number) => ({ Name: `${MARK} & Sons ${at}` })
    const made = await Promise.all(times(40, (at) => unique.post('/Companies', name(at % 8))))
    expect(codesOf(made).sort()).toEqual(['201 undefined', '409 AlreadyExists'])
    const [one, other] = made.filter(({ status }) => status === 201).map(({ body }) => body)
    const taken = { Name: other.name }
    const changed = [await unique.put(`/Companies/${one.id}`, taken), await unique.post('/Companies', taken)]
    changed.push(await unique.patch(`/Companies/${one.id}`, taken))
    expect(codesOf(changed)).toEqual(['409 AlreadyExists'])
    await unique.stop()
    await server.sql`alter table company drop constraint company_name_unique`
  })

  test('after all requests of these tests, the logs have no personal value, and no constraint was violated', async () => {
    await log.flush()
    expect(asked).toBeGreaterThan(200)
    expect([400, 409, 503].filter((status) => !statuses.has(status))).toEqual([])
    const lines = (text: string, pattern: RegExp | string) => text.split('\n').filter((line) => line.match(pattern))
    // PostgreSQL has logged that it canceled statements, whose parameters had personal values.
    expect(lines(postgres.log(), /canceling statement due to (lock|statement) timeout/).length).toBeGreaterThan(0)
    expect(lines(postgres.log(), MARK)).toEqual([])
    expect(lines(postgres.log(), /violates|DETAIL:.*Key/)).toEqual([])
    expect(lines(ownLog, /"POST \/Absences/).length).toBeGreaterThan(100)
    expect(lines(ownLog, MARK)).toEqual([])
  })

  test('a violated constraint would write its row to the log of PostgreSQL', async () => {
    const broken = server.sql`insert into absence (reason, employee_id) values (${`${MARK} herself`}, 999999)`
    await expect(broken.execute()).rejects.toThrow('violates check constraint')
    expect(postgres.log()).toContain(`${MARK} herself`)
  })
})
