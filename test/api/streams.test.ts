import { beforeAll, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { noteAnswered } from '../../src/operations/streams.ts'
import { quickly, slowly } from '../support/brokenTables.ts'
import { outcomeOf } from '../support/cases.ts'
import { type Answer, type Json, KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const NDJSON = { accept: 'application/x-ndjson', 'accept-encoding': 'identity' }
const CSV = { accept: 'text/csv', 'accept-encoding': 'identity' }
const ROWS = 2_345
/** More than sockets take of a client that reads nothing. */
const LARGE_ROWS = 25_000

const three = makeKey({ name: 'three', limits: '3/1m' })
const alsoThree = makeKey({ name: 'also three', limits: '3/1m' })
const two = makeKey({ name: 'two', limits: '2/1m' })
const alsoTwo = makeKey({ name: 'also two', limits: '2/1m' })
const ending = makeKey({ name: 'ending' })
const losing = makeKey({ name: 'losing' })
const takingNothing = Array.from({ length: 4 }, (_, index) => makeKey({ name: `takes nothing ${index}` }))
const KEYS = [three, alsoThree, two, alsoTwo, ending, losing, ...takingNothing].map(({ record }) => record)

/** Texts that a CSV could take for something else. */
const HOSTILE = [
  ...['a,b', 'say "no"', '"', 'two\nlines', 'two\r\nlines', ' spaces ', '', 'Jürgen Größe', '=1+1', '@x', '😀', "'", '\t'],
]

const options = { keys: KEYS, environment: { RATE_LIMIT_CLIENTS: '14' } }
const server = useServer(options)
const large = useServer(options)
beforeAll(async () => {
  await server.sql`
    insert into company (name, enabled)
    select case when n % 50 = 0 then null else 'Company ' || n % 300 end, n % 3 = 0 from generate_series(1, ${ROWS}::int) as n`
  await server.sql`insert into employee (last_name) select unnest(${HOSTILE}::text[])`
  await server.sql`
    insert into absence (status, type, start, "end", period_prefered, period_days, period_hours)
    select 'Approved', null, '2026-03-01T09:00:00Z', null, case when n % 2 = 0 then 'Days' end, case when n % 3 = 0 then 2.5 end, null from generate_series(1, 13) as n`
  await large.sql`insert into company (name, enabled) select repeat(chr(65 + n % 26), 1000), true from generate_series(1, ${LARGE_ROWS}::int) as n`
})

const linesOf = ({ text }: Answer) => Bun.JSONL.parse(text) as Json[]
const rowsOf = async (path: string, headers = {}) => linesOf(await server.get(path, { ...NDJSON, ...headers }))

/** The same rows by pages. */
async function paged(path: string): Promise<unknown[]> {
  const rows: unknown[] = []
  let target: string | undefined = `${path}${path.includes('?') ? '&' : '?'}PageSize=50`
  while (target !== undefined) {
    const { body, headers } = await server.get(target)
    rows.push(...body)
    target = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]?.slice(server.url.length)
  }
  return rows
}

describe('D55: a stream of NDJSON has the rows of all pages in their order', () => {
  test.each([
    '/Companies',
    '/Companies?sort=-Name',
    '/Companies?sort=Name',
    '/Companies?sort=-Enabled,Name',
    '/Companies?Enabled=true&sort=-Id',
    '/Companies?Name=Company 7&sort=Name',
    '/Companies?fields=name&sort=-Enabled,-Name',
    '/Absences?sort=Type',
    '/Absences?fields=Period.Days,Id',
  ])('for %s', async (path) => {
    expect(await rowsOf(path)).toEqual(await paged(path))
  })

  test('and is empty for a list without rows', async () => {
    const { status, text, headers } = await server.get('/Companies?Id=0', NDJSON)
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'application/x-ndjson; charset=utf-8'])
  })
})

