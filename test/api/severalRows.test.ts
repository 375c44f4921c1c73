import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { errorOf, KEY, makeKey, startServer, type TestServer } from '../support/server.ts'

const NDJSON = { 'content-type': 'application/x-ndjson' }
const limitsOf = (name: string, limits: string) => makeKey({ name, limits })
const twenty = limitsOf('twenty', '20/1h')
const twelve = limitsOf('twelve', '12/1h,100/2h')
const three = limitsOf('three', '3/1h')
const writer = makeKey({ name: 'writer', rights: '*:write' })
const KEYS = [twenty, twelve, three, writer].map(({ record }) => record)

let server: TestServer
/** Another worker on the same database, with lists of its own. */
let second: TestServer
/** One without lists in memory. */
let plain: TestServer
beforeAll(async () => {
  server = await startServer({ keys: KEYS, environment: { RATE_LIMIT_CLIENTS: '9', CHANGES_VALUES: 'on' } })
  const { databaseUrl } = server
  const environment = { RATE_LIMIT_CLIENTS: '9', CHANGES_VALUES: 'on' }
  second = await startServer({ keys: KEYS, environment, databaseUrl })
  plain = await startServer({ keys: KEYS, environment: { ...environment, MEMORY_MB: '0' }, databaseUrl })
})
afterAll(async () => {
  await Promise.all([second.stop(), plain.stop()])
  await server.stop()
})
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key cascade`
})

const count = async (table: string) => (await server.sql.unsafe(`select from ${table}`)).count
const companies = (rows: number) => Array.from({ length: rows }, (_, index) => ({ name: `Name ${index}` }))
const detailsOf = ({ body }: { body: { Error: { Details: { Code: string; Target: string; Message: string }[] } } }) =>
  body.Error.Details.map(({ Code, Target }) => `${Code} ${Target}`)

describe('D59: an array of rows', () => {
  test('is created in its order, and answered as each row is by itself', async () => {
    const { id: companyId } = (await server.post('/Companies', { name: 'Copied' })).body
    const sent = [
      { lastName: 'Zoë 😀 O\'Neil "x" {1,2} \\ null', companyId, started: '2026-01-31T09:00:00+02:00' },
      {},
      { LASTNAME: '', FirstName: 'null', displayName: 'ignored' },
    ]
    const { status, headers, body } = await server.post('/Employees', sent)
    expect([status, headers.get('location'), headers.get('etag')]).toEqual([201, null, null])
    for (const [index, row] of sent.entries()) {
      const { id: _, ...alone } = (await server.post('/Employees', row)).body
      expect(body[index]).toEqual({ id: body[index].id, ...alone })
      expect((await server.get(`/Employees/${body[index].id}`)).body).toEqual(body[index])
    }
    const ids = body.map(({ id }: { id: number }) => id)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
  })

  test('of one row is answered as an array; of 1,000 rows, all are there', async () => {
    expect((await server.post('/Companies', [{ name: 'One' }])).body).toEqual([
      { id: expect.any(Number), name: 'One', enabled: false },
    ])
    const long = companies(1_000).map(({ name }) => ({ name: `${name} ${'😀"\\'.repeat(60)}` }))
    const { status, body } = await server.post('/Companies', long)
    expect([status, body.map(({ name }: { name: string }) => name)]).toEqual([201, long.map(({ name }) => name)])
    expect(await count('company')).toBe(1_001)
  })

  test('may be lines, with any end, and without one at the last', async () => {
    const text = '{"name":"A"}\r\n\n  {"Name":"B\\n"}\r\n{"name":"C","enabled":true}'
    const { status, body } = await server.send('POST', '/Companies', text, NDJSON)
    expect([status, body.map(({ name }: { name: string }) => name)]).toEqual([201, ['A', 'B\n', 'C']])
    const lines = await server.send('POST', '/Companies', text, { ...NDJSON, accept: 'application/x-ndjson' })
    expect(lines.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(
      lines.text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).name),
    ).toEqual(['A', 'B\n', 'C'])
    expect(lines.text).toEndWith('}\n')
    expect((await server.send('PUT', `/Companies/${body[0].id}`, '{"name":"A"}', NDJSON)).status).toBe(415)
  })

  test('D34: a key that may not read gets the ids alone', async () => {
    const { body } = await server.send('POST', '/Companies', companies(2), writer.headers)
    expect(body).toEqual([{ id: expect.any(Number) }, { id: expect.any(Number) }])
  })
})

describe('D59: all rows or none', () => {
  test('every fault of every row is named by its index', async () => {
    const rows = [{ lastName: 'right' }, { lastNmae: 1, title: 5 }, 'text', { companyId: 'x' }, [1], null]
    const answer = await server.post('/Employees', rows)
    expect(errorOf(answer)).toEqual({ status: 400, code: 'ValidationFailed', target: 'Body' })
    expect(detailsOf(answer)).toEqual([
      'UnknownProperty [1].lastNmae',
      'InvalidValue [1].Title',
      'InvalidValue [2]',
      'InvalidValue [3].CompanyId',
      'InvalidValue [4]',
      'InvalidValue [5]',
    ])
    expect(answer.body.Error.Details[0].Message).toBe('[1]: Employee has no property "lastNmae". Did you mean LastName?')
    expect(await count('employee')).toBe(0)
    const one = await server.post('/Absences', [{}, { start: '2026-03-02T00:00:00Z', end: '2026-03-01T00:00:00Z' }])
    expect(errorOf(one)).toEqual({ status: 400, code: 'InvalidValue', target: '[1].End' })
  })

  test('of faults there are 100 at most', async () => {
    const answer = await server.post('/Companies', Array(1_000).fill({ nmae: 1, enabled: 'x' }))
    expect(detailsOf(answer)).toHaveLength(100)
    expect(answer.body.Error.Message).toStartWith('The body has at least 100 faults')
    const missing = await server.post('/Employees', Array(1_000).fill({ companyId: 999_999, managerId: 999_999 }))
    expect([missing.status, detailsOf(missing).length]).toEqual([409, 100])
  })

  test('a reference that names no row is refused by its index', async () => {
    const { id: companyId } = (await server.post('/Companies', {})).body
    const rows = [{ companyId }, { companyId: 999_999 }, { managerId: 999_999, companyId }, { managerId: null }, {}]
    const answer = await server.post('/Employees', rows)
    expect(errorOf(answer)).toEqual({ status: 409, code: 'ReferenceNotFound', target: 'Body' })
    expect(detailsOf(answer)).toEqual(['ReferenceNotFound [1].CompanyId', 'ReferenceNotFound [2].ManagerId'])
    expect(await count('employee')).toBe(0)
  })

  test.each([
    ['[]', 'InvalidRows', 400],
    [' [ ] ', 'InvalidRows', 400],
    [JSON.stringify(companies(1_001)), 'InvalidRows', 400],
    ['[{"name":"A"},]', 'InvalidJson', 400],
    ['[{"name":"A"}', 'InvalidJson', 400],
    ['[{"name":"A"}] {}', 'InvalidJson', 400],
    ['[,{}]', 'InvalidJson', 400],
    ['[{}}]', 'InvalidJson', 400],
    ['[{"name":"A]', 'InvalidJson', 400],
    [`[{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`, 'InvalidJson', 400],
    [`[{"name":[${'1,'.repeat(100_000)}1]}]`, 'InvalidJson', 400],
    [`[{}${' '.repeat(2 * 1_024 * 1_024)}]`, 'PayloadTooLarge', 413],
    [`[{"name":"${'x'.repeat(1_024 * 1_024)}"}]`, 'PayloadTooLarge', 413],
  ])('%.20s… is %s', async (text, code, status) => {
    expect(errorOf(await server.send('POST', '/Companies', text))).toMatchObject({ status, code })
    expect(await count('company')).toBe(0)
  })

  test('what is no JSON is named by its index', async () => {
    const { body } = await server.send('POST', '/Companies', '[\n  {"name": "A"},\n  {"name" "B"}\n]')
    expect([body.Error.Target, body.Error.Message]).toEqual(['[1]', expect.stringContaining("[1] is not JSON: Expected ':'")])
    const lines = await server.send('POST', '/Companies', '{"name":"A"}\n{"name":"B"} {}\n', NDJSON)
    expect(lines.body.Error.Message).toStartWith('[1] is not JSON: ')
  })

  test('a body of 2 MiB is read, and of one byte more is not', async () => {
    const row = `{"name":"x"${' '.repeat(20_000)}}`
    const rows = Array(100).fill(row).join()
    const padded = (bytes: number) => `[${rows}${' '.repeat(bytes - rows.length - 2)}]`
    expect((await server.send('POST', '/Companies', padded(2 * 1_024 * 1_024))).status).toBe(201)
    expect((await server.send('POST', '/Companies', padded(2 * 1_024 * 1_024 + 1))).status).toBe(413)
    const lines = `${Array(100).fill(row).join('\n')}\n`
    const stream = new Blob([lines]).stream()
    const headers = { authorization: `ApiKey ${KEY}`, ...NDJSON }
    expect((await fetch(`${server.url}/Companies`, { method: 'POST', headers, body: stream })).status).toBe(201)
  })
})

describe('D59: dryRun=1', () => {
  test('checks all, references too, and writes nothing', async () => {
    const right = await server.post('/Companies?dryRun=1', companies(3))
    expect([right.status, right.body]).toEqual([200, { rows: 3 }])
    expect((await server.post('/Companies?DRYRUN=1', { name: 'One' })).body).toEqual({ rows: 1 })
    const wrong = await server.post('/Employees?dryRun=1', [{}, { companyId: 999_999 }])
    expect(errorOf(wrong)).toEqual({ status: 409, code: 'ReferenceNotFound', target: '[1].CompanyId' })
    // One object's fault is named as without.
    const [checked, sent] = await Promise.all(
      ['?dryRun=1', ''].map((query) => server.post(`/Employees${query}`, { companyId: 999_999 })),
    )
    expect([checked?.status, checked?.body]).toEqual([409, sent?.body])
    expect((await server.post('/Employees?dryRun=1', [{ title: 1 }])).status).toBe(400)
    expect([await count('company'), await count('employee')]).toEqual([0, 0])
    expect((await server.post('/Companies?dryRun=0', companies(2))).status).toBe(201)
  })

  test('leaves an Idempotency-Key unused', async () => {
    const key = { 'Idempotency-Key': 'dry' }
    expect((await server.send('POST', '/Companies?dryRun=1', companies(2), key)).status).toBe(200)
    expect((await server.send('POST', '/Companies', companies(3), key)).status).toBe(201)
  })

  test('an Idempotency-Key that is none is refused, of one row and of several', async () => {
    for (const body of [{ Name: 'Acme' }, companies(2)]) {
      const answer = await server.send('POST', '/Companies?dryRun=1', body, { 'idempotency-key': 'a,b' })
      expect([answer.status, answer.body.Error.Target]).toEqual([400, 'Idempotency-Key'])
    }
  })

  test.each(['dryRun=yes', 'dryRun', 'dryRun=1&dryrun=1', 'dry=1'])('%s is refused', async (query) => {
    const { status, code } = errorOf(await server.post(`/Companies?${query}`, companies(1)))
    expect([status, code]).toEqual([400, query === 'dry=1' ? 'UnknownParameter' : 'InvalidDryRun'])
  })
})

describe('D59: counts as a request for each 100 rows begun', () => {
  const remaining = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining'))

  test('whatever becomes of it, and no more', async () => {
    const send = (rows: unknown, query = '') => server.send('POST', `/Companies${query}`, rows, twenty.headers)
    expect(remaining(await send({ name: 'x' }))).toBe(19)
    expect(remaining(await send(companies(100)))).toBe(18)
    expect(remaining(await send(companies(101)))).toBe(16)
    expect(remaining(await send(companies(250), '?dryRun=1'))).toBe(13)
    expect(remaining(await send([...companies(200), { nmae: 1 }]))).toBe(10)
    const whole = await send(companies(1_000))
    expect([whole.status, remaining(whole)]).toEqual([201, 0])
    expect((await send({ name: 'x' })).status).toBe(429)
  })

  test('and at least for each 200 KiB, also where no row can be found in it', async () => {
    const escapes = `[{"Name":"${'\\"'.repeat(450_000)}`
    const refused = await second.send('POST', '/Companies', escapes, twenty.headers)
    expect(errorOf(refused)).toEqual({ status: 400, code: 'InvalidJson', target: '[0]' })
    expect(remaining(refused)).toBe(20 - 5)
  })

  test('where they do not fit, nothing is written, and only the first is charged', async () => {
    const send = (rows: unknown) => server.send('POST', '/Companies', rows, twelve.headers)
    expect((await send(companies(500))).status).toBe(201)
    const refused = await send(companies(1_000))
    expect(errorOf(refused)).toEqual({ status: 429, code: 'RateLimitExceeded', target: 'Api' })
    expect([refused.headers.get('x-ratelimit-limit'), remaining(refused)]).toEqual(['1h', 0])
    const [seconds, hour] = [Number(refused.headers.get('retry-after')), 3_600]
    expect(seconds).toBeWithin(hour - 60, hour + 1)
    expect(await count('company')).toBe(500)
    // 12 - 5 - 1
    expect((await send(companies(600))).status).toBe(201)
  })

  test('more than the limits ever allow is no matter of waiting', async () => {
    const refused = await server.send('POST', '/Companies', companies(301), three.headers)
    expect(errorOf(refused)).toEqual({ status: 400, code: 'InvalidRows', target: 'Body' })
    expect(refused.body.Error.Message).toBe(
      'The body counts as 4 requests, and the key may send 3 per 1h: send fewer rows, up to 100 or 200 KiB for each request.',
    )
    expect((await server.send('POST', '/Companies', companies(200), three.headers)).status).toBe(201)
  })
})

