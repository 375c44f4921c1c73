// PATCH and DELETE of a collection: all rows that match filters, or none. D113, D114
import { beforeEach, describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { declaredCompanies } from '../support/declaredCompanies.ts'
import { keyWith } from '../support/rights.ts'
import { createRows } from '../support/rows.ts'
import { type Answer, type Json, makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const READ_ONE = 'read Employees?CompanyId=1&fields=Id,FirstName,JobTitle,CompanyId,Department'
const keys = {
  three: makeKey({ name: 'three', limits: '3/1h' }),
  twelve: makeKey({ name: 'twelve', limits: '12/1h,100/2h' }),
  writer: makeKey({ name: 'writer', rights: '*:write' }),
  reader: makeKey({ name: 'reader', rights: '*:read' }),
  /** Reads company 1, and changes and deletes its people in Sales, who must stay there. */
  seller: keyWith(READ_ONE, 'update Employees?Department=Sales&fields=JobTitle,Department', 'delete Employees?Department=Sales'),
  /** Reads company 1, and may change everybody. */
  narrow: keyWith(READ_ONE, 'update Employees?fields=JobTitle', 'delete Employees'),
}

const server = useServer({
  keys: Object.values(keys).map(({ record }) => record),
  environment: { RATE_LIMIT_CLIENTS: '9', CHANGES_VALUES: 'on' },
})
const declared = useServer({ entitiesDir: declaredCompanies().path, hasForeignRows: true })

const EMPLOYEES = [
  { FirstName: 'Ann', Department: 'Sales', CompanyId: 1 },
  { FirstName: 'Bob', Department: 'Sales', CompanyId: 2, ManagerId: 1 },
  { FirstName: 'Cid', Department: 'Law', CompanyId: 1, ManagerId: 1 },
  { FirstName: 'Zoë' },
]

beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
  await createRows(server, '/Companies', [{ Name: 'One', Enabled: true }, { Name: 'Two' }])
  await createRows(server, '/Employees', EMPLOYEES)
})

type Headers = Record<string, string>
const patch = (query: string, body: unknown, headers: Headers = {}) => server.send('PATCH', `/Employees?${query}`, body, headers)
const remove = (query: string, headers: Headers = {}) => server.send('DELETE', `/Employees?${query}`, undefined, headers)
const messageOf = (answer: Answer) => `${outcomeOf(answer)}: ${answer.body.Error.Message}`
const titles = async () => (await server.sql`select job_title from employee order by id`).map((row) => row.job_title)
const idsOf = ({ body }: Answer): number[] => body.map(({ id }: Json) => id)
const leftOf = (answer: Answer) => Number(answer.headers.get('x-ratelimit-remaining'))

