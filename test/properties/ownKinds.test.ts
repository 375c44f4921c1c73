import { beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newTables } from '../../src/postgres/schemaDiff.ts'
import { loadEntities } from '../../src/registry.ts'
import { Conformance } from '../support/conformance.ts'
import { untilInMemory } from '../support/inMemory.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { type Answer, type Json, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// An entity of the kinds that companies, employees and absences lack: decimals below 0, UUIDs and JSON.

const MODEL = join(import.meta.dir, '../../src/model/entity.ts')
const ACCOUNT = `import { computed, decimal, defineEntity, group, identity, json, reference, text, uuid } from '${MODEL}'

export default defineEntity('Account', {
  id: identity(),
  name: text(),
  balance: decimal(2, { min: -999.99, max: 999.99 }),
  debt: decimal(8, { min: -9_999_999_999 }),
  carried: group({ days: decimal(1, { min: -10 }) }),
  token: uuid({ unique: true }),
  origin: group({ system: text(), key: uuid() }),
  settings: json(),
  terms: group({ text: text(), raw: json({ bytesMax: 200 }) }),
  parentId: reference('Account'),
  sign: computed(['name', 'token']),
})
`
const folder = temporaryFolder().path
writeFileSync(join(folder, 'account.ts'), ACCOUNT)

let migration = ''
const server = useServer(async () => {
  const databaseUrl = await createDatabase()
  migration = newTables(await loadEntities(folder))
  const sql = connect(databaseUrl)
  await sql.unsafe(migration)
  await sql.end()
  return { databaseUrl, entitiesDir: folder, hasForeignRows: true, environment: { CHANGES_VALUES: 'on' } }
})
/** The same database without memory. */
const plain = useServer(() => ({
  databaseUrl: server.databaseUrl,
  entitiesDir: folder,
  hasForeignRows: true,
  environment: { MEMORY_MB: '0', CHANGES_VALUES: 'on' },
}))

let document: Conformance

/** Sends a request, and expects that the OpenAPI document describes the answer. */
async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await server.send(method, path, body, headers)
  expect({ method, path, faults: document.faultsOf({ method, target: path }, answer) }).toEqual({ method, path, faults: [] })
  return answer
}
const post = (body: unknown) => send('POST', '/Accounts', body)

/** Tokens in ascending order. */
const TOKENS = [
  '00000000-0000-0000-0000-000000000000',
  '0192e4a8-5c7e-7d3a-9b1f-2f6c8d4e0a17',
  '0192e4a8-5c7e-7d3a-9b1f-2f6c8d4e0a18',
  '0192e4a8-5c7f-0d3a-9b1f-2f6c8d4e0a17',
  'a0000000-0000-4000-8000-000000000009',
  'a0000000-0000-4000-8000-00000000000a',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
] as const
const KEY = 'c56a4180-65aa-42ec-a945-5fd21dec0538'

const ROWS = [
  {
    name: 'a',
    settings: { theme: 'dark', sizes: [1, 2.5, null] },
    balance: -3.5,
    debt: -9_999_999_999,
    carried: { days: -0.5 },
    token: TOKENS[6],
  },
  { name: 'b', settings: 'a "text", =1', balance: 0, debt: -0.000_000_01, token: TOKENS[1], origin: { system: 'hr', key: KEY } },
  { name: 'c', balance: 999.99, token: TOKENS[5].toUpperCase() },
  {
    name: 'd',
    settings: false,
    terms: { raw: [] },
    balance: -999.99,
    debt: 12,
    carried: { days: 10 },
    token: TOKENS[0],
    parentId: 2,
  },
  { name: 'e', origin: { key: TOKENS[0] } },
  { name: 'f', balance: -3.49, debt: -12.345, token: TOKENS[2], parentId: 1 },
  { name: 'g', balance: -3.5, carried: { days: -10 }, token: TOKENS[4], origin: { key: KEY } },
  { name: 'h', balance: 0.01, debt: 0, token: TOKENS[3], parentId: 5 },
]

beforeAll(async () => {
  document = new Conformance((await server.get('/openapi.json')).body)
  for (const row of ROWS) expect((await post(row)).status).toBe(201)
  for (const sort of ['Balance', 'Token', 'Origin.Key'])
    await untilInMemory(server, 'account', `/Accounts?fields=Id&sort=${sort}`)
})

