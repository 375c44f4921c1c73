import { beforeEach, describe, expect, test } from 'bun:test'
import { besideTransaction } from '../support/besideTransaction.ts'
import { faultsOf, outcomeOf } from '../support/cases.ts'
import { keyWith } from '../support/rights.ts'
import { createRow } from '../support/rows.ts'
import { type Json, makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const KEYS = {
  /** May update employees of company 1, and read them. */
  partner: keyWith(
    'read Employees?CompanyId=1&fields=Id,EmployeeNumber,JobTitle,CompanyId',
    'create Employees?CompanyId=1&fields=EmployeeNumber,JobTitle',
    'update Employees?CompanyId=1&Status=New&fields=JobTitle,CompanyId becomes CompanyId=1',
  ),
  creator: keyWith('read Employees', 'read Companies', 'create Employees'),
  blind: keyWith('create Employees', 'update Employees'),
  /** Reads no titles, and may set them. */
  secretary: keyWith('read Employees?fields=Id,EmployeeNumber,JobTitle', 'create Employees', 'update Employees'),
  /** Reads no bosses; the statement decides which rows these are. */
  modest: keyWith(
    'read Employees?JobTitle=!=Boss&fields=Id,EmployeeNumber,JobTitle',
    'create Employees?fields=EmployeeNumber,JobTitle',
    'update Employees?fields=EmployeeNumber,JobTitle',
  ),
  twenty: makeKey({ name: 'twenty', limits: '20/1h' }),
} satisfies Record<string, TestKey>

const server = useServer({
  keys: Object.values(KEYS).map(({ record }) => record),
  environment: { RATE_LIMIT_CLIENTS: '9', CHANGES_VALUES: 'on' },
})
const second = useServer(() => ({ databaseUrl: server.databaseUrl }))

/** Employees 1 to 3, of which the first two are of company 1. */
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
  for (const Name of ['Own', 'Other']) await createRow(server, '/Companies', { Name })
  await createRow(server, '/Employees', {
    EmployeeNumber: 'E1',
    FirstName: 'Ann',
    JobTitle: 'Clerk',
    CompanyId: 1,
    Status: 'New',
  })
  await createRow(server, '/Employees', { EmployeeNumber: 'E2', FirstName: 'Bob', CompanyId: 1 })
  await createRow(server, '/Employees', { EmployeeNumber: 'E3', FirstName: 'Cid', CompanyId: 2, Title: 'Dr' })
})

const send = (target: string, rows: unknown, headers: Record<string, string> = {}) => server.send('POST', target, rows, headers)
const upsert = (rows: unknown, headers: Record<string, string> = {}) => send('/Employees?match=EmployeeNumber', rows, headers)
const resultsOf = (body: Json) => body.map(({ result, row }: Json) => `${result} ${row.id}`)
const rowOf = async (id: number) => (await server.get(`/Employees/${id}`)).body
const tagOf = async (id: number) => (await server.get(`/Employees/${id}`)).headers.get('etag')
const count = async () => (await server.sql`select from employee`).count
const eventsOf = async (id: number) => (await server.get(`/Employees/${id}/Changes`)).body.changes.length

