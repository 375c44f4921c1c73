import { beforeAll, beforeEach, expect, test } from 'bun:test'
import { faultsOf, outcomeOf } from '../support/cases.ts'
import { declaredCompanies } from '../support/declaredCompanies.ts'
import { createDatabase } from '../support/postgres.ts'
import { keyWith } from '../support/rights.ts'
import { emptyTables } from '../support/rows.ts'
import type { TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// Rights to write an entity with a unique value, as an operator may declare one: the names of companies.

const folder = declaredCompanies()

const [enabler, setter, renamer] = [
  keyWith('read Companies?Enabled=true', 'create Companies?Enabled=true', 'update Companies?Enabled=true'),
  keyWith('read Companies?Enabled=false&fields=Enabled', 'create Companies?Name=Mine&fields=Enabled'),
  keyWith('read Companies?Enabled=true', 'update Companies?Enabled=true&fields=Name'),
]
const server = useServer(async () => ({
  databaseUrl: await createDatabase(),
  entitiesDir: folder.path,
  keys: [enabler, setter, renamer].map(({ record }) => record),
  hasForeignRows: true,
}))
beforeAll(async () => {
  await server.sql`alter table company add constraint company_name_unique unique (name)`
})
beforeEach(async () => {
  await emptyTables(server.sql)
  await server.sql`insert into company (name, enabled) values ('Taken', false), ('Own', true)`
})

const send = (key: TestKey, method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  server.send(method, path, body, { ...key.headers, ...headers })

test.each([{}, { 'idempotency-key': 'a' }])(
  'a write with a forbidden value and a taken unique value is 403, not 409 (headers %j)',
  async (headers) => {
    const create = (body: unknown) => send(enabler, 'POST', '/Companies', body, headers).then(outcomeOf)
    expect(await create({ Name: 'Taken', Enabled: false })).toBe('403 Forbidden Enabled')
    expect(await create({ Name: 'Taken' })).toBe('409 AlreadyExists Name')
    expect(await create([{ Name: 'a' }, { Name: 'Taken', Enabled: false }])).toBe('403 Forbidden [1].Enabled')
    expect(await create([{ Name: 'a' }, { Name: 'Taken' }])).toBe('409 AlreadyExists [1].Name')
    const change = (body: unknown) => send(renamer, 'PATCH', '/Companies/2', body, headers).then(outcomeOf)
    expect(await change({ Name: 'Taken' })).toBe('409 AlreadyExists Name')
    expect(outcomeOf(await send(renamer, 'PATCH', '/Companies/1', { Name: 'Own' }, headers))).toBe('404 NotFound Api')
  },
)

test('if a right sets a boolean to true, a create without it is true, and a PUT without it means false and is 403', async () => {
  const created = await send(enabler, 'POST', '/Companies', { Name: 'New' })
  expect([created.status, created.body]).toEqual([201, { id: 3, name: 'New', enabled: true }])
  expect(outcomeOf(await send(enabler, 'PUT', '/Companies/2', { Name: 'Own' }))).toBe('403 Forbidden Enabled')
  expect((await send(enabler, 'PUT', '/Companies/2', { Name: 'Other', Enabled: true })).status).toBe(200)
})

test('no error names a unique property that the right sets and the key does not see', async () => {
  expect((await send(setter, 'POST', '/Companies', {})).body).toEqual({ id: 3, enabled: false })
  for (const [body, path, fault] of [
    [{}, '/Companies', 'AlreadyExists Body'],
    [{}, '/Companies?dryRun=1', 'AlreadyExists Body'],
    [[{}], '/Companies', 'AlreadyExists [0].Body'],
  ] as const) {
    const answer = await send(setter, 'POST', path, body)
    expect([answer.status, `${answer.body.Error.Code} ${answer.body.Error.Target}`]).toEqual([409, fault])
  }
  const several = await send(setter, 'POST', '/Companies', [{}, {}])
  expect(faultsOf(several)).toEqual(['AlreadyExists [1].Body'])
  expect(several.text).not.toMatch(/Name|Mine/)
})