describe('D55: CSV, as csv-parse reads it', () => {
  const table = async (path: string, bom = false) =>
    parse((await server.get(path, CSV)).text, { columns: true, record_delimiter: '\r\n', bom }) as Record<string, string>[]

  test.each(['/Companies?sort=Name', '/Employees', '/Absences'])(
    'the CSV of %s has the same values as its JSON',
    async (path) => {
      const rows = await rowsOf(path)
      expect(await table(path)).toEqual(rows.map((row) => flat(row)))
    },
  )

  test('has the names of the JSON, with dots for parts', async () => {
    const { text, headers } = await server.get('/Absences?fields=Period,Id,Start&Id=0', CSV)
    expect(text).toBe('id,start,period.prefered,period.days,period.hours\r\n')
    expect(headers.get('content-disposition')).toBe('attachment; filename="Absences.csv"')
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(headers.get('vary')).toContain('Accept')
  })

  test('has an empty cell for no value, and quotes for an empty text', async () => {
    const { text } = await server.get('/Employees?fields=LastName&LastName==', CSV)
    expect(text).toBe('lastName\r\n""\r\n')
    expect((await server.get('/Companies?fields=Name&Name=&Id=<51', CSV)).text).toBe('name\r\n\r\n')
  })

  test.each([
    ['bom=1', 'bom', {}, 'bom belongs to Accept: text/csv, which a page is not: send that, or leave bom out.'],
    ['excel=1', 'excel', {}, 'excel belongs to Accept: text/csv, which a page is not: send that, or leave excel out.'],
    ['locale=de', 'locale', NDJSON, 'locale belongs to Accept: text/csv, which NDJSON is not: send that, or leave locale out.'],
    ['Excel=1', 'excel', NDJSON, 'excel belongs to Accept: text/csv, which NDJSON is not: send that, or leave excel out.'],
  ])(
    'is the only form that %s allows: another form is 400 InvalidForm with the target %s',
    async (query, target, headers, message) => {
      const answer = await server.get(`/Companies?${query}`, headers)
      expect(outcomeOf(answer)).toBe(`400 InvalidForm ${target}`)
      expect(answer.body.Error.Message).toBe(message)
    },
  )

  test('has its default form with bom=0 and excel=0', async () => {
    for (const headers of [{}, NDJSON, CSV]) expect((await server.get('/Companies?bom=0&excel=0', headers)).status).toBe(200)
  })

  test('begins with a byte order mark with bom=1', async () => {
    const response = await fetch(`${server.url}/Employees?bom=1`, {
      headers: { ...CSV, authorization: `ApiKey ${KEY}` },
    })
    expect([...new Uint8Array(await response.arrayBuffer()).slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf])
  })

  test('has date-times in UTC without a zone with excel=1', async () => {
    const [one] = await table('/Absences?excel=1&fields=Start,End')
    expect(one).toEqual({ start: '2026-03-01 09:00:00', end: '' })
  })

  test('has an apostrophe before texts that begin like a formula with excel=1', async () => {
    const names = (await table('/Employees?excel=1&fields=LastName')).map(({ lastName }) => lastName)
    expect(names).toEqual(HOSTILE.map((name) => (/^[=+\-@\t\r]/.test(name) ? `'${name}` : name)))
  })
})

/** A row of JSON as cells; decimals keep their zeros, which JSON.parse drops. */
function flat(row: object, prefix = ''): Record<string, string> {
  const cells: Record<string, string> = {}
  for (const [key, value] of Object.entries(row)) {
    if (key === 'period') Object.assign(cells, flat(value ?? { prefered: null, days: null, hours: null }, 'period.'))
    else cells[prefix + key] = value === null ? '' : typeof value === 'number' && prefix ? value.toFixed(8) : String(value)
  }
  return cells
}

describe('the form of a list', () => {
  test.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
    ['application/json;q=0.5, text/csv', 'text/csv'],
    ['text/csv;q=0.1, */*', 'application/json'],
    ['text/csv;q=0', 'application/json'],
    ['text/csv, application/json', 'application/json'],
    ['text/csv;q=0.5, application/x-ndjson', 'application/x-ndjson'],
    ['Application/X-NDJSON', 'application/x-ndjson'],
  ])('for Accept: %p is %s', async (accept, type) => {
    const { headers } = await server.get('/Companies?Id=1', accept === undefined ? {} : { accept })
    expect(headers.get('content-type')?.split(';')[0]).toBe(type)
  })

  test.each([
    ['page=1', '400 InvalidPage page'],
    ['PageSize=50', '400 InvalidPageSize PageSize'],
    ['cursor=x', '400 InvalidCursor cursor'],
  ])('has no pages if it is NDJSON: %s is %s', async (query, outcome) => {
    const response = await fetch(`${server.url}/Companies?${query}`, {
      headers: { ...NDJSON, authorization: `ApiKey ${KEY}` },
    })
    const { Error: error } = (await response.json()) as Json
    expect(`${response.status} ${error.Code} ${error.Target}`).toBe(outcome)
  })

  test('is CSV for HEAD as for GET, without a body', async () => {
    const { status, text, headers } = await server.send('HEAD', '/Companies', undefined, CSV)
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'text/csv; charset=utf-8'])
    // GET has no Content-Length either.
    expect(headers.get('content-length')).toBeNull()
  })

  test('has no version if it is CSV, so that If-Match is 412', async () => {
    const answer = await server.get('/Companies', { ...CSV, 'if-match': '"x"' })
    expect(outcomeOf(answer)).toBe('412 PreconditionFailed If-Match')
  })
})

test('a gzipped stream has the same content, and is sent only if the client accepts gzip', async () => {
  const headers = { ...CSV, authorization: `ApiKey ${KEY}` }
  const plain = await fetch(`${server.url}/Companies`, { headers })
  const packed = await fetch(`${server.url}/Companies`, {
    headers: { ...headers, 'accept-encoding': 'gzip' },
    decompress: false,
  })
  expect([plain.headers.get('content-encoding'), packed.headers.get('content-encoding')]).toEqual([null, 'gzip'])
  expect(gunzipSync(await packed.arrayBuffer()).toString()).toBe(await plain.text())
})

