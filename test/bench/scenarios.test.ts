import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { absence } from '../../bench/data/absence.ts'
import { rowsFor } from '../../bench/data/table.ts'
import { pgbenchVersion } from '../../bench/floors/pgbench.ts'
import { type RandomValue, writeRandom } from '../../bench/floors/randomValue.ts'
import { startBare, startUncounted } from '../../bench/floors/servers.ts'
import { runSqlFloor, type SqlFloor } from '../../bench/floors/sql.ts'
import { type FloorStatement, floorStatement, patternOf, statementsOf } from '../../bench/floors/statement.ts'
import type { HttpTarget } from '../../bench/httpTarget.ts'
import { drawRequests } from '../../bench/load/requests.mjs'
import type { Operation } from '../../bench/operation.ts'
import { isRefusal, isWriting, type Scenario, scenariosFor, UnknownScenario } from '../../bench/scenarios.ts'
import { seedOf } from '../../bench/suite.ts'
import { connect, createDatabase } from '../support/postgres.ts'

const MANY = rowsFor(1_000_000)
const all = scenariosFor(MANY)

const get = (path: string): Operation => ({ method: 'GET', path, status: 200 })
const operationsOf = ({ operations, background }: Scenario) => [...operations, ...(background?.operations ?? [])]

describe('the table of scenarios', () => {
  test('has one of each kind, each name once', () => {
    const names = all.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    const kinds = ['one-by-id', 'first-page', 'filter-sort', 'range-sort', 'employee-absences', 'page-2000']
    const more = ['page-20000', 'last-page', 'create', 'patch', 'crud-mix', 'lists-under-writes']
    const memory = ['different-lists', 'random-pages', 'page-20000-cursor', 'patch-absence-cached']
    const fresh = ['new-lists', 'new-lists-random-pages', 'new-conditions', 'new-lists-under-writes']
    const others = [
      ...memory,
      ...fresh,
      'deep-pages-under-writes',
      'create-employee',
      'rename',
      'unauthorized',
      'refused',
    ]
    for (const name of [...kinds, ...more, ...others]) expect(names).toContain(name)
    for (const { title, operations } of all) expect([title !== '', operations.length > 0]).toEqual([true, true])
  })

  test('pages that few rows do not have are left out, and the last page is the last', () => {
    const names = scenariosFor(rowsFor(40_000)).map(({ name }) => name)
    expect(names).toContain('page-2000')
    expect(names).not.toContain('page-20000')
    const few = scenariosFor(rowsFor(20_010), ['last-page'])
    expect(few[0]?.operations[0]?.path).toBe('/Absences?sort=Start&page=1001')
  })

  test('only those asked for; a name that there is not is refused with the nearest', () => {
    expect(scenariosFor(MANY, ['patch', 'one-by-id']).map(({ name }) => name)).toEqual(['one-by-id', 'patch'])
    const ask = (name: string, absences: number) => () => scenariosFor(rowsFor(absences), [name])
    expect(ask('one-by-di', 1_000)).toThrow(UnknownScenario)
    expect(ask('one-by-di', 1_000)).toThrow(
      'there is no scenario one-by-di. Did you mean one-by-id? There are one-by-id,',
    )
    expect(ask('page-20000', 1_000)).toThrow('page-20000 needs at least 400000 absences')
  })

  test('a quick run leaves out what says little more, unless it is asked for', () => {
    const quick = scenariosFor(MANY, [], true).map(({ name }) => name)
    expect(all.map(({ name }) => name).filter((name) => !quick.includes(name))).toEqual([
      'new-conditions-under-writes',
      'random-pages-all',
      'range-sort',
      'range-sort-week',
      'patch-absence',
    ])
    expect(scenariosFor(MANY, ['range-sort-week'], true)).toHaveLength(1)
  })

  test('what writes and what is refused is known', () => {
    const namesOf = (is: (scenario: Scenario) => boolean) => all.filter(is).map(({ name }) => name)
    expect(namesOf(isWriting)).toEqual([
      ...['new-lists-under-writes', 'new-conditions-under-writes'],
      ...['create', 'create-employee', 'patch', 'rename', 'patch-absence', 'patch-absence-cached', 'crud-mix'],
      ...['lists-under-writes', 'deep-pages-under-writes'],
    ])
    expect(namesOf(isRefusal)).toEqual(['unauthorized', 'refused'])
  })

  test('random pages are all there, nearly to the last', () => {
    const lastOf = (name: string) => {
      const [path = ''] = scenariosFor(MANY, [name]).flatMap(({ operations }) => operations.map((one) => one.path))
      return Number(/page=\{1\.\.(\d+)\}/.exec(path)?.[1])
    }
    expect(lastOf('random-pages-all')).toBe(50_000)
    expect(lastOf('random-pages')).toBe(30_000)
  })

  test('a list that is called new is never one that was asked before, and its random page is there', () => {
    const rows = rowsFor(20_000)
    const columns = absence.columns
    const approved = Array.from({ length: rows.absences }, (_, index) => absence.row(index + 1, rows))
      .filter((row) => row[columns.indexOf('status')] === 'Approved')
      .map((row) => row[columns.indexOf('start')] as string)
    const asked = scenariosFor(rows)
      .filter(({ isNew }) => isNew)
      .flatMap(({ name, title, operations }) => {
        expect(title).toStartWith('never asked before: ')
        return [0, 1, 2, 3].flatMap((round) => drawRequests(operations, 3_000, seedOf(7, name, round)))
      })
    const lists = asked.map(({ path }) => path.replace(/&page=\d+$/, ''))
    expect(lists.length).toBe(5 * 4 * 3_000)
    expect(new Set(lists).size).toBe(lists.length)
    const [pages] = scenariosFor(rows, ['new-lists-random-pages']) as [Scenario]
    for (const { path } of drawRequests(pages.operations, 300, 1)) {
      const query = new URL(path, 'http://bench').searchParams
      const [from = '', to = ''] = query.getAll('Start').map((bound) => bound.replace(/^[<>=]+/, ''))
      expect((Date.parse(to) - Date.parse(from)) / 86_400_000).toBeWithin(60, 61.001)
      const total = approved.filter((start) => start >= from && start < to).length
      expect([path, 20 * (Number(query.get('page')) - 1) < total]).toEqual([path, true])
    }
    expect(new Set(drawRequests(pages.operations, 300, 1).map(({ path }) => /page=(\d+)/.exec(path)?.[1])).size).toBe(8)
  })

  test('the lists that are in memory while absences change differ', () => {
    const [{ prepare = [] } = {}] = scenariosFor(MANY, ['patch-absence-cached'])
    expect(new Set(prepare).size).toBe(1_000)
  })

  test('the shares of the CRUD mix are as its title says', () => {
    const [mix] = scenariosFor(MANY, ['crud-mix']) as [Scenario]
    const weightOf = (is: (operation: Operation) => boolean) =>
      mix.operations.filter(is).reduce((sum, { weight = 1 }) => sum + weight, 0)
    expect(weightOf(({ method, path }) => method === 'GET' && path.includes('{'))).toBe(75)
    expect(weightOf(({ method }) => method === 'PATCH')).toBe(15)
    expect(weightOf(({ method, path }) => method === 'GET' && !path.includes('{'))).toBe(5)
    expect(weightOf(({ method }) => method === 'POST')).toBe(5)
  })
})