describe('a PATCH of a collection', () => {
  test.each([
    ['Department=Sales', [1, 2]],
    ['Department[]=Sales&Department[]=', [1, 2, 4]],
    ['Id=>1&Id=<4', [2, 3]],
    ['FirstName[begins]=zoe', [4]],
    ['CompanyId.Enabled=true&ManagerId=', [1]],
    ['CompanyId.Name=!=One', [2, 4]],
    ['ManagerId[under]=1', [2, 3]],
    ['department=Sales&DEPARTMENT=!=Law&may=update(JobTitle)', [1, 2]],
    ['Department=Nowhere', []],
  ])('with %s changes the rows of the list with these filters: %j', async (query, ids) => {
    const list = await server.get(`/Employees?${query}`)
    const answer = await patch(query, { JobTitle: 'new' })
    expect([answer.status, idsOf(answer), idsOf(list)]).toEqual([200, ids, ids])
    expect(await titles()).toEqual([1, 2, 3, 4].map((id) => (ids.includes(id) ? 'new' : null)))
    for (const row of answer.body) expect((await server.get(`/Employees/${row.id}`)).body).toEqual(row)
  })

  test('returns references and copied names as they are stored, also if the returned rows copy names from each other', async () => {
    const renamed = await patch('Id=<=3', { LastName: 'Lee', CompanyId: 2 })
    expect(renamed.body.map(({ company, manager }: Json) => [company, manager])).toEqual([
      ['Two', null],
      ['Two', 'Ann Lee'],
      ['Two', 'Ann Lee'],
    ])
    const { body } = await patch('Id=>=3', { ManagerId: 2 })
    expect(body.map(({ manager }: Json) => manager)).toEqual(['Bob Lee', 'Bob Lee'])
    for (const row of [renamed.body[0], renamed.body[1], ...body])
      expect((await server.get(`/Employees/${row.id}`)).body).toEqual(row)
  })

  test('changes the copies of its values in other rows', async () => {
    await createRows(server, '/Absences', [{ EmployeeId: 1 }, { EmployeeId: 2 }, { EmployeeId: 3 }])
    await server.send('PATCH', '/Companies?Id=!=', { Name: 'Same' })
    await patch('Department=Sales', { LastName: 'Lee' })
    const names = await server.sql`select employee from absence order by id`
    expect(names.map(({ employee }) => employee)).toEqual(['Ann Lee', 'Bob Lee', 'Cid'])
    expect((await server.get('/Employees?Id=!=')).body.map(({ company }: Json) => company)).toEqual([
      'Same',
      'Same',
      'Same',
      null,
    ])
  })

  test('is done even if over 1,000 rows in other tables copy a changed name', async () => {
    await server.sql`insert into absence (employee_id, employee_key) select 1, '=Ann' from generate_series(1, 1001)`
    expect(idsOf(await patch('Id=1', { LastName: 'Lee' }))).toEqual([1])
    expect(await server.sql`select distinct employee from absence`).toMatchObject([{ employee: 'Ann Lee' }])
  })

  test('is answered as NDJSON if the client asks for it', async () => {
    const { text, headers } = await patch('Department=Sales', { JobTitle: 'x' }, { accept: 'application/x-ndjson' })
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect((Bun.JSONL.parse(text) as { id: number }[]).map(({ id }) => id)).toEqual([1, 2])
  })

  test('adds one change event for each row', async () => {
    const { next } = (await server.get('/Changes?after=now')).body
    await patch('Department=Sales', { JobTitle: 'x' })
    const { changes } = (await server.get(`/Changes?after=${next}`)).body
    expect(changes.map(({ id, action, changed }: Json) => [id, action, changed])).toEqual([
      [1, 'update', ['JobTitle']],
      [2, 'update', ['JobTitle']],
    ])
    expect(new Set(changes.map(({ key }: Json) => key)).size).toBe(1)
  })
})

describe('a DELETE of a collection', () => {
  test('deletes all rows that match, also rows that refer to each other, and answers with their ids', async () => {
    const one = await remove('Department=Sales&ManagerId=!=')
    expect([one.status, one.text]).toEqual([200, '{"rows":1,"ids":[2]}'])
    expect((await remove('Department=Sales&ManagerId=!=')).text).toBe('{"rows":0,"ids":[]}')
    expect((await remove('Id=!=')).body).toEqual({ rows: 3, ids: [1, 3, 4] })
    expect(await titles()).toEqual([])
  })

  test('is 409 and deletes nothing if a row that stays refers to a row to delete; the message names the referenced row', async () => {
    expect(messageOf(await remove('Department[]=Sales&Department[]='))).toBe(
      '409 StillReferenced Api: Employee 1 was not deleted: other rows refer to it: 2 of Employees (ManagerId=1).',
    )
    expect(await titles()).toHaveLength(4)
  })
})

