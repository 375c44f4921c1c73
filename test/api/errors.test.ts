import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Log, LogFields, LogLevel } from '../../src/log.ts'
import { connect } from '../support/postgres.ts'
import { createRow } from '../support/rows.ts'
import { type Answer, errorOf, KEY, startServer, type TestServer } from '../support/server.ts'

interface Line {
  level: LogLevel
  message: string
  fields: LogFields
}

const lines: Line[] = []
const write =
  (level: LogLevel) =>
  (message: string, fields: LogFields = {}) =>
    void lines.push({ level, message, fields })
const log: Log = {
  debug: write('debug'),
  info: write('info'),
  warn: write('warn'),
  error: write('error'),
  async flush() {},
  isEnabled: () => true,
}

let server: TestServer
beforeAll(async () => {
  server = await startServer({ log })
  await createRow(server, '/Companies', { Name: 'Acme' })
})
afterAll(() => server.stop())

/** Every request that can be refused without harm, with its status and code. */
const refusals: [string, number, string, () => Promise<Answer>][] = [
  ['a wrong key', 401, 'Unauthorized', () => server.get('/Companies', { authorization: 'ApiKey wrong' })],
  ['an unknown path', 404, 'NotFound', () => server.get('/Nowhere')],
  ['an unknown id', 404, 'NotFound', () => server.get('/Companies/999999')],
  ['a wrong method', 405, 'MethodNotAllowed', () => server.remove('/Companies')],
  ['an unknown parameter', 400, 'UnknownParameter', () => server.get('/Companies?Nmae=x')],
  ['a bad escape', 400, 'InvalidQueryString', () => server.get('/Companies?Name=%ZZ')],
  ['a bad filter', 400, 'InvalidFilter', () => server.get('/Companies?Id=x')],
  ['a bad sort', 400, 'InvalidSort', () => server.get('/Companies?sort=x')],
  ['a bad page', 400, 'InvalidPage', () => server.get('/Companies?page=0')],
  ['a bad cursor', 400, 'InvalidCursor', () => server.get('/Companies?page=2&cursor=x')],
  ['a bad page size', 400, 'InvalidPageSize', () => server.get('/Companies?PageSize=x')],
  ['no JSON', 400, 'InvalidJson', () => server.post('/Companies', 'x')],
  ['an unknown property', 400, 'UnknownProperty', () => server.post('/Companies', { Nmae: 'x' })],
  ['a property twice', 400, 'DuplicateProperty', () => server.post('/Companies', { Name: 'x', name: 'y' })],
  ['a bad value', 400, 'InvalidValue', () => server.post('/Companies', { Name: 5 })],
  ['several faults', 400, 'ValidationFailed', () => server.post('/Companies', { Name: 5, Enabled: 5 })],
  ['a reference to nothing', 409, 'ReferenceNotFound', () => server.post('/Absences', { EmployeeId: 999999 })],
  ['another type', 415, 'UnsupportedMediaType', () => server.send('POST', '/Companies', 'x', { 'content-type': 'a/b' })],
]