describe('the SQL of a floor', () => {
  test('has the random values of the path as parameters', async () => {
    const statement = await floorStatement(get('/Absences/{1..500}'))
    const id = { low: 1, high: 500, place: 0, factor: 1, summand: 0 }
    expect(statement).toMatchObject({ method: 'GET', weight: 1, values: [id] })
    expect(statement.text).toEndWith('from "absence" where id = $1')
  })

  test('has fixed values, and where a body brings them', async () => {
    const body = '{"Name":"Bench","Enabled":true}'
    const create = await floorStatement({ method: 'POST', path: '/Companies', body, status: 201, weight: 5 })
    expect(create.weight).toBe(5)
    expect(create.values).toEqual([
      { fixed: 'Bench', property: 'Name' },
      { fixed: 'true', property: 'Enabled' },
    ])
    const list = await floorStatement(get('/Absences?Status=Approved&EmployeeId={3..7}&page=3'))
    expect(list.values).toEqual([
      { fixed: 'Approved', property: null },
      { low: 3, high: 7, place: 0, factor: 1, summand: 0 },
      { fixed: '40', property: null },
    ])
  })

  test('has the random values of a body as parameters, each by its property', async () => {
    const body = '{"FirstName":"Ada","CompanyId":{1..9},"Status":"Current","ManagerId":{7..9}}'
    const create = await floorStatement({ method: 'POST', path: '/Employees', body, status: 201 })
    expect(create.values.filter((value) => 'low' in value || value.fixed !== null)).toEqual([
      { fixed: 'Ada', property: 'FirstName' },
      { low: 1, high: 9, place: 'CompanyId', factor: 1, summand: 0 },
      { low: 7, high: 9, place: 'ManagerId', factor: 1, summand: 0 },
      { fixed: 'Current', property: 'Status' },
    ])
    const move = { method: 'PATCH', path: '/Employees/{1..9}', body: '{"CompanyId":{1..50}}', status: 200 } as const
    const { values } = await floorStatement(move)
    expect(values).toEqual([
      { low: 1, high: 50, place: 'CompanyId', factor: 1, summand: 0 },
      { low: 1, high: 9, place: 0, factor: 1, summand: 0 },
    ])
  })

  test('has the rows that a random page skips', async () => {
    const { values } = await floorStatement(get('/Absences?EmployeeId={5..8}&PageSize=10&page={1..9}'))
    expect(values).toEqual([
      { low: 5, high: 8, place: 0, factor: 1, summand: 0 },
      { low: 1, high: 9, place: 1, factor: 10, summand: -10 },
    ])
    expect([1, 9].map((page) => writeRandom(values[1] as RandomValue, page))).toEqual(['0', '80'])
  })

  test('has the instants of a range, the second so long after the first', async () => {
    const list = get('/Absences?Start=%3E%3D{2024-01-01..2024-01-02}&Start=%3C{2d..3d}')
    const { values, pattern } = await floorStatement(list)
    const low = Date.UTC(2024, 0, 1) / 1_000
    expect(values).toEqual([
      { low, high: low + 86_400, place: 0, factor: 1, summand: 0, instant: 'drawn' },
      { low: 172_800, high: 259_200, place: 1, factor: 1, summand: 0, instant: 'later' },
    ])
    const [{ path } = list] = drawRequests([list], 1, 1)
    expect(new RegExp(pattern).exec(path)?.slice(1)).toEqual([...path.matchAll(/\d{4}-[^&]+/g)].map(String))
  })

  test('may be without the total', async () => {
    const list = get('/Absences?Status=Approved&sort=-Start')
    expect((await floorStatement(list)).text).toContain('count(*)')
    expect((await floorStatement(list, false)).text).not.toContain('count(')
    await expect(floorStatement(get('/Absences?page=2'), false)).rejects.toThrow('only first pages')
  })

  test('cannot be had where a random value is no parameter of it', async () => {
    await expect(floorStatement(get('/Absences?PageSize={5..9}'))).rejects.toThrow('is not a parameter')
    await expect(floorStatement(get('/Nothing/1'))).rejects.toThrow('there is no entity Nothing')
  })

  test('is found again by the pattern of its operation, and by no other of its scenario', () => {
    for (const scenario of all)
      for (const { path } of operationsOf(scenario)) {
        const [request] = drawRequests([get(path)], 1, 1)
        const matching = operationsOf(scenario).filter((other) =>
          new RegExp(patternOf(other.path)).test(request?.path ?? ''),
        )
        expect(new Set(matching.map((other) => other.path))).toEqual(new Set([path]))
      }
  })
})