describe('a write by filters', () => {
  test.each([
    [
      '',
      '400 FilterRequired Api: PATCH of Employees needs a filter that says which rows: one row has an address of its own, /Employees/<id>, and Id=!= means all that you may read.',
    ],
    ['may=update', '400 FilterRequired Api: PATCH of Employees needs'],
    ['dryRun=1', '400 FilterRequired Api: PATCH of Employees needs'],
    [
      'Id=1&sort=Id',
      '400 UnknownParameter sort: To update Employees takes filters, may and dryRun, not "sort": all rows that match are changed, in no order and without pages.',
    ],
    ['Id=1&pagesize=50', '400 UnknownParameter pagesize: To update Employees takes'],
    ['Id=1&fields=Id', '400 UnknownParameter fields: To update Employees takes'],
    ['Id=1&_limit=5', '400 UnknownParameter _limit: Employees has no parameter "_limit".'],
    ['Departmnet=Sales', '400 UnknownParameter Departmnet: Employees has no parameter "Departmnet". Did you mean Department?'],
    ['Id=x', '400 InvalidFilter Id: Id must be an integer'],
    ['Id=1&dryRun=yes', '400 InvalidDryRun dryRun: dryRun is 1 or 0.'],
    ['Id=1&dryRun=1&dryrun=1', '400 InvalidDryRun dryRun: dryRun is given twice.'],
    ['Id=1&may=upd', '400 InvalidMay may: may is update'],
  ])('with ?%s is %s', async (query, message) => {
    expect(messageOf(await patch(query, { JobTitle: 'x' }))).toStartWith(message)
    expect(messageOf(await remove(query))).toStartWith(
      message.replace('PATCH', 'DELETE').replace('update Emp', 'delete Emp').replace('are changed', 'are deleted'),
    )
    expect(await titles()).toEqual([null, null, null, null])
  })

  test.each([
    [{ 'if-none-match': '*' }, '412 PreconditionFailed If-None-Match: If-None-Match cannot be for several rows'],
    [{ 'if-match': '*', 'if-none-match': '"4711"' }, '412 PreconditionFailed If-None-Match: If-None-Match cannot'],
    [{ 'if-match': '4711' }, '400 InvalidHeader If-Match: If-Match is * or'],
    [{ 'idempotency-key': '' }, '400 InvalidHeader Idempotency-Key: Idempotency-Key must'],
  ])('with the header %j is %s', async (headers, message) => {
    expect(messageOf(await patch('Id=1', { JobTitle: 'x' }, headers as Headers))).toStartWith(message)
    expect(messageOf(await remove('Id=4', headers as Headers))).toStartWith(message)
    expect(await titles()).toEqual([null, null, null, null])
  })

  test.each([
    [{}, '400 InvalidValue Body: The body must set a property: it names none, or only such as are read-only.'],
    [{ id: 5, displayName: 'x' }, '400 InvalidValue Body: The body must set'],
    [[{ JobTitle: 'x' }], '400 InvalidJson Body: The body must be a JSON object.'],
    [{ JobTitel: 'x' }, '400 UnknownProperty JobTitel: Employee has no property'],
    [{ CompanyId: 77 }, '409 ReferenceNotFound CompanyId: CompanyId names no Company: there is none with id 77.'],
  ])('of %j is %s', async (body, message) => {
    expect(messageOf(await patch('Id=!=', body))).toStartWith(message)
    if (!message.startsWith('400 InvalidJson')) expect(messageOf(await patch('Id=!=&dryRun=1', body))).toStartWith(message)
  })

  test('that would put an end before a start is 400 and names the row, also in a dry run, and changes nothing', async () => {
    await createRows(server, '/Absences', [
      { Status: 'A', Start: '2026-01-01T00:00:00Z' },
      { Status: 'A', Start: '2026-05-01T00:00:00Z' },
    ])
    for (const query of ['Status=A', 'Status=A&dryRun=1'])
      expect(messageOf(await server.send('PATCH', `/Absences?${query}`, { End: '2026-02-01T00:00:00Z' }))).toBe(
        '400 InvalidValue End: Absence 2: End must not be before Start.',
      )
    expect((await server.sql`select from absence where "end" is not null`).count).toBe(0)
  })

  test('that sets a unique value is 409 for several rows, and for one row if another row has the value', async () => {
    await declared.sql`alter table company add constraint company_name_unique unique (name)`
    await createRows(declared, '/Companies', [{ Name: 'One' }, { Name: 'Two' }, { Name: 'Three', Enabled: true }])
    const send = (query: string, Name: string) => declared.send('PATCH', `/Companies?${query}`, { Name })
    expect(messageOf(await send('Enabled=false', 'Free'))).toBe(
      '409 AlreadyExists Name: Name is not free: 2 Companies match, and only one row may have this value.',
    )
    expect(messageOf(await send('Enabled=true', 'Two'))).toBe(
      '409 AlreadyExists Name: Company 3: Name is not free: another Company has this value.',
    )
    expect((await send('Enabled=true', 'Free')).body).toMatchObject([{ id: 3, name: 'Free' }])
    expect((await send('Name=Free', 'Free')).body).toMatchObject([{ id: 3, name: 'Free' }])
  })

  test('with dryRun=1 returns how many rows it would write, and writes none', async () => {
    expect((await patch('Department=Sales&dryRun=1', { JobTitle: 'x' })).text).toBe('{"rows":2}')
    expect((await patch('Department=None&dryRun=1', { LastName: 'x' })).text).toBe('{"rows":0}')
    expect((await remove('Id=!=&dryRun=1')).text).toBe('{"rows":4}')
    expect(outcomeOf(await remove('Id=1&dryRun=1'))).toBe('409 StillReferenced Api')
    expect((await patch('Id=<3&dryRun=0', { JobTitle: 'x' })).status).toBe(200)
    expect(await titles()).toEqual(['x', 'x', null, null])
  })

  test('writes up to 1,000 rows, and is 400 for 1,001', async () => {
    await server.sql`insert into absence (status) select 'Many' from generate_series(1, 1000)`
    const all = (query: string, method = 'PATCH') =>
      server.send(method, `/Absences?${query}`, method === 'PATCH' ? { Reason: 'x' } : undefined)
    expect((await all('Status=Many')).body).toHaveLength(1_000)
    await server.sql`insert into absence (status) values ('Many')`
    for (const query of ['Status=Many', 'Status=Many&dryRun=1']) {
      expect(messageOf(await all(query))).toBe(
        '400 TooManyRows Api: More than 1,000 Absences match, and one request changes up to 1,000: add a filter, such as Id=<=<id>.',
      )
      expect(outcomeOf(await all(query, 'DELETE'))).toBe('400 TooManyRows Api')
    }
    expect((await all('Status=Many&Id=>1', 'DELETE')).body.rows).toBe(1_000)
    expect((await server.sql`select from absence`).count).toBe(1)
  })
})