describe('D115: rows that are found by a property', () => {
  test('are created, updated or left unchanged, and are answered in the order of the body', async () => {
    const tag = await tagOf(3)
    const { status, headers, body } = await upsert([
      { EmployeeNumber: 'E9', FirstName: 'New', CompanyId: 2 },
      { employeenumber: 'E3', firstName: 'Cid', companyId: 2 },
      { EmployeeNumber: 'E1', FirstName: 'Anna' },
      { EmployeeNumber: 'E8' },
    ])
    expect([status, headers.get('location'), headers.get('etag')]).toEqual([200, null, null])
    expect(resultsOf(body)).toEqual(['created 4', 'unchanged 3', 'updated 1', 'created 5'])
    for (const { row } of body) expect(row).toEqual(await rowOf(row.id))
    expect(await rowOf(1)).toMatchObject({ firstName: 'Anna', jobTitle: 'Clerk', companyId: 1, company: 'Own' })
    expect(body[0].row).toMatchObject({ displayName: 'New', company: 'Other' })
    expect([await tagOf(3), await eventsOf(3), await eventsOf(1)]).toEqual([tag, 1, 2])
  })

  test('are changed only in the properties that the body has for each of them', async () => {
    const rows = [
      { EmployeeNumber: 'E1', JobTitle: null },
      { EmployeeNumber: 'E2', Title: 'Ms', CompanyId: 2, Started: '2026-01-31T09:00:00+02:00' },
      { EmployeeNumber: 'E3', LastName: 'Day' },
    ]
    expect(resultsOf((await upsert(rows)).body)).toEqual(['updated 1', 'updated 2', 'updated 3'])
    expect(await rowOf(1)).toMatchObject({ firstName: 'Ann', jobTitle: null, companyId: 1, title: null, lastName: null })
    expect(await rowOf(2)).toMatchObject({ title: 'Ms', company: 'Other', started: '2026-01-31T07:00:00Z', lastName: null })
    expect(await rowOf(3)).toMatchObject({ title: 'Dr', lastName: 'Day', companyId: 2, displayName: 'Cid Day' })
    expect(resultsOf((await upsert(rows)).body)).toEqual(['unchanged 1', 'unchanged 2', 'unchanged 3'])
  })

  test('may be one object, which is answered as an object, or NDJSON', async () => {
    const one = await upsert({ EmployeeNumber: 'E2', FirstName: 'Rob' })
    expect([one.status, one.body.result, one.body.row]).toEqual([200, 'updated', await rowOf(2)])
    const headers = { 'content-type': 'application/x-ndjson', accept: 'application/x-ndjson' }
    const lines = await upsert('{"EmployeeNumber":"E2"}\n{"EmployeeNumber":"E7"}\n', headers)
    expect(resultsOf(Bun.JSONL.parse(lines.text))).toEqual(['unchanged 2', 'created 4'])
  })

  test('may be found by any property that identifies them, or by ids, where a missing id is 409', async () => {
    const byName = await send('/Companies?match=Name', [{ Name: 'Own', Enabled: true }, { Name: 'Third' }])
    expect(resultsOf(byName.body)).toEqual(['updated 1', 'created 3'])
    const byReference = await send('/Absences?match=EmployeeId', [{ EmployeeId: 1, Status: 'New' }])
    expect(resultsOf(byReference.body)).toEqual(['created 1'])
    const byId = await send('/Employees?match=Id', [{ id: 2, LastName: 'Byron', EmployeeNumber: 'E22' }])
    expect(resultsOf(byId.body)).toEqual(['updated 2'])
    expect(await rowOf(2)).toMatchObject({ employeeNumber: 'E22', lastName: 'Byron' })
    const missing = await send('/Employees?match=Id', [{ id: 1 }, { id: 99 }, { id: 98 }])
    expect([outcomeOf(missing), faultsOf(missing)]).toEqual([
      '409 ReferenceNotFound Body',
      ['ReferenceNotFound [1].Id', 'ReferenceNotFound [2].Id'],
    ])
  })

  test('may be 1,000 in one request', async () => {
    const rows = Array.from({ length: 1_000 }, (_, index) => ({
      EmployeeNumber: `E${index}`,
      LastName: `L ${index}`,
      CompanyId: 1,
    }))
    expect(
      Object.entries(Object.groupBy((await upsert(rows)).body, ({ result }: Json) => result)).map(([result, of]) => [
        result,
        of?.length,
      ]),
    ).toEqual([
      ['created', 997],
      ['updated', 3],
    ])
    const again = await upsert(rows.toReversed())
    expect(again.body.map(({ row }: Json) => row.employeeNumber)).toEqual(rows.toReversed().map((row) => row.EmployeeNumber))
    expect(again.body.every(({ result }: Json) => result === 'unchanged')).toBe(true)
    expect(await count()).toBe(1_000)
  })

  test('a renamed row and rows that copy its name are answered as they are stored', async () => {
    const rows = [
      { EmployeeNumber: 'E7', ManagerId: 1 },
      { EmployeeNumber: 'E1', FirstName: 'Anna', ManagerId: 1 },
      { EmployeeNumber: 'E2', ManagerId: 1 },
    ]
    const { body } = await upsert(rows)
    expect(resultsOf(body)).toEqual(['created 4', 'updated 1', 'updated 2'])
    expect(body.map(({ row }: Json) => row.manager)).toEqual(['Anna', 'Anna', 'Anna'])
    for (const { row } of body) expect(row).toEqual(await rowOf(row.id))
  })

  test('a rename is done even if over 1,000 rows in other tables copy the name', async () => {
    await server.sql`
      insert into absence (employee_id, employee_key)
      select e.id, e.display_name_key from employee e, generate_series(1, 1500) where e.id = 1`
    const { body } = await upsert([
      { EmployeeNumber: 'E1', FirstName: 'Zoë' },
      { EmployeeNumber: 'E2', FirstName: 'Bob' },
    ])
    expect(resultsOf(body)).toEqual(['updated 1', 'unchanged 2'])
    expect((await server.get('/Absences?Employee=Zo%C3%AB&PageSize=5')).headers.get('x-total-count')).toBe('1500')
  })
})

