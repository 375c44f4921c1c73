import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { rowsFor } from '../../bench/data/table.ts'
import { pgbenchVersion } from '../../bench/floors/pgbench.ts'
import { runSqlFloor, type SqlFloor } from '../../bench/floors/sql.ts'
import { type FloorStatement, floorStatement, patternOf } from '../../bench/floors/statement.ts'
import { drawRequests } from '../../bench/load/requests.mjs'
import type { Operation } from '../../bench/operation.ts'
import { isRefusal, isWriting, type Scenario, scenariosFor, UnknownScenario } from '../../bench/scenarios.ts'
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
    for (const name of [...kinds, ...more, 'unauthorized', 'refused']) expect(names).toContain(name)
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
      'different-lists',
      'range-sort-week',
    ])
    expect(scenariosFor(MANY, ['different-lists'], true)).toHaveLength(1)
  })

  test('what writes and what is refused is known', () => {
    const namesOf = (is: (scenario: Scenario) => boolean) => all.filter(is).map(({ name }) => name)
    expect(namesOf(isWriting)).toEqual(['create', 'patch', 'crud-mix', 'lists-under-writes'])
    expect(namesOf(isRefusal)).toEqual(['unauthorized', 'refused'])
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
    expect(statement).toMatchObject({ method: 'GET', weight: 1, values: [{ low: 1, high: 500, place: 0 }] })
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
      { low: 3, high: 7, place: 0 },
      { fixed: '40', property: null },
    ])
  })

  test('cannot be had where a random value is no parameter of it', async () => {
    await expect(floorStatement(get('/Absences?page={1..9}'))).rejects.toThrow('is not a parameter')
    await expect(floorStatement(get('/Nothing/1'))).rejects.toThrow('there is no entity Nothing')
  })

  test('is found again by the pattern of its operation, and by no other', () => {
    for (const { path } of all.flatMap(operationsOf)) {
      const [request] = drawRequests([get(path)], 1, 1)
      const matching = all
        .flatMap(operationsOf)
        .filter((other) => new RegExp(patternOf(other.path)).test(request?.path ?? ''))
      expect(new Set(matching.map((other) => other.path))).toEqual(new Set([path]))
    }
  })
})

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
    const operations = all.filter((scenario) => !isRefusal(scenario)).flatMap(operationsOf)
    for (const operation of operations) {
      const { text, values } = await floorStatement(operation)
      const given = values.map((value) => ('low' in value ? String(value.low) : value.fixed))
      expect(await sql.unsafe(text, given)).toBeArray()
    }
  })

  // A floor of each kind that the machine has.
  const floors: SqlFloor[] = pgbenchVersion() === null ? ['loop'] : ['pgbench', 'loop']
  for (const floor of floors)
    test(`${floor} runs statements by weight, with random values in their range`, async () => {
      await sql`update company set enabled = true, name = 'before'`
      const operations: Operation[] = [
        { ...get(`/Companies/{1..${rows.companies}}`), weight: 3 },
        { method: 'PATCH', path: '/Companies/{2..4}', body: '{"Enabled":false}', status: 200 },
      ]
      const statements: FloorStatement[] = await Promise.all(operations.map(floorStatement))
      const job = { databaseUrl, statements, connections: 3, seconds: 0.3, rate: null, seed: 1 }
      const load = await runSqlFloor(floor, job)
      expect(load).toMatchObject({ errors: 0, unexpected: {} })
      expect(load.requests).toBeGreaterThan(10)
      expect(Object.values(load.buckets).reduce((sum, count) => sum + count, 0)).toBe(load.requests)
      const changed = await sql`select id from company where not enabled order by id`
      expect(changed.map(({ id }) => Number(id))).toEqual([2, 3, 4])
    })

  test('a statement that fails is an error that says what failed', async () => {
    const wrong = { ...(await floorStatement(get('/Absences'))), text: 'select wrong' }
    const job = { databaseUrl, statements: [wrong], connections: 1, seconds: 0.2, rate: null, seed: 1 }
    for (const floor of floors)
      await expect(runSqlFloor(floor, job)).rejects.toThrow(/ended with .*column "wrong" does not exist/)
  })
})