describe('D113: a write by filters with If-Match', () => {
  const tagOf = async (id: number) => (await server.get(`/Employees/${id}`)).headers.get('etag') as string
  /** Gives rows 1, 2 and 4 one version, and row 3 another one. */
  const tags = async () => {
    await server.sql`update employee set last_name = 'Lee'`
    await server.sql`update employee set first_name = 'Sid' where id = 3`
    return { shared: await tagOf(1), own: await tagOf(3) }
  }

  test.each([
    ['the version of all rows', 'Id[]=2&Id[]=4', (one: string) => one, 2],
    ['one of several versions', 'Id=!=', (one: string, own: string) => `"0", ${own}, ${one}`, 4],
    ['any version', 'Id=!=', () => '*', 4],
    ['another version, if no row matches,', 'Department=None', () => '"4711"', 0],
  ])('that names %s writes the rows that match', async (_, query, headerOf, count) => {
    const { shared, own } = await tags()
    const headers = { 'if-match': headerOf(shared, own) }
    expect((await patch(`${query}&dryRun=1`, { JobTitle: 'x' }, headers)).body).toEqual({ rows: count })
    expect((await remove(query, headers)).body.rows).toBe(count)
    expect(await titles()).toHaveLength(4 - count)
  })

  test.each([
    ['another version', 'Id=>=3', (one: string) => one, 'Employee 3 now', ''],
    ['a weak tag', 'Id=4', (one: string) => `W/${one}`, 'Employee 4 now', ''],
    ['the tag of something else', 'Id=!=', () => '"4711", "2ans-x"', 'Employee 1 now', ' 4 of 4 rows that match are refused.'],
    ['a version that only some rows have', 'Id=!=', (_: string, own: string) => own, 'Employee 1 now', ' 3 of 4 rows'],
  ])('that names %s writes nothing: 412 names the first row with another version', async (_, query, headerOf, start, end) => {
    const { shared, own } = await tags()
    const headers = { 'if-match': headerOf(shared, own) }
    for (const answer of [
      await patch(query, { JobTitle: 'x' }, headers),
      await patch(`${query}&dryRun=1`, { JobTitle: 'x' }, headers),
      await remove(query, headers),
    ]) {
      expect(messageOf(answer)).toStartWith(`412 PreconditionFailed If-Match: ${start} has the version `)
      expect(answer.body.Error.Message).toContain(end)
      expect([shared, own]).toContain(answer.headers.get('etag') as string)
    }
    expect(await titles()).toEqual([null, null, null, null])
  })

  test('is done once under an Idempotency-Key, and is 422 when it is repeated with another If-Match', async () => {
    const { shared, own } = await tags()
    const once = (match: string) => ({ 'idempotency-key': 'once', 'if-match': match })
    const send = (match: string) => patch('Id=!=', { JobTitle: 'x' }, once(match))
    expect((await send(`${shared},${own}`)).headers.has('idempotency-replayed')).toBe(false)
    expect((await send(`${own}, ${shared}`)).headers.get('idempotency-replayed')).toBe('true')
    for (const match of [shared, '*']) expect(outcomeOf(await send(match))).toBe('422 IdempotencyMismatch Idempotency-Key')
    expect(outcomeOf(await patch('Id=!=', { JobTitle: 'x' }, { 'if-match': shared }))).toBe('412 PreconditionFailed If-Match')
  })

  test('ignores rows that the key may not read, and a matching version gives no right to write (403)', async () => {
    const { own } = await tags()
    const headers = { ...keys.seller.headers, 'if-match': own }
    expect(outcomeOf(await server.send('PATCH', '/Employees?Id=3', { JobTitle: 'x' }, headers))).toBe('403 Forbidden Department')
    expect((await server.send('DELETE', '/Employees?Id[]=2&Id[]=4', undefined, headers)).body).toEqual({ rows: 0, ids: [] })
  })
})

