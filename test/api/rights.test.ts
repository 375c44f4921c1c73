import { beforeEach, describe, expect, test } from 'bun:test'
import { expectAll, outcomeOf } from '../support/cases.ts'
import { makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const ENTITIES = ['Companies', 'Employees', 'Absences'] as const
type Plural = (typeof ENTITIES)[number]
const TABLES: Record<Plural, string> = { Companies: 'company', Employees: 'employee', Absences: 'absence' }
const BODIES = { Companies: { Name: 'Changed' }, Employees: { FirstName: 'Changed' }, Absences: { Status: 'Changed' } }
const next: Record<Plural, Plural> = { Companies: 'Employees', Employees: 'Absences', Absences: 'Companies' }

/** What a key may have, and with it may do to the entity. */
const RIGHTS: [string, (plural: Plural) => string, { read: boolean; write: boolean }][] = [
  ['none', () => '', { read: false, write: false }],
  ['read', (plural) => `${plural}:read`, { read: true, write: false }],
  ['write', (plural) => `${plural}:write`, { read: false, write: true }],
  ['read and write', (plural) => `${plural}:read,${plural}:write`, { read: true, write: true }],
  ['*:read', () => '*:read', { read: true, write: false }],
  ['*:write', () => '*:write', { read: false, write: true }],
  ['*:read and write', (plural) => `*:read,${plural}:write`, { read: true, write: true }],
  ['all to another entity', (plural) => `${next[plural]}:read,${next[plural]}:write`, { read: false, write: false }],
  ['read, and write to another', (plural) => `${plural}:read,${next[plural]}:write`, { read: true, write: false }],
  ['write, and read to another', (plural) => `${next[plural]}:read,${plural}:write`, { read: false, write: true }],
  ['rights to what is not an entity', (plural) => `${plural.slice(0, -1)}:read,Shops:write`, { read: false, write: false }],
]

/** Method, what it needs, and the status of success, on the collection or on a row. */
const OPERATIONS: [string, 'read' | 'write', number, 'collection' | 'row'][] = [
  ['GET', 'read', 200, 'collection'],
  ['HEAD', 'read', 200, 'collection'],
  ['POST', 'write', 201, 'collection'],
  ['GET', 'read', 200, 'row'],
  ['HEAD', 'read', 200, 'row'],
  ['PUT', 'write', 200, 'row'],
  ['PATCH', 'write', 200, 'row'],
  ['DELETE', 'write', 204, 'row'],
]

const keys = new Map<string, TestKey>()
for (const [, rightsOf] of RIGHTS)
  for (const plural of ENTITIES)
    if (!keys.has(rightsOf(plural))) keys.set(rightsOf(plural), makeKey({ rights: rightsOf(plural) }))
const keyWith = (rights: string) => keys.get(rights) as TestKey

const server = useServer({
  keys: [...keys.values()].map(({ record }) => record),
  environment: { RATE_LIMITS: '10000/1s', RATE_LIMIT_CLIENTS: '64' },
})

let rowIds: Record<Plural, number>
beforeEach(async () => {
  const [row] = await server.sql
    .unsafe(`
    delete from absence; delete from employee; delete from company;
    insert into company default values; insert into employee default values; insert into absence default values;
    select company.id as "Companies", employee.id as "Employees", absence.id as "Absences"
    from company, employee, absence`)
    .then((results) => results.at(-1) as unknown as Record<Plural, string>[])
  rowIds = { Companies: Number(row?.Companies), Employees: Number(row?.Employees), Absences: Number(row?.Absences) }
})

const bodyFor = (method: string, body: unknown) => (['POST', 'PUT', 'PATCH'].includes(method) ? body : undefined)
const everyRow = Object.values(TABLES).map((table) => `select '${table}', to_jsonb(${table}) as row from ${table}`)
const contents = async () => JSON.stringify(await server.sql.unsafe(`${everyRow.join(' union all ')} order by 1, 2`))

for (const plural of ENTITIES)
  describe(`D34 ${plural}`, () => {
    for (const [name, rightsOf, allowed] of RIGHTS)
      for (const [method, action, success, place] of OPERATIONS)
        test(`with the rights "${name}", ${method} of a ${place} is ${allowed[action] ? success : '403'}`, async () => {
          const { headers } = keyWith(rightsOf(plural))
          const path = place === 'row' ? `/${plural}/${rowIds[plural]}` : `/${plural}`
          const before = await contents()
          const answer = await server.send(method, path, bodyFor(method, BODIES[plural]), headers)
          expect(answer.status).toBe(allowed[action] ? success : 403)
          expect((await contents()) === before).toBe(!allowed[action] || action === 'read')
          if (allowed[action] || method === 'HEAD') return
          expect(outcomeOf(answer)).toBe('403 Forbidden Api')
          expect(answer.body.Error.Message).toBe(`The key does not have the right ${plural}:${action}.`)
        })

    test('a client without the right does not learn which rows exist, or what would be wrong with a request', async () => {
      const { headers } = keyWith(`${next[plural]}:read,${next[plural]}:write`)
      const id = rowIds[plural]
      const reads = ['', `/${id}`, '/999999', '/x', '?Id=x', '?Nmae=x', '?Name=%ZZ', '?sort=x&page=x&PageSize=x', `/${id}?Name=x`]
      const writes: [string, string, unknown?, Record<string, string>?][] = [
        ['POST', '', {}],
        ['POST', '', '{'],
        ['POST', '', { Nmae: 1, Enabled: 5 }],
        ['POST', '', 'x', { 'content-type': 'text/plain' }],
        ['POST', '', 'x'.repeat(1_100_000)],
        ['POST', '?a=b', {}],
        ['PUT', `/${id}`, {}],
        ['PUT', '/x', '{'],
        ['PATCH', '/999999', { Nmae: 1 }],
        ['DELETE', `/${id}`],
        ['DELETE', '/999999'],
      ]
      const answers = await Promise.all(
        [...reads.map((path): (typeof writes)[0] => ['GET', path]), ...writes].map(([method, path, body, more]) =>
          server.send(method, `/${plural}${path}`, body, { ...headers, ...more }),
        ),
      )
      expect(new Set(answers.map(({ body }) => `${body.Error.Code}: ${body.Error.Message}`))).toEqual(
        new Set(['read', 'write'].map((action) => `Forbidden: The key does not have the right ${plural}:${action}.`)),
      )
      for (const ones of [answers.slice(0, reads.length), answers.slice(reads.length)])
        expect(new Set(ones.map(({ text }) => text)).size).toBe(1)
    })

    test('a path in another case, with a slash or an escape, needs the same right', async () => {
      const right = keyWith(`${plural}:read`).headers
      const wrong = keyWith(`${next[plural]}:read,${next[plural]}:write`).headers
      const escaped = `%${plural.charCodeAt(0).toString(16)}${plural.slice(1)}`
      for (const path of [plural.toLowerCase(), plural.toUpperCase(), `${plural}/`, escaped]) {
        expect([path, (await server.get(`/${path}`, right)).status]).toEqual([path, 200])
        expect([path, (await server.get(`/${path}`, wrong)).status]).toEqual([path, 403])
      }
    })

    test('OPTIONS and unsupported methods need no right', async () => {
      const { headers } = keyWith('')
      const item = `/${plural}/${rowIds[plural]}`
      await expectAll(
        server,
        '204',
        [`/${plural}`, item].map((path) => [`OPTIONS ${path}`, undefined, headers]),
      )
      await expectAll(server, '405 MethodNotAllowed Api', [
        [`PUT /${plural}`, {}, headers],
        [`POST ${item}`, {}, headers],
      ])
    })
  })

test.each([
  ...['/', '/livez', '/readyz', '/errors', '/errors/Forbidden'].map((path) => [path, '200'] as const),
  ...['/Nowhere', '/Companies/1/2', '/errors/Nothing'].map((path) => [path, '404 NotFound Api'] as const),
])('D34: a path that belongs to no entity needs no right: %s is %s', (path, outcome) =>
  expectAll(server, outcome, [[`GET ${path}`, undefined, keyWith('').headers]]),
)

for (const plural of ENTITIES)
  describe(`D34 ${plural}: a key that may write but not read`, () => {
    const more: Record<Plural, object> = {
      Companies: {},
      Employees: { KnownAs: 'Secret' },
      Absences: { Reason: 'Secret', Period: { Days: 2.5 } },
    }
    const rights = [`${plural}:write`, '*:write', `${next[plural]}:read,${plural}:write`]

    test.each(rights)('%s: POST, PUT and PATCH answer with the id only', async (right) => {
      const { headers } = keyWith(right)
      const path = `/${plural}/${rowIds[plural]}`
      const body = { ...BODIES[plural], ...more[plural] }
      const created = await server.send('POST', `/${plural}`, body, headers)
      const { id } = created.body
      expect([created.status, created.headers.get('location')]).toEqual([201, `${server.url}/${plural}/${id}`])
      const answers = [created]
      for (const [method, sent] of [['PUT', body] as const, ...[body, {}, { Id: 1 }].map((one) => ['PATCH', one] as const)])
        answers.push(await server.send(method, path, sent, headers))
      for (const [index, { status, text, headers: got }] of answers.entries()) {
        const expected = index === 0 ? [201, `{"id":${id}}`] : [200, `{"id":${rowIds[plural]}}`]
        expect([status, text, got.get('content-type')]).toEqual([...expected, 'application/json; charset=utf-8'])
      }
      // The row was written nevertheless.
      const [[property, value] = []] = Object.entries(BODIES[plural])
      const shown = (await server.get(`/${plural}/${id}`)).body
      expect(shown[property?.replace(/^./, (letter: string) => letter.toLowerCase()) as string]).toBe(value)
    })

    test.each([{}, { Id: 1 }])(
      'PATCH %j of a missing row is 404, for this key and for a key that may also read',
      async (body) => {
        for (const right of [`${plural}:write`, `${plural}:read,${plural}:write`])
          await expectAll(server, '404 NotFound Api', [[`PATCH /${plural}/999999`, body, keyWith(right).headers]])
      },
    )
  })

test('D34: an error contains nothing of a row that the key may not read', async () => {
  const { headers } = keyWith('*:write')
  const secret = { FirstName: 'Secretname', Started: '2001-02-03T04:05:06Z' }
  const { body: manager } = await server.post('/Employees', secret)
  const { body: employee } = await server.post('/Employees', { ...secret, ManagerId: manager.id })
  const times = { Start: '2001-02-03T04:05:06Z', End: '2001-02-04T00:00:00Z', Reason: 'Secretname' }
  const { body: absence } = await server.post('/Absences', { ...times, EmployeeId: employee.id })
  const answers = [
    await server.send('PATCH', `/Absences/${absence.id}`, { End: '2000-01-01T00:00:00Z' }, headers),
    await server.send('PATCH', `/Absences/${absence.id}`, { EmployeeId: 999_999 }, headers),
    await server.send('PATCH', `/Employees/${employee.id}`, { ManagerId: 999_999, FirstName: 'x' }, headers),
    await server.send('PATCH', `/Employees/${employee.id}`, { FirstName: 'x'.repeat(201) }, headers),
    await server.send('DELETE', `/Employees/${employee.id}`, undefined, headers),
    await server.send('DELETE', `/Employees/${manager.id}`, undefined, headers),
  ]
  expect(answers.map(({ status }) => status)).toEqual([400, 409, 409, 400, 409, 409])
  for (const { text } of answers) expect(text).not.toMatch(/Secret|2001/)
})

test('D34: a write that makes a row refer to itself is answered with only the id if the key may not read', async () => {
  const { headers } = keyWith('Employees:write')
  const { body } = await server.post('/Employees', { KnownAs: 'Secret' })
  const answer = await server.send('PATCH', `/Employees/${body.id}`, { ManagerId: body.id }, headers)
  expect([answer.status, answer.text]).toEqual([200, `{"id":${body.id}}`])
  expect((await server.get(`/Employees/${body.id}`)).body.manager).toBe('Secret')
})