describe('7 Errors', () => {
  test.each(refusals)('D38: %s has the body of the spec, and its page is served to all', async (_, status, code, ask) => {
    const answer = await ask()
    expect(errorOf(answer)).toMatchObject({ status, code })
    expect(Object.keys(answer.body)).toEqual(['Error'])
    expect(Object.keys(answer.body.Error)).toEqual(['Code', 'Reference', 'Target', 'Message', 'Details'])
    const { Reference, Message, Target } = answer.body.Error
    expect(Reference).toBe(`${server.url}/errors/${code}`)
    expect(Message).toMatch(/^\w.*[.?]$/s)
    expect(Target).toMatch(/./)
    const page = await fetch(Reference, { headers: { accept: 'text/html' } })
    expect({ status: page.status, type: page.headers.get('content-type') }).toEqual({
      ...{ status: 200, type: 'text/html; charset=utf-8' },
    })
    expect(await page.text()).toContain(`<h1>${code}</h1>`)
  })

  test('D38: Target is Api, Body, the property or the parameter', async () => {
    const targets = {
      Api: await server.get('/Nowhere'),
      Body: await server.post('/Companies', 'x'),
      Enabled: await server.post('/Companies', { Enabled: 1 }),
      'Period.Days': await server.post('/Absences', { Period: { Days: -1 } }),
      EmployeeId: await server.post('/Absences', { EmployeeId: 999_999 }),
      Start: await server.get('/Absences?Start=x'),
      Nmae: await server.get('/Companies?Nmae=x'),
      PageSize: await server.get('/Companies?PageSize=x'),
    }
    for (const [target, answer] of Object.entries(targets)) expect(errorOf(answer).target).toBe(target)
  })

  test('D38: Details is null, or an array of Code, Target and Message', async () => {
    expect((await server.get('/Nowhere')).body.Error.Details).toBeNull()
    expect((await server.get('/Companies?Id=x')).body.Error.Details).toBeNull()
    const { Details } = (await server.post('/Companies', { Name: 5, Enabled: 5 })).body.Error
    expect(Details.map((fault: object) => Object.keys(fault))).toEqual(Array(2).fill(['Code', 'Target', 'Message']))
  })

  test('D38: what a client sent comes back as text, not as markup or a header', async () => {
    const name = '<script>\r\nX-Evil: 1\r\n"\\</script>'
    const answer = await server.get(`/Companies?${encodeURIComponent(name)}=1`)
    expect(errorOf(answer)).toEqual({ status: 400, code: 'UnknownParameter', target: name })
    expect(answer.headers.has('x-evil')).toBe(false)
  })
})

describe('7 Failures', () => {
  /** Makes the database answer every new company with this SQLSTATE. */
  const failWith = (code: string) =>
    server.sql.unsafe(`
      create or replace function fail() returns trigger language plpgsql as $$
        begin raise exception 'secret of the table' using errcode = '${code}'; end $$;
      create or replace trigger fail before insert on company execute function fail()`)
  afterEach(async () => {
    await server.sql`drop trigger if exists fail on company`
  })

  test('D39: a failure is 500 with a fixed text and the request id, and nothing of the cause', async () => {
    await failWith('22012')
    const { status, text, body, headers } = await server.post('/Companies', { Name: 'of the client' })
    const id = headers.get('x-request-id')
    expect({ status, code: body.Error.Code, target: body.Error.Target }).toEqual({
      ...{ status: 500, code: 'InternalError', target: 'Api' },
    })
    expect(body.Error.Message).toBe(`The server failed. Its log has the details under request id ${id}.`)
    expect(text).not.toMatch(/secret|of the client|insert|22012/i)
    const line = lines.findLast(({ level }) => level === 'error')
    expect(line?.fields.requestId).toBe(id as string)
    expect(String(line?.fields.error)).toContain('secret of the table')
  })

  test.each([
    ['a full disk', '53100'],
    ['no memory', '53200'],
  ])('D39: a database with %s is 503 with Retry-After, and reads go on', async (_, code) => {
    await failWith(code)
    const answer = await server.post('/Companies', { Name: 'x' })
    expect(errorOf(answer)).toEqual({ status: 503, code: 'ServiceUnavailable', target: 'Api' })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(answer.text).not.toContain('secret')
    expect((await server.get('/Companies')).status).toBe(200)
  })

  test('D39: a query slower than its deadline is 503 with Retry-After, the next one is served', async () => {
    const answers = await server.sql.begin(async (sql) => {
      await sql`lock table company in access exclusive mode`
      return Promise.all([server.get('/Companies/1'), server.post('/Companies', { Name: 'Late' })])
    })
    for (const answer of answers) {
      expect(errorOf(answer)).toEqual({ status: 503, code: 'ServiceUnavailable', target: 'Api' })
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    }
    const { status, body } = await server.get('/Companies?Name=Late')
    expect({ status, body }).toEqual({ status: 200, body: [] })
  }, 15_000)

  test('D39: a database that was never there is 503 with Retry-After', async () => {
    const alone = await startServer({ log, databaseUrl: 'postgres://roster:roster@127.0.0.1:1/roster' })
    try {
      for (const answer of [await alone.get('/Companies'), await alone.post('/Companies', { Name: 'x' })]) {
        expect(errorOf(answer)).toEqual({ status: 503, code: 'ServiceUnavailable', target: 'Api' })
        expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      }
      expect((await alone.get('/livez')).status).toBe(200)
      expect(errorOf(await alone.get('/readyz'))).toMatchObject({ status: 503, code: 'ServiceUnavailable' })
    } finally {
      await alone.stop()
    }
  }, 15_000)

  const away: [string, (name: string) => string, (name: string) => string][] = [
    [
      'is gone',
      (name) => `alter database ${name} rename to ${name}_away`,
      (name) => `alter database ${name}_away rename to ${name}`,
    ],
    [
      'takes no connections',
      (name) => `alter database ${name} allow_connections false`,
      (name) => `alter database ${name} allow_connections true`,
    ],
  ]

  test.each(away)(
    'D39: a database that %s is 503 with Retry-After until it is back',
    async (_, take, giveBack) => {
      const victim = await startServer({ log })
      const url = new URL(victim.databaseUrl)
      const name = url.pathname.slice(1)
      url.pathname = '/postgres'
      const admin = connect(url.href)
      try {
        expect((await victim.get('/Companies')).status).toBe(200)
        await victim.sql.end()
        await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
        await admin.unsafe(take(name))
        for (const answer of [await victim.get('/Companies'), await victim.post('/Companies', { Name: 'x' })]) {
          expect(errorOf(answer)).toEqual({ status: 503, code: 'ServiceUnavailable', target: 'Api' })
          expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
        }
        await admin.unsafe(giveBack(name))
        expect(await victim.get('/Companies')).toMatchObject({ status: 200, body: [] })
      } finally {
        await admin.end()
        await victim.stop()
      }
    },
    15_000,
  )
})