describe('the charge of a stream', () => {
  test('is one request per 1,000 rows, rounded up', async () => {
    expect((await rowsOf('/Companies', three.headers)).length).toBe(ROWS)
    expect((await server.get('/Companies', three.headers)).status).toBe(429)
  })

  test('is the same, with the same rows, while other streams make batches smaller', async () => {
    const calm = await rowsOf('/Companies?sort=-Name')
    noteAnswered(Number.POSITIVE_INFINITY)
    expect(await rowsOf('/Companies?sort=-Name', alsoThree.headers)).toEqual(calm)
    expect((await server.get('/Companies', alsoThree.headers)).status).toBe(429)
  })

  test('ends NDJSON with an error line if the stream reaches the rate limit before its end', async () => {
    const lines = await rowsOf('/Companies', two.headers)
    expect(lines.length).toBe(2_001)
    expect(lines.at(-1).Error).toMatchObject({ Code: 'RateLimitExceeded', Target: 'Api', Details: null })
  })

  test('breaks the connection of a CSV if the stream reaches the rate limit before its end', async () => {
    const headers = { ...CSV, ...alsoTwo.headers }
    const response = await fetch(`${server.url}/Companies`, { headers })
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })
})

/** A client that reads nothing until it is resumed. */
function hold(path: string, headers: Record<string, string>): Promise<{ socket: Socket; rest(): Promise<string> }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(large.url)
    const socket = connect(Number(port), hostname)
    const lines = Object.entries({ host: hostname, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    socket.once('error', reject)
    const pieces: Buffer[] = []
    socket.once('data', (piece: Buffer) => {
      socket.pause()
      pieces.push(piece)
      resolve({ socket, rest: () => restOf(socket, pieces) })
    })
  })
}

/** All that has come and comes, until the body or the connection ends. */
function restOf(socket: Socket, pieces: Buffer[]): Promise<string> {
  return new Promise((done) => {
    const end = () => {
      socket.destroy()
      done(Buffer.concat(pieces).toString('latin1'))
    }
    socket.on('end', end).on('close', end)
    // Nothing follows the end of a chunked body.
    socket.on('data', (next: Buffer) => pieces.push(next) && next.subarray(-5).toString() === '0\r\n\r\n' && end())
    socket.resume()
  })
}

test('D39: a stream that is too costly is 503 with advice', async () => {
  await server.sql.unsafe(slowly('absence'))
  const answer = await server.get('/Absences?Reason=!=x', { accept: 'text/csv' })
  await server.sql.unsafe(quickly('absence'))
  expect([answer.status, answer.body.Error.Message]).toEqual([503, expect.stringContaining('To get it: ')])
})

describe('a slow stream', () => {
  test('ends with Unauthorized after its key was revoked', async () => {
    const { rest } = await hold('/Companies', { ...NDJSON, ...ending.headers })
    await large.replaceKeys(KEYS.filter(({ id }) => id !== ending.record.id))
    const text = await rest()
    expect(text).toContain('{"Error":{"Code":"Unauthorized"')
    expect(text.endsWith('0\r\n\r\n')).toBe(true)
  })

  test('ends with Forbidden after its key has lost the right to read its entity', async () => {
    const { rest } = await hold('/Companies', { ...NDJSON, ...losing.headers })
    await large.replaceKeys(KEYS.map((key) => (key.id === losing.record.id ? { ...key, rights: 'Employees:read' } : key)))
    const text = await rest()
    expect(text).toContain('{"Error":{"Code":"Forbidden"')
    expect(text).toContain('Companies:read')
    expect((await large.get('/Employees', { ...NDJSON, ...losing.headers })).status).toBe(200)
    await large.replaceKeys(KEYS)
  })

  test('occupies one of 4 slots of its key, which is free again when its client disconnects', async () => {
    const key = { ...NDJSON, authorization: `ApiKey ${KEY}` }
    const held = await Promise.all([1, 2, 3, 4].map(() => hold('/Companies', key)))
    const { status, headers, body } = await large.get('/Companies', NDJSON)
    expect([status, body.Error.Code, headers.get('retry-after')]).toEqual([503, 'ServiceUnavailable', '5'])
    for (const { socket } of held) socket.destroy()
    while ((await large.get('/Companies?Id=1', NDJSON)).status !== 200) await Bun.sleep(20)
  })

  test('loses its slot to a key without a stream, if a few keys have taken all slots', async () => {
    const held = await Promise.all(
      takingNothing.flatMap(({ headers }) => [1, 2, 3, 4].map(() => hold('/Companies', { ...NDJSON, ...headers }))),
    )
    // Sockets buffer some of the rows first.
    while ((await large.get('/Companies?Id=1', NDJSON)).status !== 200) await Bun.sleep(50)
    const texts = await Promise.all(held.map(({ rest }) => rest()))
    // On a busy machine others may end because a statement had no time.
    const lost = texts.filter((text) => text.includes('under way than others, and another asked for one'))
    expect([lost.length, texts.every((text) => text.endsWith('0\r\n\r\n'))]).toEqual([1, true])
  })
})
