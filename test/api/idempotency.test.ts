import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { until } from '../support/process.ts'
import { type Answer, makeKey, type TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { titleOf } from '../support/titles.ts'

const other = makeKey({ name: 'other' })
const writer = makeKey({ name: 'writer', rights: '*:write' })
/** What takes the place of `other`'s key. */
const rotated = makeKey({ name: 'other' })

const KEYS = [other, rotated, writer].map(({ record }) => record)
const server = useServer({ keys: KEYS, environment: { RATE_LIMIT_CLIENTS: '5' } })
/** Another worker on the same database. */
const second = useServer(() => ({ keys: KEYS, environment: { RATE_LIMIT_CLIENTS: '5' }, databaseUrl: server.databaseUrl }))
beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key cascade`
})

let keys = 0
const newKey = () => `key-${++keys}`
const under = (key: string, more: Record<string, string> = {}) => ({ 'Idempotency-Key': key, ...more })
const OWN = /^(date|x-request-id|(?:x-)?ratelimit.*|idempotency-replayed)$/
/** All of an answer that repeats; addresses are those of `server`. */
const repeated = ({ status, headers, text }: Answer, from: TestServer) =>
  JSON.stringify([status, text, [...headers].filter(([name]) => !OWN.test(name))]).replaceAll(from.url, server.url)
/** Creates a company under a key. */
const create = (body: object, key: string, headers: Record<string, string> = {}, from = server) =>
  from.send('POST', '/Companies', body, under(key, headers))
const count = async (table: string) => (await server.sql.unsafe(`select from ${table}`)).count

/** Of each kind of value, one that is not easily kept. */
const ABSENCE = {
  reason: 'Zoë 😀 O\'Neil "x" {1,2} \\ null',
  status: '',
  start: '2026-01-31T09:00:00+02:00',
  period: { days: 2.5, hours: 0.00000001 },
}

test('D43: a write that is repeated with a rotated key of the same name is done once', async () => {
  const key = newKey()
  expect((await create({ Name: 'Once' }, key, other.headers)).status).toBe(201)
  expect((await create({ Name: 'Once' }, key, rotated.headers)).headers.get('idempotency-replayed')).toBe('true')
  expect((await create({ Name: 'Once' }, key, writer.headers)).headers.get('idempotency-replayed')).toBeNull()
  expect(await count('company')).toBe(2)
})

describe('a write that is repeated with its Idempotency-Key', () => {
  test.each([
    ['POST', '/Companies', { name: 'One', enabled: true }],
    ['POST', '/Absences', ABSENCE],
    ['PUT', '/Companies/:id', { name: 'Put' }],
    ['PATCH', '/Companies/:id', { enabled: true }],
    ['PATCH', '/Companies/:id', { name: 'Renamed, with its copies' }],
    ['DELETE', '/Companies/:id', undefined],
  ])('%s %s %j is done once, and gets the same answer again', async (method, path, body) => {
    const { id } = (await server.post('/Companies', { name: 'There' })).body
    const target = path.replace(':id', id)
    const key = newKey()
    const first = await server.send(method, target, body, under(key))
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(first.status).toBe({ POST: 201, DELETE: 204 }[method] ?? 200)
    const companies = await server.sql`select *, xmin from company order by id`
    for (const from of [server, second, server]) {
      const again = await from.send(method, target, body, under(`"${key}"`))
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(repeated(again, from)).toBe(repeated(first, server))
    }
    expect(await server.sql`select *, xmin from company order by id`).toEqual(companies)
    expect(await count('absence')).toBe(path === '/Absences' ? 1 : 0)
  })

  test('D43: is answered as it was at first, even if the row was changed or deleted since', async () => {
    const key = newKey()
    const first = await create({ name: 'First' }, key)
    await server.patch(`/Companies/${first.body.id}`, { name: 'Changed' })
    expect((await create({ name: 'First' }, key)).text).toBe(first.text)
    await server.remove(`/Companies/${first.body.id}`)
    expect((await create({ name: 'First' }, key)).text).toBe(first.text)
    expect(await count('company')).toBe(0)
  })

  test('counts as the same write if its body has another notation', async () => {
    const key = newKey()
    const first = await create({ name: 'One', enabled: true }, key)
    const again = await server.send('POST', '/companies/', { ENABLED: true, Name: 'One' }, under(key))
    expect([again.status, again.text]).toEqual([201, first.text])
  })

  test('D34: shows the row to a key that may read it now, and only the id to a key that may not', async () => {
    const key = newKey()
    const write = () => create({ name: 'One' }, key, writer.headers)
    const first = await write()
    const readable = { ...writer.record, rights: '*:read,*:write' }
    await server.replaceKeys([other.record, readable])
    const again = await write()
    await server.replaceKeys([other.record, writer.record])
    expect([first.body, again.body]).toEqual([{ id: first.body.id }, { id: first.body.id, name: 'One', enabled: false }])
    expect((await write()).body).toEqual({ id: first.body.id })
  })

  test('counts as another write if it has another API key', async () => {
    const key = newKey()
    const [first, second] = [await create({ name: 'Same' }, key), await create({ name: 'Same' }, key, other.headers)]
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 201, null])
    expect(await count('company')).toBe(2)
  })

  test('is not stored if it is a PATCH without properties', async () => {
    const { id } = (await server.post('/Companies', { name: 'There' })).body
    const key = newKey()
    expect((await server.send('PATCH', `/Companies/${id}`, {}, under(key))).status).toBe(200)
    expect(await count('idempotency_key')).toBe(0)
  })

  test('would be done twice, and not stored, without the header', async () => {
    await server.post('/Companies', { name: 'One' })
    await server.post('/Companies', { name: 'One' })
    expect([await count('company'), await count('idempotency_key')]).toEqual([2, 0])
  })
})

describe('422 IdempotencyMismatch', () => {
  test.each([
    ['POST', '/Companies', { name: 'Other' }],
    ['POST', '/Employees', {}],
    ['PUT', '/Companies/:id', { name: 'One' }],
    ['PATCH', '/Companies/:id', { name: 'One' }],
    ['PATCH', '/Companies/:id', {}],
    ['DELETE', '/Companies/:id', undefined],
  ])('is the answer to %s %s %j under the Idempotency-Key of another request', async (method, path, body) => {
    const key = newKey()
    const { id } = (await create({ name: 'One' }, key)).body
    const answer = await server.send(method, path.replace(':id', id), body, under(key))
    expect(outcomeOf(answer)).toBe('422 IdempotencyMismatch Idempotency-Key')
    expect((await server.sql`select name from company`).map(({ name }) => name)).toEqual(['One'])
    expect(await count('employee')).toBe(0)
  })

  test('is the answer to the same PATCH of another row, and to a PUT with the same body', async () => {
    const [a, b] = [(await server.post('/Companies', { name: 'a' })).body, (await server.post('/Companies', {})).body]
    const key = newKey()
    const body = { name: 'Both', enabled: false }
    expect((await server.send('PATCH', `/Companies/${a.id}`, body, under(key))).status).toBe(200)
    expect((await server.send('PATCH', `/Companies/${b.id}`, body, under(key))).status).toBe(422)
    expect((await server.send('PUT', `/Companies/${a.id}`, body, under(key))).status).toBe(422)
  })
})

describe('a write that is refused under an Idempotency-Key', () => {
  test('is refused again while the cause lasts, and is done once the cause has gone', async () => {
    const key = newKey()
    const body = { companyId: 987_654_321 }
    const refused = await server.send('POST', '/Employees', body, under(key))
    expect(outcomeOf(refused)).toBe('409 ReferenceNotFound CompanyId')
    await server.sql`insert into company (id, name) overriding system value values (987654321, 'Late')`
    const done = await server.send('POST', '/Employees', body, under(key))
    expect([done.status, done.headers.get('idempotency-replayed')]).toEqual([201, null])
    const kept = await server.send('DELETE', '/Companies/987654321', undefined, under(`${key}-d`))
    expect([kept.status, kept.body.Error.Code]).toEqual([409, 'StillReferenced'])
    await server.remove(`/Employees/${done.body.id}`)
    expect((await server.send('DELETE', '/Companies/987654321', undefined, under(`${key}-d`))).status).toBe(204)
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const gone = await server.send(method, '/Companies/987654321', { name: 'x' }, under(`${key}-${method}`))
      expect(outcomeOf(gone)).toBe('404 NotFound Api')
    }
    expect((await server.send('POST', '/Companies', { nmae: 'x' }, under(key))).status).toBe(400)
  })
})

describe('while the first write under an Idempotency-Key runs', () => {
  // Statements run until the gate is open. If they waited for a lock, they would also wait outside of their connections.
  beforeAll(async () => {
    await server.sql.unsafe(`
      create table gate (closed int);
      create function wait_at_gate() returns trigger language plpgsql as $$ begin
        while (select count(*) from gate) > 0 loop perform pg_sleep(0.01); end loop;
        return coalesce(new, old);
      end $$;
      create trigger gate before update or delete on company for each row execute function wait_at_gate();
      create trigger gate before insert on employee for each row execute function wait_at_gate()`)
  })

  test('other requests with this Idempotency-Key are 409 InProgress on every worker, and later get the answer of the first write', async () => {
    const { id } = (await server.post('/Companies', { name: 'Locked' })).body
    for (const [method, path, body] of [
      ['POST', '/Employees', { companyId: id }],
      ['PATCH', `/Companies/${id}`, { enabled: true }],
      ['PATCH', `/Companies/${id}`, { name: 'Renamed' }],
      ['DELETE', `/Companies/${id}`, undefined],
    ] as const) {
      if (method === 'DELETE') await server.sql`truncate employee cascade`
      const key = newKey()
      await server.sql`insert into gate values (1)`
      const first = server.send(method, path, body, under(key))
      await until(async () => (await server.sql`select from pg_locks where locktype = 'advisory' and granted`).count > 0)
      for (const from of [server, second]) {
        const meanwhile = await from.send(method, path, body, under(key))
        expect([method, outcomeOf(meanwhile), meanwhile.headers.get('retry-after')]).toEqual([
          ...[method, '409 InProgress Idempotency-Key', '1'],
        ])
      }
      await server.sql`delete from gate`
      const answered = await first
      expect(answered.status).toBeLessThan(300)
      const again = await second.send(method, path, body, under(key))
      expect([again.status, again.text]).toEqual([answered.status, answered.text])
    }
  })

  test('D69: of two writes with this Idempotency-Key that wait for a lock on two workers, exactly one is done', async () => {
    const { id } = (await server.post('/Companies', { name: 'Locked' })).body
    const key = newKey()
    let answers: Promise<Answer[]> = Promise.resolve([])
    await server.sql.begin(async (transaction) => {
      await transaction`select from company where id = ${id} for update`
      const send = (from: TestServer) => from.send('POST', '/Employees', { companyId: id }, under(key))
      answers = Promise.all([server, second].map(send))
      await Bun.sleep(600)
    })
    const statuses = (await answers).map(({ status }) => status)
    expect(statuses).toContain(201)
    for (const status of statuses) expect([201, 409]).toContain(status)
    expect(await count('employee')).toBe(1)
  })

  test('D43: of many concurrent writes with this Idempotency-Key, in batches and on two workers, exactly one is done', async () => {
    const asked = Array.from({ length: 20 }, () => newKey())
    const answers = await Promise.all(
      asked.flatMap((key, index) =>
        [server, second, server, second].map(async (from) => {
          const send = () => from.send('POST', '/Companies', { name: `many ${index}` }, under(key))
          let answer = await send()
          while (answer.status === 409 || answer.status === 503) answer = await send()
          return `${index}: ${answer.status} ${answer.body.id}`
        }),
      ),
    )
    expect([...new Set(answers)].filter((answer) => !answer.includes(': 201 '))).toEqual([])
    expect(new Set(answers).size).toBe(20)
    const rows = await server.sql`select name from company`
    expect(rows.map(({ name }) => name).sort()).toEqual(asked.map((_, index) => `many ${index}`).sort())
  })
})

describe('the header Idempotency-Key', () => {
  test.each(
    ['""', '"open', 'a, b', '"a", "b"', '"a";p=1', 'two words', '"tab\tin"', 'x'.repeat(256), '"é"'].map(
      (text) => [titleOf(text), text] as const,
    ),
  )('with the value %s is 400 InvalidHeader', async (_, text) => {
    for (const answer of [await create({ name: 'x' }, text), await server.send('PATCH', '/Companies/1', {}, under(text))]) {
      expect(outcomeOf(answer)).toBe('400 InvalidHeader Idempotency-Key')
      expect(answer.body.Error.Message).toContain('1 to 255')
      expect(answer.body.Error.Message).toContain(text.length > 255 ? '; it has 256.' : '; it is ')
    }
  })

  test.each(
    ['a', 'x'.repeat(255), '"two words"', '"a \\"b\\" \\\\"', '8e03978e-40d5-43dd-bc93-6894a57f9324'].map(
      (text) => [titleOf(text), text] as const,
    ),
  )('with the value %s is valid', async (_, text) => {
    expect((await create({ name: 'x' }, text)).status).toBe(201)
    expect((await create({ name: 'y' }, text)).status).toBe(422)
  })
})