describe('D115: rows that are found by a property are all written, or none', () => {
  test('every fault of every row is named with its index', async () => {
    const answer = await upsert([
      { EmployeeNumber: 'E1', Nmae: 1 },
      { FirstName: 'x', Title: 5 },
      { EmployeeNumber: 'E7', Started: 'x' },
      { EmployeeNumber: 'E7' },
      'text',
      { EmployeeNumber: 5 },
      { EmployeeNumber: 'E8', employeeNumber: 'E8' },
    ])
    expect(outcomeOf(answer)).toBe('400 ValidationFailed Body')
    expect(faultsOf(answer).sort()).toEqual([
      'AlreadyExists [3].EmployeeNumber',
      'DuplicateProperty [6].EmployeeNumber',
      'InvalidValue [1].EmployeeNumber',
      'InvalidValue [1].Title',
      'InvalidValue [2].Started',
      'InvalidValue [4]',
      'InvalidValue [5].EmployeeNumber',
      'UnknownProperty [0].Nmae',
    ])
    expect(await count()).toBe(3)
  })

  test('references to missing rows are refused for new and for stored rows, and nothing is written', async () => {
    const answer = await upsert([
      { EmployeeNumber: 'E1', CompanyId: 99 },
      { EmployeeNumber: 'E2', FirstName: 'Rob' },
      { EmployeeNumber: 'E7', ManagerId: 99 },
    ])
    expect(outcomeOf(answer)).toBe('409 ReferenceNotFound Body')
    expect(faultsOf(answer)).toEqual(['ReferenceNotFound [2].ManagerId', 'ReferenceNotFound [0].CompanyId'])
    expect((await rowOf(2)).firstName).toBe('Bob')
    expect(await count()).toBe(3)
  })

  test('a body that breaks a rule between its value and a stored value is 400', async () => {
    await createRow(server, '/Absences', { Reason: 'A', Start: '2026-03-02T00:00:00Z' })
    const answer = await send('/Absences?match=Reason', [{ Reason: 'A', End: '2026-03-01T00:00:00Z' }])
    expect(outcomeOf(answer)).toBe('400 InvalidValue [0].End')
  })

  test('a value that several rows have is 409, with their ids', async () => {
    await createRow(server, '/Employees', { EmployeeNumber: 'E1' })
    const answer = await upsert([{ EmployeeNumber: 'E2', FirstName: 'Rob' }, { EmployeeNumber: 'E1' }])
    expect(outcomeOf(answer)).toBe('409 AlreadyExists [1].EmployeeNumber')
    expect(answer.body.Error.Message).toBe('[1]: EmployeeNumber does not tell which Employee is meant: 1, 4 have this value.')
    expect((await rowOf(2)).firstName).toBe('Bob')
  })

  test.each([
    [5, '1, 4, 5, 6, 7 have this value.'],
    [6, '1, 4, 5, 6, 7 and 1 more have this value.'],
    [8, '1, 4, 5, 6, 7 and 3 more have this value.'],
  ])('a value that %i rows have is refused with up to five of their ids, and how many more there are', async (count, end) => {
    for (let more = count - 1; more > 0; more--) await createRow(server, '/Employees', { EmployeeNumber: 'E1' })
    expect((await upsert([{ EmployeeNumber: 'E1' }])).body.Error.Message).toEndWith(`is meant: ${end}`)
  })

  test.each([
    ['', '400 InvalidMatch match', 'There are Id, EmployeeNumber, Title'],
    ['Number', '400 InvalidMatch match', 'Did you mean EmployeeNumber?'],
    ['DisplayName', '400 InvalidMatch match', 'match cannot be DisplayName'],
    ['EmployeeNumber&match=Id', '400 InvalidMatch match', 'given twice'],
    ['EmployeeNumber&page=1', '400 UnknownParameter page', 'dryRun and match'],
  ])('match=%s is %s', async (match, outcome, message) => {
    const answer = await send(`/Employees?match=${match}`, [{ EmployeeNumber: 'E7' }])
    expect([outcomeOf(answer), answer.body.Error.Message]).toEqual([outcome, expect.stringContaining(message)])
    expect(await count()).toBe(3)
  })

  test.each([
    ['no rows', '400 InvalidRows Body', '[]'],
    ['1,001 rows', '400 InvalidRows Body', JSON.stringify(Array(1_001).fill({}))],
    ['a comma too many', '400 InvalidJson [1]', '[{"EmployeeNumber":"A"},]'],
  ])('a body with %s is %s', async (_, outcome, body) => {
    expect(outcomeOf(await upsert(body))).toBe(outcome)
  })

  test('a dry run counts rows that would be created, updated or unchanged, finds the same faults, and writes nothing', async () => {
    const rows = [{ EmployeeNumber: 'E1', FirstName: 'Ann' }, { EmployeeNumber: 'E2', Title: 'Mr' }, { EmployeeNumber: 'E7' }]
    const dry = (body: unknown) => send('/Employees?match=EmployeeNumber&dryRun=1', body)
    expect((await dry(rows)).body).toEqual({ rows: 3, created: 1, updated: 1, unchanged: 1 })
    expect(outcomeOf(await dry([{ EmployeeNumber: 'E2', CompanyId: 99 }]))).toBe('409 ReferenceNotFound [0].CompanyId')
    expect([await count(), (await rowOf(2)).title]).toEqual([3, null])
  })
})