describe('D43: under an Idempotency-Key', () => {
  const under = (key: string) => ({ 'Idempotency-Key': key })

  test('all rows are created once, and answered the same by each worker', async () => {
    const rows = [{ name: 'Zoë "x" {1,2} \\ null' }, { name: null, enabled: true }, { name: '' }]
    const first = await server.send('POST', '/Companies', rows, under('once'))
    await server.remove(`/Companies/${first.body[1].id}`)
    for (const from of [server, second, plain]) {
      const again = await from.send('POST', '/Companies', [...rows], under('once'))
      expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true'])
    }
    const lines = rows.map((row) => JSON.stringify(row)).join('\n')
    expect((await server.send('POST', '/Companies', lines, { ...NDJSON, ...under('once') })).text).toBe(first.text)
    expect(await count('company')).toBe(2)
  })

  test.each([
    ['other values', [{ name: 'A' }, { name: 'C' }]],
    ['another order', [{ name: 'B' }, { name: 'A' }]],
    ['fewer rows', [{ name: 'A' }]],
    ['one object', { name: 'A' }],
  ])('%s are a mismatch', async (_, body) => {
    expect((await server.send('POST', '/Companies', [{ name: 'A' }, { name: 'B' }], under('used'))).status).toBe(201)
    const other = await server.send('POST', '/Companies', body, under('used'))
    expect([other.status, other.body.Error.Code]).toEqual([422, 'IdempotencyMismatch'])
    expect(await count('company')).toBe(2)
  })

  test('an array of one row is not the row', async () => {
    expect((await server.send('POST', '/Companies', { name: 'A' }, under('alone'))).status).toBe(201)
    expect((await server.send('POST', '/Companies', [{ name: 'A' }], under('alone'))).status).toBe(422)
  })

  test('of many at once, of two workers, exactly one is done', async () => {
    const sent = Array.from({ length: 12 }, (_, index) =>
      (index % 2 === 0 ? server : second).send('POST', '/Companies', companies(20), under('many')),
    )
    const answers = await Promise.all(sent)
    expect(new Set(answers.map(({ status }) => status)).difference(new Set([201, 409])).size).toBe(0)
    expect(answers.some(({ status }) => status === 201)).toBe(true)
    expect(await count('company')).toBe(20)
  })

  test('a refusal keeps nothing', async () => {
    const rows = [{ managerId: null }, { companyId: 999_999 }]
    expect((await server.send('POST', '/Employees', rows, under('refused'))).status).toBe(409)
    expect((await server.send('POST', '/Employees', [{}], under('refused'))).status).toBe(201)
  })
})

