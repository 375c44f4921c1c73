import { beforeEach, describe, expect, test } from 'bun:test'
import { faultsOf, outcomeOf, untilServed } from '../support/cases.ts'
import { KEY, makeKey, type TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const NDJSON = { 'content-type': 'application/x-ndjson' }
const limitsOf = (name: string, limits: string) => makeKey({ name, limits })
const twenty = limitsOf('twenty', '20/1h')
const twelve = limitsOf('twelve', '12/1h,100/2h')
const three = limitsOf('three', '3/1h')
const bytes = limitsOf('bytes', '3/1h')
const writer = makeKey({ name: 'writer', rights: '*:write' })
const KEYS = [twenty, twelve, three, bytes, writer].map(({ record }) => record)

const environment = { RATE_LIMIT_CLIENTS: '9', CHANGES_VALUES: 'on' }
const server = useServer({ keys: KEYS, environment })
/** Another worker on the same database, with lists of its own. */
const second = useServer(() => ({ keys: KEYS, environment, databaseUrl: server.databaseUrl }))
/** One without lists in memory. */
const plain = useServer(() => ({
  ...{ keys: KEYS, environment: { ...environment, MEMORY_MB: '0' }, databaseUrl: server.databaseUrl },
}))
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key cascade`
})

const count = async (table: string) => (await server.sql.unsafe(`select from ${table}`)).count
const companies = (rows: number) => Array.from({ length: rows }, (_, index) => ({ name: `Name ${index}` }))
const namesOf = (body: { name: string }[]) => body.map(({ name }) => name)
/** Creates companies, with a key's headers or under an Idempotency-Key. */
const post = (rows: unknown, headers: Record<string, string> = {}, from = server) =>
  from.send('POST', '/Companies', rows, headers)

describe('D59: an array of rows', () => {
  test('is created in its order, and each row in the answer is as if it had been created by itself', async () => {
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

  test('is answered with an array of all rows, whether it has one row or 1,000', async () => {
    expect((await post([{ name: 'One' }])).body).toEqual([{ id: expect.any(Number), name: 'One', enabled: false }])
    const long = companies(1_000).map(({ name }) => ({ name: `${name} ${'😀"\\'.repeat(60)}` }))
    const { status, body } = await post(long)
    expect([status, namesOf(body)]).toEqual([201, namesOf(long)])
    expect(await count('company')).toBe(1_001)
  })

  test('may also be sent as NDJSON, with any line ends, and without a line end after the last row', async () => {
    const text = '{"name":"A"}\r\n\n  {"Name":"B\\n"}\r\n{"name":"C","enabled":true}'
    const { status, body } = await post(text, NDJSON)
    expect([status, namesOf(body)]).toEqual([201, ['A', 'B\n', 'C']])
    const lines = await post(text, { ...NDJSON, accept: 'application/x-ndjson' })
    expect(lines.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(namesOf(Bun.JSONL.parse(lines.text) as { name: string }[])).toEqual(['A', 'B\n', 'C'])
    expect(lines.text).toEndWith('}\n')
    expect((await server.send('PUT', `/Companies/${body[0].id}`, '{"name":"A"}', NDJSON)).status).toBe(415)
    const typed = async (charset: string) =>
      (await post(text, { 'content-type': `application/x-ndjson; charset=${charset}` })).status
    expect([await typed('utf8'), await typed('UTF-8'), await typed('utf16')]).toEqual([201, 201, 415])
  })

  test('D34: is answered with the ids only to a key that may not read', async () => {
    const { body } = await post(companies(2), writer.headers)
    expect(body).toEqual([{ id: expect.any(Number) }, { id: expect.any(Number) }])
  })
})

describe('D59: several rows are all written, or none', () => {
  test('every fault of every row is named with its index', async () => {
    const rows = [{ lastName: 'right' }, { lastNmae: 1, title: 5 }, 'text', { companyId: 'x' }, [1], null]
    const answer = await server.post('/Employees', rows)
    expect(outcomeOf(answer)).toBe('400 ValidationFailed Body')
    expect(faultsOf(answer)).toEqual([
      ...['UnknownProperty [1].lastNmae', 'InvalidValue [1].Title', 'InvalidValue [2]', 'InvalidValue [3].CompanyId'],
      ...['InvalidValue [4]', 'InvalidValue [5]'],
    ])
    expect(answer.body.Error.Details[0].Message).toBe('[1]: Employee has no property "lastNmae". Did you mean LastName?')
    expect(await count('employee')).toBe(0)
    const one = await server.post('/Absences', [{}, { start: '2026-03-02T00:00:00Z', end: '2026-03-01T00:00:00Z' }])
    expect(outcomeOf(one)).toBe('400 InvalidValue [1].End')
  })

  test('at most 100 faults are named', async () => {
    const answer = await post(Array(1_000).fill({ nmae: 1, enabled: 'x' }))
    expect(faultsOf(answer)).toHaveLength(100)
    expect(answer.body.Error.Message).toStartWith('The body has at least 100 faults')
    const missing = await server.post('/Employees', Array(1_000).fill({ companyId: 999_999, managerId: 999_999 }))
    expect([missing.status, faultsOf(missing).length]).toEqual([409, 100])
  })

  test('a reference to a missing row is refused with its index', async () => {
    const { id: companyId } = (await server.post('/Companies', {})).body
    const rows = [{ companyId }, { companyId: 999_999 }, { managerId: 999_999, companyId }, { managerId: null }, {}]
    const answer = await server.post('/Employees', rows)
    expect(outcomeOf(answer)).toBe('409 ReferenceNotFound Body')
    expect(faultsOf(answer)).toEqual(['ReferenceNotFound [1].CompanyId', 'ReferenceNotFound [2].ManagerId'])
    expect(await count('employee')).toBe(0)
  })

  test.each([
    ['no rows', '400 InvalidRows Body', '[]'],
    ['no rows, but spaces', '400 InvalidRows Body', ' [ ] '],
    ['1,001 rows', '400 InvalidRows Body', JSON.stringify(companies(1_001))],
    ['a comma too many', '400 InvalidJson [1]', '[{"name":"A"},]'],
    ['a comma in front', '400 InvalidJson [0]', '[,{}]'],
    ['an array without an end', '400 InvalidJson Body', '[{"name":"A"}'],
    ['an object behind the array', '400 InvalidJson Body', '[{"name":"A"}] {}'],
    ['a brace too many', '400 InvalidJson Body', '[{}}]'],
    ['a text without an end', '400 InvalidJson Body', '[{"name":"A]'],
    ['arrays in each other', '400 InvalidJson [0]', `[{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`],
    ['too many values in a row', '400 InvalidJson [0]', `[{"name":[${'1,'.repeat(100_000)}1]}]`],
    ['more than 2 MiB', '413 PayloadTooLarge Body', `[{}${' '.repeat(2 * 1_024 * 1_024)}]`],
    ['a row of more than 1 MiB', '413 PayloadTooLarge [0]', `[{"name":"${'x'.repeat(1_024 * 1_024)}"}]`],
  ])('a body with %s is %s, and nothing is written', async (_, outcome, text) => {
    expect(outcomeOf(await post(text))).toBe(outcome)
    expect(await count('company')).toBe(0)
  })

  test('a row that is not JSON is named with its index', async () => {
    const { body } = await post('[\n  {"name": "A"},\n  {"name" "B"}\n]')
    expect([body.Error.Target, body.Error.Message]).toEqual(['[1]', expect.stringContaining("[1] is not JSON: Expected ':'")])
    const lines = await post('{"name":"A"}\n{"name":"B"} {}\n', NDJSON)
    expect(lines.body.Error.Message).toStartWith('[1] is not JSON: ')
  })

  test('a body of 2 MiB is read, and one byte more is refused', async () => {
    const row = `{"name":"x"${' '.repeat(20_000)}}`
    const rows = Array(100).fill(row).join()
    const padded = (bytes: number) => `[${rows}${' '.repeat(bytes - rows.length - 2)}]`
    expect((await post(padded(2 * 1_024 * 1_024))).status).toBe(201)
    const refused = [await post(padded(2 * 1_024 * 1_024 + 1)), await post(`{${' '.repeat(1_024 * 1_024)}}`)]
    expect(refused.map(({ status, body }) => [status, body.Error.Message])).toEqual([
      [413, 'The body may have up to 1 MiB, of several rows 2 MiB.'],
      [413, 'The body may have up to 1 MiB.'],
    ])
    const lines = `${Array(100).fill(row).join('\n')}\n`
    const stream = new Blob([lines]).stream()
    const headers = { authorization: `ApiKey ${KEY}`, ...NDJSON }
    expect((await fetch(`${server.url}/Companies`, { method: 'POST', headers, body: stream })).status).toBe(201)
  })
})

describe('D59: dryRun=1', () => {
  test('checks everything, also references, and writes nothing', async () => {
    const right = await server.post('/Companies?dryRun=1', companies(3))
    expect([right.status, right.body]).toEqual([200, { rows: 3 }])
    expect((await server.post('/Companies?DRYRUN=1', { name: 'One' })).body).toEqual({ rows: 1 })
    const wrong = await server.post('/Employees?dryRun=1', [{}, { companyId: 999_999 }])
    expect(outcomeOf(wrong)).toBe('409 ReferenceNotFound [1].CompanyId')
    // One object's fault is named as without.
    const [checked, sent] = await Promise.all(
      ['?dryRun=1', ''].map((query) => server.post(`/Employees${query}`, { companyId: 999_999 })),
    )
    expect([checked?.status, checked?.body]).toEqual([409, sent?.body])
    expect((await server.post('/Employees?dryRun=1', [{ title: 1 }])).status).toBe(400)
    expect([await count('company'), await count('employee')]).toEqual([0, 0])
    expect((await server.post('/Companies?dryRun=0', companies(2))).status).toBe(201)
  })

  test('leaves an Idempotency-Key unused, and refuses an invalid one', async () => {
    const dry = (body: unknown, key: string) => server.send('POST', '/Companies?dryRun=1', body, { 'Idempotency-Key': key })
    expect((await dry(companies(2), 'dry')).status).toBe(200)
    expect((await post(companies(3), { 'Idempotency-Key': 'dry' })).status).toBe(201)
    for (const body of [{ Name: 'Acme' }, companies(2)])
      expect(outcomeOf(await dry(body, 'a,b'))).toBe('400 InvalidHeader Idempotency-Key')
  })

  test.each([
    ['dryRun=yes', '400 InvalidDryRun dryRun'],
    ['dryRun', '400 InvalidDryRun dryRun'],
    ['dryRun=1&dryrun=1', '400 InvalidDryRun dryRun'],
    ['dry=1', '400 UnknownParameter dry'],
  ])('in the query ?%s is %s', async (query, outcome) => {
    expect(outcomeOf(await server.post(`/Companies?${query}`, companies(1)))).toBe(outcome)
  })
})

describe('D59: a body of several rows is charged one request per 100 rows, rounded up,', () => {
  const remaining = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining'))

  test('whatever the outcome', async () => {
    const send = (rows: unknown, query = '') => server.send('POST', `/Companies${query}`, rows, twenty.headers)
    for (const [rows, query, left] of [
      [{ name: 'x' }, '', 19],
      [companies(100), '', 18],
      [companies(101), '', 16],
      [companies(250), '?dryRun=1', 13],
      [[...companies(200), { nmae: 1 }], '', 10],
    ] as const)
      expect(remaining(await send(rows, query))).toBe(left)
    const whole = await send(companies(1_000))
    expect([whole.status, remaining(whole)]).toEqual([201, 0])
    expect((await send({ name: 'x' })).status).toBe(429)
  })

  test('and at least one request for each 200 KiB, even if no row is found in them', async () => {
    const escapes = `[{"Name":"${'\\"'.repeat(450_000)}`
    const refused = await post(escapes, twenty.headers, second)
    expect(outcomeOf(refused)).toBe('400 InvalidJson [0]')
    expect(remaining(refused)).toBe(20 - 5)
  })

  test('if these requests exceed the limit (429), only the first is charged, and nothing is written', async () => {
    const send = (rows: unknown) => post(rows, twelve.headers)
    expect((await send(companies(500))).status).toBe(201)
    const refused = await send(companies(1_000).map((row) => ({ ...row, more: ' '.repeat(400) })))
    expect(outcomeOf(refused)).toBe('429 RateLimitExceeded Api')
    expect([refused.headers.get('x-ratelimit-limit'), remaining(refused)]).toEqual(['1h', 0])
    const [seconds, hour] = [Number(refused.headers.get('retry-after')), 3_600]
    expect(seconds).toBeWithin(hour - 60, hour + 1)
    expect(await count('company')).toBe(500)
    // 12 - 5 - 1
    expect((await send(companies(600))).status).toBe(201)
  })

  test('if the limits never allow so many requests, the answer is 400 and does not say when to retry', async () => {
    const refused = await post(companies(301), three.headers)
    expect(outcomeOf(refused)).toBe('400 InvalidRows Body')
    expect(refused.body.Error.Message).toBe(
      'The body counts as 4 requests, and you may send 3 per 1h: send fewer rows, up to 100 or 200 KiB for each request.',
    )
    expect((await post(companies(200), three.headers)).status).toBe(201)
  })

  test('and is 400 if the limits never allow its charge, even if a part was already charged for its bytes', async () => {
    const rows = companies(301).map((row) => ({ ...row, Name: 'x'.repeat(90), more: ' '.repeat(700) }))
    const refused = await post(rows, bytes.headers)
    expect(outcomeOf(refused)).toBe('400 InvalidRows Body')
    expect(refused.body.Error.Message).toStartWith('The body counts as 4 requests, and you may send 3 per 1h')
  })
})

describe('D43: several rows under an Idempotency-Key', () => {
  const under = (key: string) => ({ 'Idempotency-Key': key })

  test('are created once, and answered the same by each worker', async () => {
    const rows = [{ name: 'Zoë "x" {1,2} \\ null' }, { name: null, enabled: true }, { name: '' }]
    const first = await post(rows, under('once'))
    await server.remove(`/Companies/${first.body[1].id}`)
    for (const from of [server, second, plain]) {
      const again = await post([...rows], under('once'), from)
      expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true'])
    }
    const lines = rows.map((row) => JSON.stringify(row)).join('\n')
    expect((await post(lines, { ...NDJSON, ...under('once') })).text).toBe(first.text)
    expect(await count('company')).toBe(2)
  })

  test.each([
    ['other values', [{ name: 'A' }, { name: 'B' }], [{ name: 'A' }, { name: 'C' }]],
    ['another order', [{ name: 'A' }, { name: 'B' }], [{ name: 'B' }, { name: 'A' }]],
    ['fewer rows', [{ name: 'A' }, { name: 'B' }], [{ name: 'A' }]],
    ['one object', [{ name: 'A' }, { name: 'B' }], { name: 'A' }],
    ['an array of only this row', { name: 'A' }, [{ name: 'A' }]],
  ])('are 422 IdempotencyMismatch for %s', async (_, first, other) => {
    expect((await post(first, under('used'))).status).toBe(201)
    expect(outcomeOf(await post(other, under('used')))).toBe('422 IdempotencyMismatch Idempotency-Key')
    expect(await count('company')).toBe([first].flat().length)
  })

  test('are created exactly once by many concurrent requests to two workers', async () => {
    const workers = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? server : second))
    const answers = await Promise.all(workers.map((from) => post(companies(20), under('many'), from)))
    expect(new Set(answers.map(({ status }) => status)).difference(new Set([201, 409])).size).toBe(0)
    expect(answers.some(({ status }) => status === 201)).toBe(true)
    expect(await count('company')).toBe(20)
  })

  test('store no answer if they are refused', async () => {
    const rows = [{ managerId: null }, { companyId: 999_999 }]
    expect((await server.send('POST', '/Employees', rows, under('refused'))).status).toBe(409)
    expect((await server.send('POST', '/Employees', [{}], under('refused'))).status).toBe(201)
  })
})