describe('D43: rows that are found by a property, under an Idempotency-Key', () => {
  test('are written once, and each worker repeats the first answer', async () => {
    const rows = [{ EmployeeNumber: 'E7', FirstName: 'New' }, { EmployeeNumber: 'E1', Title: 'Ms' }, { EmployeeNumber: 'E3' }]
    const key = { 'Idempotency-Key': 'once' }
    const first = await upsert(rows, key)
    expect(resultsOf(first.body)).toEqual(['created 4', 'updated 1', 'unchanged 3'])
    await server.send('PATCH', '/Employees/1', { Title: 'Dr' })
    await server.remove('/Employees/4')
    for (const from of [server, second]) {
      const again = await from.send('POST', '/Employees?match=EmployeeNumber', rows, key)
      expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, first.text, 'true'])
    }
    expect([(await rowOf(1)).title, await count()]).toEqual(['Dr', 3])
    for (const other of [[...rows, { EmployeeNumber: 'E8' }], rows.with(1, { EmployeeNumber: 'E1', Title: 'Mr' })])
      expect(outcomeOf(await upsert(other, key))).toBe('422 IdempotencyMismatch Idempotency-Key')
    expect(outcomeOf(await send('/Employees', rows, key))).toBe('422 IdempotencyMismatch Idempotency-Key')
  })
})