test('lists of all workers have the rows right behind it, few or many', async () => {
  const total = async (from: TestServer) => {
    const { headers, body } = await from.get('/Employees?sort=-Id&Status=Current')
    return [Number(headers.get('x-total-count')), body[0]?.lastName]
  }
  for (const from of [server, second, server, second]) expect(await total(from)).toEqual([0, undefined])
  let all = 0
  for (const rows of [2, 1_000, 3, 900]) {
    const sent = Array.from({ length: rows }, (_, index) => ({
      ...{ lastName: `${rows}-${index}`, status: 'Current', jobTitle: 'x'.repeat(100) },
    }))
    const { status } = await server.post('/Employees', sent)
    all += rows
    expect(status).toBe(201)
    expect(await total(server)).toEqual([all, `${rows}-${rows - 1}`])
    expect(await total(second)).toEqual([all, `${rows}-${rows - 1}`])
  }
})

test('a server without lists in memory creates them as the others do', async () => {
  const { id: companyId } = (await plain.post('/Companies', { name: 'Copied' })).body
  const key = { 'Idempotency-Key': 'plain' }
  const first = await plain.send('POST', '/Employees', [{ companyId }, { lastName: 'B' }], key)
  expect([first.status, first.body.map(({ company }: { company: string }) => company)]).toEqual([201, ['Copied', null]])
  for (const from of [plain, server])
    expect((await from.send('POST', '/Employees', [{ companyId }, { lastName: 'B' }], key)).text).toBe(first.text)
  expect((await plain.post('/Employees', [{ companyId: 999_999 }])).status).toBe(409)
  expect((await plain.get('/Employees')).headers.get('x-total-count')).toBe('2')
})