describe('7 Request ids', () => {
  const idOf = (answer: Answer) => answer.headers.get('x-request-id')

  test.each(refusals)('D40: the answer to %s carries an id', async (_, _status, _code, ask) => {
    expect(idOf(await ask())).toMatch(/^[\w.-]{8,}$/)
  })

  test('D40: each request without one gets a new id', async () => {
    const answers = [await server.get('/Companies'), await server.get('/'), await server.send('OPTIONS', '/Companies')]
    answers.push(await server.get('/errors/NotFound'), await server.send('HEAD', '/Companies'))
    const ids = answers.map(idOf)
    for (const id of ids) expect(id).toMatch(/^[\w.-]{8,}$/)
    expect(new Set(ids).size).toBe(5)
  })

  test.each(['abc', '4bf92f35-77b3', 'Root=1-67891233-abcdef', 'x'.repeat(128)])('D40: %s is kept', async (id) => {
    expect(idOf(await server.get('/Companies', { 'x-request-id': id }))).toBe(id)
    expect(idOf(await server.get('/Nowhere', { 'x-request-id': id }))).toBe(id)
  })

  test.each(['two words', '<b>', '"quoted"', 'x'.repeat(129), 'a,b;c', '\u00e9'])('D40: %s is not sane: a new id', async (id) => {
    const own = idOf(await server.get('/Companies', { 'x-request-id': id }))
    expect(own).not.toBe(id)
    expect(own).toMatch(/^[\w.-]{8,}$/)
  })

  test('D40: the log has the id, and neither key nor query string', async () => {
    await server.get('/Companies?Name=somebody', { 'x-request-id': 'in-the-log' })
    const own = lines.filter(({ fields }) => fields.requestId === 'in-the-log')
    expect(own).toHaveLength(1)
    const text = JSON.stringify(own)
    expect(text).toContain('GET /Companies 200')
    expect(text).not.toContain('somebody')
    expect(text).not.toContain(KEY)
  })
})