/** Sends a request to the server with memory and to the one without, and expects the same bytes. */
async function get(path: string, headers: Record<string, string> = {}): Promise<Json> {
  const [fromMemory, fromDatabase] = [await send('GET', path, undefined, headers), await plain.get(path, headers)]
  expect({ path, status: fromMemory.status, text: fromMemory.text }).toEqual({ path, status: 200, text: fromDatabase.text })
  return fromMemory.body ?? fromMemory.text
}
/** Memory answers lists that show no JSON. */
const namesBy = async (query: string) => (await get(`/Accounts?fields=Name&${query}`)).map(({ name }: Json) => name).join('')

describe('D121: decimals below 0, and UUIDs', () => {
  test('the generated migration checks the range of a decimal, and its numeric type limits the digits', () => {
    expect(migration).toContain('constraint account_balance_range check (balance between -999.99 and 999.99)')
    expect(migration).toContain('constraint account_debt_range check (debt >= -9999999999)')
    expect(migration).toContain('balance numeric(12, 2)')
  })

  test('a decimal is answered with the digits of its kind, and -0 as 0', async () => {
    const { body } = await post({ name: 'new' })
    const patch = (json: string) => send('PATCH', `/Accounts/${body.id}`, json)
    const { text } = await patch('{"balance":-1.5,"carried":{"days":-2}}')
    expect(text).toContain('"balance":-1.50,"debt":null,"carried":{"days":-2.0}')
    expect((await patch('{"balance":-0.00,"debt":-0e9}')).text).toContain('"balance":0.00,"debt":0.00000000')
    expect((await server.remove(`/Accounts/${body.id}`)).status).toBe(204)
  })

  test.each([
    [{ balance: -1000 }, 'Balance', 'from -999.99 to 999.99'],
    [{ balance: 1000 }, 'Balance', 'from -999.99 to 999.99'],
    [{ balance: -0.001 }, 'Balance', '2 after the point'],
    [{ debt: -10_000_000_000 }, 'Debt', 'of -9999999999 or more'],
    [{ carried: { days: -10.1 } }, 'Carried.Days', 'of -10 or more'],
  ])('a body of %j is refused', async (body, target, message) => {
    const { status, body: answer } = await post(body)
    expect([status, answer.Error.Code, answer.Error.Target]).toEqual([400, 'InvalidValue', target])
    expect(answer.Error.Message).toContain(message)
  })

  test.each([
    ['Balance=<0', 'adfg'],
    ['Balance=<-0.00', 'adfg'],
    ['Balance=-3.5', 'ag'],
    ['Balance=-3.500', 'ag'],
    ['Balance=!=-3.5', 'bcdefh'],
    ['Balance[]=-3.5&Balance[]=0&Balance[]=', 'abeg'],
    ['Balance=>=-3.5&Balance=<=0', 'abfg'],
    ['Balance=>-3.5', 'bcfh'],
    ['Balance=>-3.495', 'bcfh'],
    ['Balance=<-1e3', ''],
    ['Debt=<-0.00000001', 'af'],
    ['Debt=>=-0.000000009', 'dh'],
    ['Debt=-9999999999', 'a'],
    ['Carried.Days=<0', 'ag'],
    ['Balance=', 'e'],
    [`Token=${TOKENS[1]}`, 'b'],
    [`Token=${TOKENS[5].toUpperCase()}`, 'c'],
    [`Token=!=${TOKENS[1]}`, 'acdefgh'],
    [`Token=${KEY}`, ''],
    [`Token[]=${TOKENS[0]}&Token[]=${TOKENS[6]}&Token[]=${KEY}&Token[]=`, 'ade'],
    ['Token=', 'e'],
    ['Token=!=', 'abcdfgh'],
    [`Origin.Key=${KEY}`, 'bg'],
    [`Origin.Key=!=${KEY}&Origin.Key=!=`, 'e'],
    [`ParentId.Token=${TOKENS[1]}`, 'd'],
    ['ParentId.Token=', 'abcegh'],
    [`ParentId.Origin.Key[]=${KEY}&ParentId.Origin.Key[]=${TOKENS[0]}`, 'dh'],
    ['Sign[contains]=-00000000000A', 'c'],
    ['sort=Token', 'dbfhgcae'],
    ['sort=-Token', 'eacghfbd'],
    ['sort=Origin.Key,-Token', 'egbachfd'],
    ['sort=-Origin.Key,Id', 'acdfhbge'],
    ['sort=Balance', 'dagfbhce'],
    ['sort=-Balance', 'echbfgad'],
    ['sort=Balance,-Id', 'dgafbhce'],
    ['sort=Debt,Id', 'afbhdceg'],
    ['sort=-Carried.Days,Id', 'bcefhdag'],
  ])('%s finds the accounts "%s", from memory and PostgreSQL', async (query, names) => {
    expect(await namesBy(query)).toBe(names)
  })

  test.each(['Balance', '-Balance', 'Debt', '-Carried.Days', 'Token', '-Token', 'Origin.Key'])(
    'cursors lead through all rows of a list with sort=%s',
    async (sort) => {
      const whole = await namesBy(`sort=${sort}&PageSize=50`)
      let walked = ''
      for (let path: string | undefined = `/Accounts?fields=Name&sort=${sort}&PageSize=5`; path; ) {
        const [fromMemory, fromDatabase]: [Answer, Answer] = [await send('GET', path), await plain.get(path)]
        expect(fromMemory.text).toBe(fromDatabase.text)
        walked += fromMemory.body.map(({ name }: Json) => name).join('')
        path = /<([^>]+)>; rel="next"/.exec(fromMemory.headers.get('location') ?? '')?.[1]?.slice(server.url.length)
      }
      expect(walked).toBe(whole)
    },
  )

  test('summaries have the sum, average, minimum and maximum of decimals below 0', async () => {
    const path = '/Accounts/Summary?sum=Balance,Debt&average=Balance&minimum=Balance,Debt&maximum=Carried.Days,Debt'
    await get(path)
    expect((await server.get(path)).text).toBe(
      '[{"count":8,"sum":{"balance":-10.48,"debt":-9999999999.34500001},"average":{"balance":-1.49714286},' +
        '"minimum":{"balance":-999.99,"debt":-9999999999.00000000},"maximum":{"carried":{"days":10.0},"debt":12.00000000}}]',
    )
    const groups = await get('/Accounts/Summary?groupBy=Balance&sum=Debt&sort=-Balance')
    expect(groups.map(({ balance, count }: Json) => [balance, count])).toEqual([
      [null, 1],
      [999.99, 1],
      [0.01, 1],
      [0, 1],
      [-3.49, 1],
      [-3.5, 2],
      [-999.99, 1],
    ])
  })

  test('a CSV has decimals as numbers, with a decimal comma if the language has one', async () => {
    const csv = (query: string) => get(`/Accounts?fields=Balance&Id=1${query}`, { accept: 'text/csv' })
    expect(await csv('')).toBe('balance\r\n-3.50\r\n')
    expect(await csv('&locale=de&excel=1')).toBe('balance\r\n-3,50\r\n')
  })

  test('the OpenAPI document has the range of decimals, in rows and in bodies', async () => {
    const { schemas } = (await server.get('/openapi.json')).body.components
    expect(schemas.Account.properties.balance).toMatchObject({ minimum: -999.99, maximum: 999.99 })
    expect(schemas.AccountWrite.properties.balance).toMatchObject({ minimum: -999.99, maximum: 999.99 })
    expect(schemas.AccountWrite.properties.debt).toMatchObject({ minimum: -9_999_999_999, maximum: 9_999_999_999.999_998 })
  })

  test('a UUID is answered in lower case, and its column has the type uuid', async () => {
    expect(migration).toContain('token uuid,')
    expect((await send('GET', '/Accounts/3')).body).toMatchObject({ token: TOKENS[5], sign: `c ${TOKENS[5]}` })
    const groups = await get('/Accounts/Summary?groupBy=Origin.Key&sum=Balance&sort=-Origin.Key')
    expect(groups.map(({ origin, count }: Json) => [origin.key, count])).toEqual([
      [null, 5],
      [KEY, 2],
      [TOKENS[0], 1],
    ])
    expect(await get('/Accounts?fields=Id,ParentId.Token&Id=4')).toEqual([{ id: 4, 'parentId.token': TOKENS[1] }])
    expect(await get('/Accounts?fields=Token&Id=3', { accept: 'text/csv' })).toBe(`token\r\n${TOKENS[5]}\r\n`)
  })

  test.each([
    [{ token: `{${KEY}}` }, 400, 'InvalidValue', `write ${KEY}.`],
    [{ token: KEY.replaceAll('-', '') }, 400, 'InvalidValue', `write ${KEY}.`],
    [{ token: 7 }, 400, 'InvalidValue', 'must be a UUID like'],
    [{ token: TOKENS[1].toUpperCase() }, 409, 'AlreadyExists', 'Token'],
  ])('a body of %j gets %d %s', async (body, status, code, message) => {
    const { status: answered, body: answer } = await post(body)
    expect([answered, answer.Error.Code, answer.Error.Target]).toEqual([status, code, 'Token'])
    expect(answer.Error.Message).toContain(message)
  })

  test.each([
    ['Token=7', 'InvalidFilter', 'must be a UUID'],
    [`Token=>${KEY}`, 'InvalidFilter', 'can be compared with =, != and []'],
    ['Token[begins]=00', 'InvalidFilter', 'can be compared with =, != and []'],
    ['Token[]=x', 'InvalidFilter', 'must be a UUID'],
  ])('a list by %s is refused', async (query, code, message) => {
    const { status, body } = await send('GET', `/Accounts?${query}`)
    expect([status, body.Error.Code]).toEqual([400, code])
    expect(body.Error.Message).toContain(message)
    expect((await send('GET', '/Accounts/Summary?minimum=Token')).body.Error.Code).toBe('InvalidAggregate')
  })

  test('a new or changed UUID is immediately at its position in the order of a list from memory', async () => {
    const { body } = await post({ name: 'x', token: '0192E4A8-5C7E-7D3A-9B1F-2F6C8D4E0A1A' })
    expect(await namesBy('sort=Token')).toBe('dbfxhgcae')
    await untilInMemory(server, 'account', '/Accounts?fields=Id&sort=Token')
    expect((await send('PATCH', `/Accounts/${body.id}`, { token: 'FFFFFFFF-ffff-ffff-ffff-fffffffffffe' })).status).toBe(200)
    expect(await namesBy('sort=Token')).toBe('dbfhgcxae')
    expect((await server.remove(`/Accounts/${body.id}`)).status).toBe(204)
    expect(await namesBy('sort=Token')).toBe('dbfhgcae')
  })
})