test('a process is at 8 bodies of several rows at a time, of one key 4', async () => {
  const lock = await second.sql.reserve()
  await lock`begin`
  await lock`lock table company in share mode`
  const own = [1, 2, 3, 4].map(() => second.send('POST', '/Companies', companies(1)))
  // One that came before the fourth of them waits, too, and is done.
  let refused = second.send('POST', '/Companies', companies(1))
  while ((await Promise.race([refused, Bun.sleep(300)])) === undefined) {
    own.push(refused)
    refused = second.send('POST', '/Companies', companies(1))
  }
  expect(errorOf(await refused)).toEqual({ status: 503, code: 'ServiceUnavailable', target: 'Api' })
  expect((await refused).headers.get('retry-after')).toBe('5')
  // Others have their places, and single rows need none.
  const others = [second.send('POST', '/Companies', companies(1), twelve.headers), second.post('/Companies', { name: 'One' })]
  expect(await Promise.race([...others, Bun.sleep(100)])).toBe(undefined)
  await lock`commit`
  lock.release()
  const statuses = (await Promise.all([...own, ...others])).map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(6)
  expect((await second.send('POST', '/Companies', companies(1))).status).toBe(201)
})

test('bodies of several rows that do not come to their end take no place', async () => {
  const ends: (() => Promise<number>)[] = []
  for (const key of [...Array(8).fill({ authorization: `ApiKey ${KEY}` }), ...Array(8).fill(twelve.headers)]) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const headers = { ...key, 'content-type': 'application/json' }
    const answer = fetch(`${second.url}/Companies`, { method: 'POST', headers, body: readable })
    // More than one row may have.
    await writer.write(
      new TextEncoder().encode(
        `[${Array(60)
          .fill(`{"name":"A"${' '.repeat(20_000)}}`)
          .join()}`,
      ),
    )
    ends.push(async () => {
      await writer.write(new TextEncoder().encode(']'))
      await writer.close()
      return (await answer).status
    })
  }
  for (const headers of [undefined, twelve.headers])
    expect((await second.send('POST', '/Companies', companies(1), headers)).status).not.toBe(503)
  for (const end of ends) expect([201, 429]).toContain(await end())
})