/** With totals, and without them where that floor is measured. */
function statementsToRun(scenario: Scenario): [operation: Operation, isCounted: boolean][] {
  const forms = scenario.hasUncounted ? [true, false] : [true]
  return forms.flatMap((isCounted) =>
    operationsOf(scenario).map((operation): [Operation, boolean] => [operation, isCounted]),
  )
}

describe('floors on PostgreSQL', () => {
  const rows = rowsFor(200)
  let databaseUrl: string
  let sql: postgres.Sql

  beforeAll(async () => {
    databaseUrl = await createDatabase()
    sql = connect(databaseUrl)
    await sql`insert into company (name, enabled) select 'Company ' || n, true from generate_series(1, ${rows.companies}::int) as n`
    await sql`insert into employee (first_name) select 'A' from generate_series(1, ${rows.employees}::int)`
    await sql`insert into absence (status, start) select 'Approved', timestamptz '2023-06-06Z' from generate_series(1, ${rows.absences}::int)`
  })
  afterAll(() => sql.end())

  test('every statement of every scenario runs', async () => {
    for (const scenario of all.filter((scenario) => !isRefusal(scenario)))
      for (const [operation, isCounted] of statementsToRun(scenario)) {
        const { text, values } = await floorStatement(operation, isCounted)
        const given = values.map((value) => ('low' in value ? writeRandom(value, value.low) : value.fixed))
        expect(await sql.unsafe(text, given)).toBeArray()
      }
  })

  const servers: HttpTarget[] = []
  afterAll(() => Promise.all(servers.map((server) => server.stop())))

  // A floor of each kind that the machine has.
  const floors: SqlFloor[] = pgbenchVersion() === null ? ['loop'] : ['pgbench', 'loop']
  for (const floor of floors)
    test(`${floor} runs statements by weight, with random values in their range`, async () => {
      await sql`update company set enabled = true, name = 'before'`
      const operations: Operation[] = [
        { ...get(`/Companies/{1..${rows.companies}}`), weight: 3 },
        { method: 'PATCH', path: '/Companies/{2..4}', body: '{"Enabled":false}', status: 200 },
      ]
      const statements: FloorStatement[] = await statementsOf(operations)
      let changed: number[] = []
      // Until each of the three was hit once, however few requests a busy machine lets through.
      for (let seed = 1; changed.length < 3; seed++) {
        const load = await runSqlFloor(floor, {
          databaseUrl,
          statements,
          connections: 3,
          seconds: 0.3,
          rate: null,
          seed,
        })
        expect(load).toMatchObject({ errors: 0, unexpected: {} })
        expect(load.requests).toBeGreaterThan(0)
        expect(Object.values(load.buckets).reduce((sum, count) => sum + count, 0)).toBe(load.requests)
        changed = (await sql`select id from company where not enabled order by id`).map(({ id }) => Number(id))
      }
      expect(changed).toEqual([2, 3, 4])
    })

  for (const floor of floors)
    test(`${floor} finds random pages`, async () => {
      const statements = [await floorStatement(get('/Absences?page={1..10}'))]
      const job = { databaseUrl, statements, connections: 2, seconds: 0.2, rate: null, seed: 1 }
      expect((await runSqlFloor(floor, job)).requests).toBeGreaterThan(0)
    })

  for (const floor of floors)
    test(`${floor} finds ranges of dates that differ`, async () => {
      const path = '/Absences?Status=Approved&Start=%3E%3D{2023-01-01..2023-12-01}&Start=%3C{1d..9d}&sort=-Start'
      const statements = [await floorStatement(get(path))]
      const job = { databaseUrl, statements, connections: 2, seconds: 0.2, rate: null, seed: 1 }
      expect((await runSqlFloor(floor, job)).requests).toBeGreaterThan(0)
    })

  test('the bare floor answers what its statements say, with the total or without', async () => {
    const list = get('/Absences?Id=%3E{1..150}')
    const bare = await startBare(databaseUrl, [list, get('/Absences?page={1..9}')])
    const uncounted = await startUncounted(databaseUrl, [list])
    servers.push(bare, uncounted)
    const rowsOf = async ({ url }: HttpTarget, query: string) => {
      const answer = await fetch(`${url}/Absences?${query}`)
      return (await answer.json()) as Record<string, string>[]
    }
    const idsFrom = (first: number) => Array.from({ length: 20 }, (_, index) => String(first + index))
    for (const [target, query, first] of [
      [bare, 'Id=%3E100', 101],
      [bare, 'page=3', 41],
      [uncounted, 'Id=%3E100', 101],
    ] as const)
      expect((await rowsOf(target, query)).map(({ id }) => id)).toEqual(idsFrom(first))
    const [counted] = await rowsOf(bare, 'Id=%3E100')
    const [row] = await rowsOf(uncounted, 'Id=%3E100')
    expect([counted?.L, Object.values(row ?? {}).includes('100')]).toEqual(['100', false])
  })

  test('the bare floor and those of SQL alone take random values of a body', async () => {
    await sql`delete from employee where company_id is not null`
    const create = { method: 'POST', path: '/Employees', body: '{"CompanyId":{2..4}}', status: 201 } as const
    const bare = await startBare(databaseUrl, [create])
    servers.push(bare)
    const answer = await fetch(`${bare.url}/Employees`, { method: 'POST', body: '{"CompanyId":7}' })
    expect(await answer.json()).toMatchObject([{ company_id: '7', first_name: null }])
    for (const floor of floors) {
      const job = { databaseUrl, statements: [await floorStatement(create)], connections: 2, seconds: 0.2, rate: null }
      expect((await runSqlFloor(floor, { ...job, seed: 1 })).requests).toBeGreaterThan(5)
    }
    const found = await sql`select distinct company_id::int as id from employee where company_id <> 7 order by id`
    expect(found.map(({ id }) => id)).toEqual([2, 3, 4])
  })

  test('a statement that fails is an error that says what failed', async () => {
    const wrong = { ...(await floorStatement(get('/Absences'))), text: 'select wrong' }
    const job = { databaseUrl, statements: [wrong], connections: 1, seconds: 0.2, rate: null, seed: 1 }
    for (const floor of floors)
      await expect(runSqlFloor(floor, job)).rejects.toThrow(/ended with .*column "wrong" does not exist/)
  })
})