test('lists of all workers have the created rows right after the response, whether these are few or many', async () => {
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
    // A busy machine may have no time for a thousand rows.
    const { status } = await untilServed(() => server.post('/Employees', sent))
    all += rows
    expect(status).toBe(201)
    expect(await total(server)).toEqual([all, `${rows}-${rows - 1}`])
    expect(await total(second)).toEqual([all, `${rows}-${rows - 1}`])
  }
})

test('a server without copies in memory creates and repeats several rows as other servers do', async () => {
  const { id: companyId } = (await plain.post('/Companies', { name: 'Copied' })).body
  const key = { 'Idempotency-Key': 'plain' }
  const first = await plain.send('POST', '/Employees', [{ companyId }, { lastName: 'B' }], key)
  expect(first.body).toMatchObject([{ company: 'Copied' }, { company: null }])
  for (const from of [plain, server])
    expect((await from.send('POST', '/Employees', [{ companyId }, { lastName: 'B' }], key)).text).toBe(first.text)
  expect((await plain.post('/Employees', [{ companyId: 999_999 }])).status).toBe(409)
  expect((await plain.get('/Employees')).headers.get('x-total-count')).toBe('2')
})

test('a process answers 503 to a key’s fifth concurrent body of several rows, and still serves other keys and single rows', async () => {
  const lock = await second.sql.reserve()
  await lock`begin`
  await lock`lock table company in share mode`
  const own = [1, 2, 3, 4].map(() => post(companies(1), {}, second))
  // A request that came before the fourth of them also waits, and is done.
  let refused = post(companies(1), {}, second)
  while ((await Promise.race([refused, Bun.sleep(300)])) === undefined) {
    own.push(refused)
    refused = post(companies(1), {}, second)
  }
  expect(outcomeOf(await refused)).toBe('503 ServiceUnavailable Api')
  expect((await refused).headers.get('retry-after')).toBe('5')
  // Other keys have slots of their own, and single rows need no slot.
  const others = [post(companies(1), twelve.headers, second), second.post('/Companies', { name: 'One' })]
  expect(await Promise.race([...others, Bun.sleep(100)])).toBe(undefined)
  await lock`commit`
  lock.release()
  const statuses = (await Promise.all([...own, ...others])).map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(6)
  expect((await post(companies(1), {}, second)).status).toBe(201)
})