test('leaves a line of each row in what has changed', async () => {
  const { next } = (await server.get('/Changes?after=now')).body
  const { body } = await server.post('/Companies', companies(150))
  const { changes } = (await server.get(`/Changes?after=${next}&PageSize=500`)).body
  expect(changes.map(({ id, action }: { id: number; action: string }) => [id, action])).toEqual(
    body.map(({ id }: { id: number }) => [id, 'create']),
  )
  const history = (await server.get(`/Companies/${body[7].id}/Changes`)).body.changes
  expect(history).toMatchObject([{ action: 'create', after: { Name: 'Name 7' } }])
})

test('writes of others beside it are done, and hold it up no longer than their locks', async () => {
  const { id: companyId } = (await server.post('/Companies', { name: 'Before' })).body
  const rows = Array.from({ length: 300 }, () => ({ companyId }))
  const answers = await Promise.all([
    ...[1, 2, 3].map(() => server.post('/Employees', rows)),
    ...[1, 2, 3].map((one) => server.patch(`/Companies/${companyId}`, { name: `After ${one}` })),
    ...[1, 2, 3, 4, 5].map(() => server.post('/Employees', { companyId })),
  ])
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 200, 200, 200, 201, 201, 201, 201, 201])
  const [{ name }] = (await server.sql`select name from company`) as unknown as [{ name: string }]
  expect((await server.sql`select from employee where company is distinct from ${name}`).count).toBe(0)
  expect(await count('employee')).toBe(905)
})