describe('D114: a write by filters is charged one request for each 100 rows', () => {
  const many = (rows: number) => server.sql`insert into absence (status) select 'Many' from generate_series(1, ${rows}::int)`
  const change = (key: TestKey, query = 'Status=Many', headers: Headers = {}) =>
    server.send('PATCH', `/Absences?${query}`, { Reason: 'x' }, { ...headers, ...key.headers })

  test('also in a dry run; a repetition under an Idempotency-Key counts as one request', async () => {
    await many(201)
    const { headers } = keys.twelve
    const left = leftOf(await server.get('/Companies/1', headers))
    const costs: number[] = []
    let before = left
    for (const answer of [
      () => change(keys.twelve, 'Id=<=100', { 'idempotency-key': 'a' }),
      () => change(keys.twelve, 'Id=<=101'),
      () => change(keys.twelve, 'Id=<=201&dryRun=1'),
      () => change(keys.twelve, 'Status=Many', { 'idempotency-key': 'b' }),
      () => change(keys.twelve, 'Status=Many', { 'idempotency-key': 'b' }),
      () => change(keys.twelve, 'Status=None'),
    ]) {
      const after = leftOf(await answer())
      costs.push(before - after)
      before = after
    }
    expect(costs).toEqual([1, 2, 3, 3, 1, 1])
  })

  test('and writes nothing if the limits do not allow that many requests now (429) or ever (400)', async () => {
    await many(301)
    expect(messageOf(await change(keys.three))).toBe(
      '400 TooManyRows Api: 301 Absences match, which count as 4 requests, and you may send 3 per 1h: add a filter, up to 100 rows for each request.',
    )
    const refused = await change(keys.three, 'Id=<=201')
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await server.sql`select from absence where reason is not null`).count).toBe(0)
    expect((await change(keys.three, 'Id=<=100')).body).toHaveLength(100)
  })
})