test('bodies of several rows that do not arrive completely occupy no slot', async () => {
  const ends: (() => Promise<number>)[] = []
  for (const key of [...Array(8).fill({ authorization: `ApiKey ${KEY}` }), ...Array(8).fill(twelve.headers)]) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const headers = { ...key, 'content-type': 'application/json' }
    const answer = fetch(`${second.url}/Companies`, { method: 'POST', headers, body: readable })
    // More bytes than a single row may have.
    const row = `{"name":"A"${' '.repeat(20_000)}}`
    await writer.write(Buffer.from(`[${Array(60).fill(row).join()}`))
    ends.push(async () => {
      await writer.write(Buffer.from(']'))
      await writer.close()
      return (await answer).status
    })
  }
  for (const headers of [{}, twelve.headers]) expect((await post(companies(1), headers, second)).status).not.toBe(503)
  for (const end of ends) expect([201, 429]).toContain(await end())
})

test('each of several rows has its own change event', async () => {
  const { next } = (await server.get('/Changes?after=now')).body
  const { body } = await server.post('/Companies', companies(150))
  const { changes } = (await server.get(`/Changes?after=${next}&PageSize=500`)).body
  expect(changes.map(({ id, action }: { id: number; action: string }) => [id, action])).toEqual(
    body.map(({ id }: { id: number }) => [id, 'create']),
  )
  const history = (await server.get(`/Companies/${body[7].id}/Changes`)).body.changes
  expect(history).toMatchObject([{ action: 'create', after: { Name: 'Name 7' } }])
})

test('several rows are created while other requests rename their company, and all copies have its final name', async () => {
  const { id: companyId } = (await server.post('/Companies', { name: 'Before' })).body
  const rows = Array.from({ length: 300 }, () => ({ companyId }))
  const answers = await Promise.all([
    ...[1, 2, 3].map(() => untilServed(() => server.post('/Employees', rows))),
    ...[1, 2, 3].map((one) => untilServed(() => server.patch(`/Companies/${companyId}`, { name: `After ${one}` }))),
    ...[1, 2, 3, 4, 5].map(() => untilServed(() => server.post('/Employees', { companyId }))),
  ])
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 200, 200, 200, 201, 201, 201, 201, 201])
  const [{ name }] = (await server.sql`select name from company`) as unknown as [{ name: string }]
  expect((await server.sql`select from employee where company is distinct from ${name}`).count).toBe(0)
  expect(await count('employee')).toBe(905)
})