describe('D116: rights to rows that are found by a property', () => {
  const as = (key: keyof typeof KEYS, rows: unknown, query = '') =>
    send(`/Employees?match=EmployeeNumber${query}`, rows, KEYS[key].headers)

  test('a stored row needs a right to update it, and a new row a right to create it', async () => {
    const { status, body } = await as('partner', [
      { EmployeeNumber: 'E1', JobTitle: 'Boss' },
      { EmployeeNumber: 'E7', JobTitle: 'x' },
    ])
    expect([status, resultsOf(body)]).toEqual([200, ['updated 1', 'created 4']])
    expect(body[1].row).toEqual({ id: 4, employeeNumber: 'E7', jobTitle: 'x', companyId: 1 })
    expect(await rowOf(4)).toMatchObject({ companyId: 1 })
  })

  test.each([
    ['partner', [{ EmployeeNumber: 'E2', JobTitle: 'x' }], '403 Forbidden [0].Body', 'a row that it may not update'],
    ['partner', [{ EmployeeNumber: 'E1', CompanyId: 2 }], '403 Forbidden [0].CompanyId', 'a row that would leave the right'],
    [
      'partner',
      [{ EmployeeNumber: 'E1', FirstName: 'x' }],
      '400 UnknownProperty [0].FirstName',
      'a property that it does not see',
    ],
    ['partner', [{ EmployeeNumber: 'E7', CompanyId: 2 }], '403 Forbidden [0].CompanyId', 'a property that it may not create'],
    ['creator', [{ EmployeeNumber: 'E1', JobTitle: 'Clerk' }], '403 Forbidden [0].EmployeeNumber', 'a stored row'],
    ['blind', [{ EmployeeNumber: 'E1' }], '403 Forbidden match', 'rows that it may not read'],
  ] as const)('the key %s may not write %j: %s', async (key, rows, outcome) => {
    for (const query of ['', '&dryRun=1']) expect(outcomeOf(await as(key, rows, query))).toBe(outcome)
    expect((await rowOf(1)).jobTitle).toBe('Clerk')
  })

  test('a stored row that the key may not read is not found: a new row with the same EmployeeNumber is created', async () => {
    const { status, body } = await as('partner', [{ EmployeeNumber: 'E3', JobTitle: 'x' }])
    expect([status, resultsOf(body)]).toEqual([200, ['created 4']])
    expect((await rowOf(3)).jobTitle).toBe(null)
  })

  test('a value that the key may not read is reported as updated, whether it was equal or not', async () => {
    const rows = [{ EmployeeNumber: 'E3', Title: 'Dr' }]
    expect((await as('secretary', rows, '&dryRun=1')).body.updated).toBe(1)
    expect(resultsOf((await as('secretary', rows)).body)).toEqual(['updated 3'])
    expect(resultsOf((await as('secretary', [{ EmployeeNumber: 'E1', JobTitle: 'Clerk' }])).body)).toEqual(['unchanged 1'])
  })

  test('rows that the key may not read afterwards are answered with only their ids', async () => {
    const rows = [
      { EmployeeNumber: 'E1', JobTitle: 'Boss' },
      { EmployeeNumber: 'E7', JobTitle: 'Boss' },
      { EmployeeNumber: 'E2', JobTitle: 'Planner' },
      { EmployeeNumber: 'E3' },
    ]
    const key = { ...KEYS.modest.headers, 'Idempotency-Key': 'modest' }
    for (let times = 0; times < 2; times++) {
      const { body } = await send('/Employees?match=EmployeeNumber', rows, key)
      expect(body).toEqual([
        { result: 'updated', row: { id: 1 } },
        { result: 'created', row: { id: 4 } },
        { result: 'updated', row: { id: 2, employeeNumber: 'E2', jobTitle: 'Planner' } },
        { result: 'unchanged', row: { id: 3, employeeNumber: 'E3', jobTitle: null } },
      ])
    }
  })

  test('a value finds only rows that the key may read, however many hidden rows have the value', async () => {
    await server.sql`
      insert into employee (employee_number, first_name, company_id, company_key)
      select 'E7', 'Dee', c.id, c.name_key from company c, generate_series(1, 10001) where c.id = 2`
    expect((await as('modest', [{ EmployeeNumber: 'E7' }])).body.Error.Code).toBe('InvalidMatch')
    const rows = [{ EmployeeNumber: 'E7', JobTitle: 'x' }]
    expect((await as('partner', rows, '&dryRun=1')).body).toMatchObject({ rows: 1, created: 1 })
    expect((await as('partner', rows)).body[0].result).toBe('created')
  })

  test('a row that becomes hidden while the request waits for it counts as missing', async () => {
    const { body } = await besideTransaction(
      { holder: server.sql, watcher: second.sql, commits: true },
      (sql) => sql`update employee set job_title = 'Boss' where id = 1`,
      () => as('modest', [{ EmployeeNumber: 'E1', JobTitle: 'Boss' }]),
    )
    expect(body).toEqual([{ result: 'created', row: { id: 4 } }])
  })

  test('a dry run counts a stored row as updated, also for a key whose right has filters', async () => {
    const rows = [{ EmployeeNumber: 'E2', JobTitle: 'x' }]
    expect((await as('modest', rows, '&dryRun=1')).body).toMatchObject({ updated: 1 })
  })

  test('rows are charged like those of any body: one request for each 100', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => ({ EmployeeNumber: `N${index}` }))
    expect((await as('twenty', rows)).headers.get('x-ratelimit-remaining')).toBe('17')
  })
})
