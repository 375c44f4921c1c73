import { beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newTables } from '../../src/postgres/schemaDiff.ts'
import { loadEntities } from '../../src/registry.ts'
import { Conformance } from '../support/conformance.ts'
import { isInMemory, untilInMemory } from '../support/inMemory.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import type { Answer, Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// An entity of the kinds that companies, employees and absences lack: decimals below 0, UUIDs.

const MODEL = join(import.meta.dir, '../../src/model/entity.ts')
const ACCOUNT = `import { computed, decimal, defineEntity, group, identity, reference, text, uuid } from '${MODEL}'

export default defineEntity('Account', {
  id: identity(),
  name: text(),
  balance: decimal(2, { min: -999.99, max: 999.99 }),
  debt: decimal(8, { min: -9_999_999_999 }),
  carried: group({ days: decimal(1, { min: -10 }) }),
  token: uuid({ unique: true }),
  origin: group({ system: text(), key: uuid() }),
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
  return { databaseUrl, entitiesDir: folder, hasForeignRows: true }
})
/** The same database without memory. */
const plain = useServer(() => ({
  databaseUrl: server.databaseUrl,
  entitiesDir: folder,
  hasForeignRows: true,
  environment: { MEMORY_MB: '0' },
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
  { name: 'a', balance: -3.5, debt: -9_999_999_999, carried: { days: -0.5 }, token: TOKENS[6] },
  { name: 'b', balance: 0, debt: -0.000_000_01, token: TOKENS[1], origin: { system: 'hr', key: KEY } },
  { name: 'c', balance: 999.99, token: TOKENS[5].toUpperCase() },
  { name: 'd', balance: -999.99, debt: 12, carried: { days: 10 }, token: TOKENS[0], parentId: 2 },
  { name: 'e', origin: { key: TOKENS[0] } },
  { name: 'f', balance: -3.49, debt: -12.345, token: TOKENS[2], parentId: 1 },
  { name: 'g', balance: -3.5, carried: { days: -10 }, token: TOKENS[4], origin: { key: KEY } },
  { name: 'h', balance: 0.01, debt: 0, token: TOKENS[3], parentId: 5 },
]

beforeAll(async () => {
  document = new Conformance((await server.get('/openapi.json')).body)
  for (const row of ROWS) expect((await post(row)).status).toBe(201)
  for (const sort of ['Balance', 'Token', 'Origin.Key']) await untilInMemory(server, 'account', `/Accounts?sort=${sort}`)
})

/** Sends a request to the server with memory and to the one without, and expects the same bytes. */
async function get(path: string, headers: Record<string, string> = {}): Promise<Json> {
  const [fromMemory, fromDatabase] = [await send('GET', path, undefined, headers), await plain.get(path, headers)]
  expect({ path, status: fromMemory.status, text: fromMemory.text }).toEqual({ path, status: 200, text: fromDatabase.text })
  return fromMemory.body ?? fromMemory.text
}
const namesBy = async (query: string) => (await get(`/Accounts?${query}`)).map(({ name }: Json) => name).join('')

describe('D121: decimals below 0, and UUIDs', () => {
  test('the generated migration checks the range, and PostgreSQL the digits', () => {
    expect(migration).toContain('constraint account_balance_range check (balance between -999.99 and 999.99)')
    expect(migration).toContain('constraint account_debt_range check (debt >= -9999999999)')
    expect(migration).toContain('balance numeric(12, 2)')
  })

  test('a row has the digits of its kind, and -0 is 0', async () => {
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
  ])('%s finds %s, from memory and from PostgreSQL', async (query, names) => {
    expect(await namesBy(query)).toBe(names)
  })

  test.each(['Balance', '-Balance', 'Debt', '-Carried.Days', 'Token', '-Token', 'Origin.Key'])(
    'cursors lead through all rows by %s',
    async (sort) => {
      const whole = await namesBy(`sort=${sort}&PageSize=50`)
      let walked = ''
      for (let path: string | undefined = `/Accounts?sort=${sort}&PageSize=5`; path; ) {
        const [fromMemory, fromDatabase]: [Answer, Answer] = [await send('GET', path), await plain.get(path)]
        expect(fromMemory.text).toBe(fromDatabase.text)
        walked += fromMemory.body.map(({ name }: Json) => name).join('')
        path = /<([^>]+)>; rel="next"/.exec(fromMemory.headers.get('location') ?? '')?.[1]?.slice(server.url.length)
      }
      expect(walked).toBe(whole)
    },
  )

  test('summaries add, average and compare them', async () => {
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

  test('a CSV has them as numbers, with a comma where the language has one', async () => {
    const csv = (query: string) => get(`/Accounts?fields=Balance&Id=1${query}`, { accept: 'text/csv' })
    expect(await csv('')).toBe('balance\r\n-3.50\r\n')
    expect(await csv('&locale=de&excel=1')).toBe('balance\r\n-3,50\r\n')
  })

  test('the document says the range of rows and bodies', async () => {
    const { schemas } = (await server.get('/openapi.json')).body.components
    expect(schemas.Account.properties.balance).toMatchObject({ minimum: -999.99, maximum: 999.99 })
    expect(schemas.AccountWrite.properties.balance).toMatchObject({ minimum: -999.99, maximum: 999.99 })
    expect(schemas.AccountWrite.properties.debt).toMatchObject({ minimum: -9_999_999_999, maximum: 9_999_999_999.999_998 })
  })

  test('a UUID is written with small letters, and its column has the type of PostgreSQL', async () => {
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
  ])('a body of %j is answered %d %s', async (body, status, code, message) => {
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

  test('a new UUID has its place in the order of a list from memory at once', async () => {
    const { body } = await post({ name: 'x', token: '0192E4A8-5C7E-7D3A-9B1F-2F6C8D4E0A1A' })
    expect(await namesBy('sort=Token')).toBe('dbfxhgcae')
    expect(await isInMemory(server, 'account', '/Accounts?sort=Token&PageSize=7')).toBe(true)
    expect((await send('PATCH', `/Accounts/${body.id}`, { token: 'FFFFFFFF-ffff-ffff-ffff-fffffffffffe' })).status).toBe(200)
    expect(await namesBy('sort=Token')).toBe('dbfhgcxae')
    expect((await server.remove(`/Accounts/${body.id}`)).status).toBe(204)
    expect(await namesBy('sort=Token')).toBe('dbfhgcae')
  })
})
