import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { LogFields, LogLevel } from '../../src/log.ts'
import { ask, outcomeOf, type Request } from '../support/cases.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { createRow } from '../support/rows.ts'
import { type Answer, KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

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
const log = quietLog({
  debug: write('debug'),
  info: write('info'),
  warn: write('warn'),
  error: write('error'),
  isEnabled: () => true,
})

const server = useServer({ log })
beforeAll(async () => {
  await createRow(server, '/Companies', { Name: 'Acme' })
})

const idOf = (answer: Answer) => answer.headers.get('x-request-id')
/** A request id as the server makes one. */
const SANE = /^[\w.-]{8,}$/

/** A request that is refused without harm for each kind of target that an error may have. */
const refusals: readonly (readonly [expected: string, ...Request])[] = [
  ['401 Unauthorized Api', 'GET /Companies', undefined, { authorization: 'ApiKey wrong' }],
  ['404 NotFound Api', 'GET /Nowhere'],
  ['405 MethodNotAllowed Api', 'PUT /Companies'],
  ['400 UnknownParameter Nmae', 'GET /Companies?Nmae=x'],
  ['400 InvalidQueryString Api', 'GET /Companies?Name=%ZZ'],
  ['400 InvalidFilter Start', 'GET /Absences?Start=x'],
  ['400 InvalidCursor cursor', 'GET /Companies?page=2&cursor=x'],
  ['400 InvalidPageSize PageSize', 'GET /Companies?PageSize=x'],
  ['400 InvalidJson Body', 'POST /Companies', 'x'],
  ['400 UnknownProperty Nmae', 'POST /Companies', { Nmae: 'x' }],
  ['400 InvalidValue Period.Days', 'POST /Absences', { Period: { Days: -1 } }],
  ['400 ValidationFailed Body', 'POST /Companies', { Name: 5, Enabled: 5 }],
  ['409 ReferenceNotFound EmployeeId', 'POST /Absences', { EmployeeId: 999_999 }],
  ['415 UnsupportedMediaType Body', 'POST /Companies', 'x', { 'content-type': 'a/b' }],
]
/** Codes whose Details have the faults of a body; those of other errors are null. */
const OF_BODIES = ['UnknownProperty', 'InvalidValue', 'ValidationFailed', 'ReferenceNotFound']

describe('7 Errors', () => {
  test.each(refusals.map((row) => [row] as const))(
    'D38, D40: the error %j has the body of the spec and a request id, and its page needs no key',
    async ([expected, ...request]) => {
      const answer = await ask(server, request)
      expect(outcomeOf(answer)).toBe(expected)
      expect(Object.keys(answer.body)).toEqual(['Error'])
      expect(Object.keys(answer.body.Error)).toEqual(['Code', 'Reference', 'Target', 'Message', 'Details'])
      const { Code, Reference, Message, Details } = answer.body.Error
      expect(Reference).toBe(`${server.url}/errors/${Code}`)
      expect(Message).toMatch(/^\w.*[.?]$/s)
      expect(Details === null).toBe(!OF_BODIES.includes(Code))
      for (const fault of Details ?? []) expect(Object.keys(fault)).toEqual(['Code', 'Target', 'Message'])
      expect(idOf(answer)).toMatch(SANE)
      const page = await fetch(Reference, { headers: { accept: 'text/html' } })
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect(await page.text()).toContain(`<h1>${Code}</h1>`)
    },
  )

  test('D38: texts of the client are returned as text, not as markup or a header', async () => {
    const name = '<script>\r\nX-Evil: 1\r\n"\\</script>'
    const answer = await server.get(`/Companies?${encodeURIComponent(name)}=1`)
    expect(outcomeOf(answer)).toBe(`400 UnknownParameter ${name}`)
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

  test('D39: a failure is 500 with a fixed text and the request id, without its cause', async () => {
    await failWith('22012')
    const { status, text, body, headers } = await server.post('/Companies', { Name: 'of the client' })
    const id = headers.get('x-request-id')
    expect([status, body.Error.Code, body.Error.Target]).toEqual([500, 'InternalError', 'Api'])
    expect(body.Error.Message).toBe(`The server failed. Its log has the details under request id ${id}.`)
    expect(text).not.toMatch(/secret|of the client|insert|22012/i)
    const line = lines.findLast(({ level }) => level === 'error')
    expect(line?.fields.requestId).toBe(id as string)
    expect(String(line?.fields.error)).toContain('secret of the table')
  })

  test.each([
    ['a full disk', '53100'],
    ['no memory', '53200'],
  ])('D39: writes to a database with %s are 503 with Retry-After, and reads are answered', async (_, code) => {
    await failWith(code)
    const answer = await server.post('/Companies', { Name: 'x' })
    expect([outcomeOf(answer), answer.text.includes('secret')]).toEqual(['503 ServiceUnavailable Api', false])
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect((await server.get('/Companies')).status).toBe(200)
  })
})

describe('7 Request ids', () => {
  test('D40: each request without an id gets a new one', async () => {
    const answers = [await server.get('/Companies'), await server.get('/'), await server.send('OPTIONS', '/Companies')]
    answers.push(await server.get('/errors/NotFound'), await server.send('HEAD', '/Companies'))
    const ids = answers.map(idOf)
    for (const id of ids) expect(id).toMatch(SANE)
    expect(new Set(ids).size).toBe(5)
  })

  test('D40: the log line of a request has its id, and neither its key nor its query string', async () => {
    await server.get('/Companies?Name=somebody', { 'x-request-id': 'in-the-log' })
    const own = lines.filter(({ fields }) => fields.requestId === 'in-the-log')
    expect(own).toHaveLength(1)
    const text = JSON.stringify(own)
    expect(text).toContain('GET /Companies 200')
    expect(text).not.toContain('somebody')
    expect(text).not.toContain(KEY)
  })

  test('the log line of a request has the ids of a valid traceparent, and none of an invalid one', async () => {
    const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
    for (const [id, end, expected] of [['traced', '', [traceId, spanId]] as const, ['untraced', '-x', []] as const]) {
      const headers = { 'x-request-id': id, traceparent: `00-${traceId}-${spanId}-01${end}` }
      expect((await server.get('/Companies', headers)).status).toBe(200)
      const { fields } = lines.find(({ fields }) => fields.requestId === id) ?? {}
      expect([fields?.traceId, fields?.spanId].filter(Boolean)).toEqual([...expected])
    }
  })
})

describe('a slow statement', () => {
  const own = useServer({ log, environment: { SLOW_STATEMENT_MS: '30' } })

  test('is logged with its SQL, and without a value', async () => {
    const { id } = await createRow(own, '/Companies', { Name: 'Slow' })
    let writing: Promise<Answer> | undefined
    await own.sql.begin(async (sql) => {
      await sql`select 1 from company where id = ${id} for update`
      writing = own.patch(`/Companies/${id}`, { Name: 'Secretive' })
      await until(async () => (await own.sql`select from pg_stat_activity where wait_event_type = 'Lock'`).count > 0)
      await Bun.sleep(50)
    })
    expect((await writing)?.status).toBe(200)
    const slow = lines.filter(({ message }) => message === 'a slow statement')
    const update = slow.find(({ fields }) => /^(with|update).*"company"/s.test(String(fields.statement)))
    expect(update?.level).toBe('warn')
    expect(Number(update?.fields.ms)).toBeGreaterThan(0)
    expect(JSON.stringify(slow)).not.toContain('Secretive')
  })
})