describe('D82: a write by filters within rights', () => {
  const as = (key: TestKey, method: string, query: string, body?: unknown) =>
    server.send(method, `/Employees?${query}`, body, key.headers)

  test('reaches only rows that the key may read', async () => {
    const { narrow } = keys
    expect((await as(narrow, 'PATCH', 'Id=!=&dryRun=1', { JobTitle: 'x' })).body).toEqual({ rows: 2 })
    expect(idsOf(await as(narrow, 'PATCH', 'Id=!=', { JobTitle: 'x' }))).toEqual([1, 3])
    expect((await as(narrow, 'DELETE', 'Id[]=2&Id[]=3&Id[]=4')).body).toEqual({ rows: 1, ids: [3] })
    expect(await titles()).toEqual(['x', null, null])
  })

  test('is 400 for a filter by a property that the key may not read', async () => {
    expect(messageOf(await as(keys.narrow, 'DELETE', 'ManagerId='))).toStartWith(
      '400 UnknownParameter ManagerId: Employees has no',
    )
    expect(outcomeOf(await as(keys.writer, 'DELETE', 'Id=1'))).toBe('403 Forbidden Api')
    expect(outcomeOf(await as(keys.reader, 'DELETE', 'Id=1'))).toBe('403 Forbidden Api')
  })

  test('is 403 as a whole if the key may not write one of the rows, unless ?may= leaves such rows out', async () => {
    for (const dry of ['', '&dryRun=1']) {
      expect(messageOf(await as(keys.seller, 'PATCH', `Id=!=${dry}`, { JobTitle: 'x' }))).toBe(
        '403 Forbidden Department: Employee 3: You may only update Employees with Department=Sales. Add may=update(JobTitle) to leave out such rows.',
      )
      expect(messageOf(await as(keys.seller, 'DELETE', `Id=!=${dry}`))).toBe(
        '403 Forbidden Department: Employee 3: You may only delete Employees with Department=Sales. Add may=delete to leave out such rows.',
      )
    }
    expect(await titles()).toEqual([null, null, null, null])
    expect(idsOf(await as(keys.seller, 'PATCH', 'Id=!=&may=update(JobTitle)', { JobTitle: 'x' }))).toEqual([1])
    await server.sql`update employee set manager_id = null, manager_key = null`
    expect((await as(keys.seller, 'DELETE', 'Id=!=&may=delete')).body).toEqual({ rows: 1, ids: [1] })
  })

  test('is 403 for values that its right does not admit', async () => {
    expect(messageOf(await as(keys.seller, 'PATCH', 'Id=1', { Department: 'Law' }))).toBe(
      '403 Forbidden Department: Employee 1: After the write, Department must be Sales: you have no right to another value.',
    )
    expect(outcomeOf(await as(keys.seller, 'PATCH', 'Id=1', { CompanyId: 2 }))).toBe('403 Forbidden CompanyId')
  })
})

describe('D43: a write by filters under an Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'once' }

  test('is done once, whichever rows match when it is repeated, and in whatever order the filters are sent', async () => {
    const [first, second] = ['Department=Sales&Id=<9', 'Id=<9&Department=Sales']
    const done = await patch(first, { Department: 'Law', JobTitle: 'x' }, headers)
    await server.sql`update employee set department = 'Sales', job_title = null`
    const again = await patch(second, { JobTitle: 'x', Department: 'Law' }, headers)
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, done.text, 'true'])
    expect(await titles()).toEqual([null, null, null, null])
  })

  test('repeats an answer without rows if no row matched at first', async () => {
    expect((await patch('Department=None', { JobTitle: 'x' }, headers)).text).toBe('[]')
    await server.sql`update employee set department = 'None'`
    const again = await patch('Department=None', { JobTitle: 'x' }, headers)
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual(['[]', 'true'])
    expect(await titles()).toEqual([null, null, null, null])
  })

  test('repeats the ids of deleted rows, of which nothing else is stored', async () => {
    const done = await remove('Id=>=3', headers)
    const again = await remove('Id=>=3', headers)
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, done.text, 'true'])
    expect(done.text).toBe('{"rows":2,"ids":[3,4]}')
    expect(await server.sql`select answer from idempotency_key`).toMatchObject([{ answer: ['3', '4'] }])
  })

  test.each([
    ['PATCH', 'Id=2', { JobTitle: 'x' }],
    ['PATCH', 'Id=1&may=update', { JobTitle: 'x' }],
    ['PATCH', 'Id=1', { JobTitle: 'y' }],
    ['PATCH', 'Id=1', { FirstName: 'x' }],
    ['DELETE', 'Id=1', undefined],
  ])('is 422 IdempotencyMismatch for another request: %s ?%s of %j', async (method, query, body) => {
    expect((await patch('Id=1', { JobTitle: 'x' }, headers)).status).toBe(200)
    expect(outcomeOf(await server.send(method, `/Employees?${query}`, body, headers))).toBe(
      '422 IdempotencyMismatch Idempotency-Key',
    )
  })

  test('stores no answer if it was refused or a dry run', async () => {
    expect((await patch('Id=1', { CompanyId: 77 }, headers)).status).toBe(409)
    expect((await patch('Id=1&dryRun=1', { JobTitle: 'x' }, headers)).body).toEqual({ rows: 1 })
    expect((await patch('Id=1', { JobTitle: 'x' }, headers)).headers.has('idempotency-replayed')).toBe(false)
  })
})