describe('D122: JSON', () => {
  test('a property of this kind has a jsonb column without an index', () => {
    expect(migration).toContain('settings jsonb,')
    expect(migration).not.toContain('settings_sorted')
  })

  test('a value is answered in the form of jsonb, with all digits of its numbers', async () => {
    const raw =
      '{"z": [1e2, 12345678901234567890123.50, -0], "a": {"b": null, "a": "\\u00e9\\/\\n"}, "a2": "", "z2": [], "a": {"c": true}}'
    const created = await send('POST', '/Accounts', `{"name": "raw", "settings": ${raw}}`)
    const { id } = created.body
    expect(created.text).toContain('"settings":{"a": {"c": true}, "z": [100, 12345678901234567890123.50, 0], "a2": "", "z2": []}')
    expect((await send('GET', `/Accounts/${id}`)).text).toBe(created.text)
    expect((await get(`/Accounts?Id=${id}&fields=Settings`))[0].settings.a).toEqual({ c: true })
    expect(await get(`/Accounts?Id=${id}&fields=Settings`, { accept: 'application/x-ndjson' })).toBe(
      '{"settings":{"a": {"c": true}, "z": [100, 12345678901234567890123.50, 0], "a2": "", "z2": []}}\n',
    )
    // It is replaced whole, and null is no value.
    expect((await send('PATCH', `/Accounts/${id}`, { settings: { b: 1 } })).body.settings).toEqual({ b: 1 })
    expect((await send('PATCH', `/Accounts/${id}`, { settings: [null] })).body.settings).toEqual([null])
    expect((await send('PATCH', `/Accounts/${id}`, { settings: null, terms: { raw: 'x' } })).body).toMatchObject({
      settings: null,
      terms: { text: null, raw: 'x' },
    })
    expect((await server.remove(`/Accounts/${id}`)).status).toBe(204)
  })

  test('a change of a value makes one new version, and one event with the values before and after it', async () => {
    const created = await post({ name: 'changing', settings: { b: 1, a: 2 } })
    const { id } = created.body
    const changed = await send(
      'PATCH',
      `/Accounts/${id}`,
      { settings: { a: 3 } },
      { 'if-match': created.headers.get('etag') ?? '' },
    )
    expect(changed.status).toBe(200)
    const stale = await send('PATCH', `/Accounts/${id}`, { settings: 1 }, { 'if-match': created.headers.get('etag') ?? '' })
    expect(stale.status).toBe(412)
    const { body } = await send('GET', `/Accounts/${id}/Changes`)
    expect(body.changes.map(({ before, after }: Json) => [before?.Settings, after?.Settings])).toEqual([
      [null, { a: 2, b: 1 }],
      [{ a: 2, b: 1 }, { a: 3 }],
    ])
    expect((await server.remove(`/Accounts/${id}`)).status).toBe(204)
  })

  test('a repeated Idempotency-Key gets the stored JSON', async () => {
    const once = () => send('POST', '/Accounts', { name: 'once', settings: { a: [1] } }, { 'idempotency-key': '"json-once"' })
    const [first, second] = [await once(), await once()]
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
    expect((await server.remove(`/Accounts/${first.body.id}`)).status).toBe(204)
  })

  test.each([
    ['{"settings": "\\u0000"}', 'Settings', 'must not contain the character NUL'],
    ['{"settings": {"\\ud800": 1}}', 'Settings', 'half of a surrogate pair'],
    ['{"settings": [1e400]}', 'Settings', 'a number of more than 200 digits'],
    [`{"settings": ${'['.repeat(40)}${']'.repeat(40)}}`, 'Settings', 'more than 32 objects and arrays'],
  ])('a create with the body %s is refused', async (json, target, message) => {
    const { status, body } = await send('POST', '/Accounts', json)
    expect([status, body.Error.Code, body.Error.Target]).toEqual([400, 'InvalidValue', target])
    expect(body.Error.Message).toContain(message)
  })

  test('a value that is longer than its property allows is refused', async () => {
    const faultOf = async (body: object) => (await post(body)).body.Error
    const [long, longer] = ['x'.repeat(199), 'x'.repeat(16_383)]
    expect(await faultOf({ settings: longer })).toMatchObject({
      Code: 'InvalidValue',
      Target: 'Settings',
      Message: 'Settings must be JSON of at most 16384 bytes.',
    })
    expect(await faultOf({ terms: { raw: long } })).toMatchObject({ Code: 'InvalidValue', Target: 'Terms.Raw' })
    const { status, body } = await post({ settings: longer.slice(1), terms: { raw: long.slice(1) } })
    expect([status, body.settings.length, body.terms.raw.length]).toEqual([201, 16_382, 198])
    expect((await server.remove(`/Accounts/${body.id}`)).status).toBe(204)
  })

  test.each([
    ['Settings=', 'cefgh'],
    ['Settings=!=', 'abd'],
    ['Terms.Raw=!=', 'd'],
    ['Settings=!=&Balance=<0', 'ad'],
    ['ParentId.Settings=!=', 'df'],
    ['ParentId.Settings=', 'abcegh'],
  ])('%s finds the accounts "%s", from memory if the list does not show JSON', async (query, names) => {
    expect(await namesBy(query)).toBe(names)
    expect(await namesBy(`${query}&fields=Settings`)).toBe(names)
    await untilInMemory(server, 'account', `/Accounts?${query}&fields=Id`)
    expect(await get(`/Accounts/Summary?${query}&sum=Balance`)).toMatchObject([{ count: names.length }])
  })

  test('bulk creates and writes by filters set JSON values', async () => {
    const made = await post([
      { name: 'm', settings: { 'a,"b"': '{\\}' } },
      { name: 'm', settings: 'null', balance: -1 },
      { name: 'm', token: KEY },
    ])
    expect(made.body.map(({ settings }: Json) => settings)).toEqual([{ 'a,"b"': '{\\}' }, 'null', null])
    const written = await send('PATCH', '/Accounts?Name=m&Settings=!=', { settings: [{ b: null }], balance: -2.5 })
    expect(written.status).toBe(200)
    expect(await namesBy('Name=m&Balance=-2.5&Settings=!=')).toBe('mm')
    expect((await send('DELETE', '/Accounts?Name=m')).status).toBe(200)
    expect(await namesBy('Settings=!=')).toBe('abd')
  })

  test('a list from memory shows immediately that a row has got or lost its JSON value', async () => {
    const { body } = await post({ name: 'y' })
    expect(await namesBy('Settings=!=')).toBe('abd')
    await send('PATCH', `/Accounts/${body.id}`, { settings: {} })
    expect(await namesBy('Settings=!=')).toBe('abdy')
    await send('PATCH', `/Accounts/${body.id}`, { settings: null })
    expect(await namesBy('Settings=!=')).toBe('abd')
    expect((await server.remove(`/Accounts/${body.id}`)).status).toBe(204)
  })

  test.each([
    ['Settings=1', 'InvalidFilter', 'is not compared'],
    ['Settings=!={}', 'InvalidFilter', 'is not compared'],
    ['Settings[]=', 'InvalidFilter', 'it can be compared with = and !=, not with []'],
    ['Settings=>1', 'InvalidFilter', 'not with >'],
    ['Settings[contains]=a', 'InvalidFilter', 'not with [contains]'],
    ['sort=Settings', 'InvalidSort', 'lists cannot be sorted by it'],
    ['sort=-Terms.Raw', 'InvalidSort', 'lists cannot be sorted by it'],
  ])('a list by %s is refused', async (query, code, message) => {
    const { status, body } = await send('GET', `/Accounts?${query}`)
    expect([status, body.Error.Code]).toEqual([400, code])
    expect(body.Error.Message).toContain(message)
  })

  test.each([
    ['groupBy=Settings', 'InvalidGroupBy'],
    ['groupBy=ParentId.Settings', 'InvalidGroupBy'],
    ['minimum=Settings', 'InvalidAggregate'],
    ['sum=Terms.Raw', 'InvalidAggregate'],
  ])('a summary with %s is refused', async (query, code) => {
    const { status, body } = await send('GET', `/Accounts/Summary?${query}`)
    expect([status, body.Error.Code]).toEqual([400, code])
  })

  test('paths show values of related rows, and a CSV has values as JSON text', async () => {
    expect(await get('/Accounts?fields=Id,ParentId.Settings&Id=6')).toEqual([
      { id: 6, 'parentId.settings': { theme: 'dark', sizes: [1, 2.5, null] } },
    ])
    const csv = (query: string) => get(`/Accounts?fields=Settings&${query}`, { accept: 'text/csv' })
    expect(await csv('Id=1')).toBe('settings\r\n"{""sizes"": [1, 2.5, null], ""theme"": ""dark""}"\r\n')
    expect(await csv('Id=4&locale=de')).toBe('settings\r\nfalse\r\n')
  })

  test('the OpenAPI document says that a value can be any JSON, and cannot be sorted by or compared', async () => {
    const { schemas, parameters } = (await server.get('/openapi.json')).body.components
    expect(schemas.Account.properties.settings.type).toBeUndefined()
    expect(schemas.AccountWrite.properties.settings).toEqual({ description: 'JSON of at most 16384 bytes.' })
    expect(schemas.JsonCondition.pattern).toBe('^(?:=|!=)?$')
    expect(JSON.stringify({ schemas, parameters })).not.toContain('-Settings')
  })

  test('a key without a right to a JSON property neither sees nor sets its value', async () => {
    const key = makeKey({ rights: '', addresses: 'read Accounts?fields=Id,Name\nupdate Accounts?fields=Name' })
    await server.replaceKeys([key.record])
    const ask = (method: string, path: string, body?: unknown) => server.send(method, `/Accounts${path}`, body, key.headers)
    expect((await ask('GET', '/1')).body).toEqual({ id: 1, name: 'a' })
    expect((await ask('GET', '?Settings=!=')).body.Error.Code).toBe('UnknownParameter')
    expect((await ask('PATCH', '/1', { settings: 1 })).body.Error.Code).toBe('UnknownProperty')
    await untilInMemory(server, 'account', '/Accounts?fields=Id,Balance')
  })
})
