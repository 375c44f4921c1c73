import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type Server, type Socket } from 'node:net'
import { createSampleDatabase } from '../support/postgres.ts'
import { KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { failureOf } from './failureOf.ts'
import { createRoster } from './roster.ts'

/** Rows of a stream that needs several pieces. */
const ROWS = 2_345
const brisk = makeKey({ limits: '1/1s' })
const two = makeKey({ limits: '2/1m' })

async function all<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const found: Row[] = []
  for await (const row of rows) found.push(row)
  return found
}

describe('streams of lists', () => {
  let roster: ReturnType<typeof createRoster>
  const server = useServer(async () => ({
    databaseUrl: await createSampleDatabase(),
    environment: { RATE_LIMIT_CLIENTS: '4' },
    keys: [brisk.record, two.record],
  }))
  beforeAll(async () => {
    await server.sql`insert into company (name, enabled) select 'Größe 😀 ' || n, false from generate_series(1, ${ROWS}::int) as n`
    roster = createRoster({ url: server.url, key: KEY })
  })

  test('a stream yields the rows of all pages, filtered, sorted, with the selected properties', async () => {
    const { absences, companies } = roster
    const query = {
      filter: { 'period.days': { '>': 1 } },
      sort: ['type', '-start'],
      fields: ['id', 'period.days', 'status'],
    } as const
    const rows = await all(absences.stream(query))
    expect(rows.length).toBeGreaterThan(0)
    expect(Object.keys(rows[0] ?? {})).toEqual(['id', 'status', 'period'])
    expect(rows).toEqual(await all(absences.all(query)))
    expect(await all(absences.stream())).toEqual(await all(absences.all()))
    expect(await all(absences.stream({ filter: { id: 0 } }))).toEqual([])
    const names = await all(companies.stream({ filter: { enabled: false }, fields: ['name'] }))
    expect(names.filter(({ name }) => name?.startsWith('Größe 😀 ')).length).toBe(ROWS)
  })

  test('list, follow and get return the chosen fields, and refuse unknown fields and an empty choice', async () => {
    const { absences } = roster
    const { rows, links } = await absences.list({ fields: ['period', 'id'], pageSize: 5 })
    expect(Object.keys(rows[0] ?? {})).toEqual(['id', 'period'])
    const following = await absences.follow<'period' | 'id'>(links.next ?? '')
    expect(Object.keys(following.rows[0] ?? {})).toEqual(['id', 'period'])
    const whole = await absences.get(1)
    const part = await absences.get(1, { fields: ['period.hours', 'start'] })
    expect(part).toEqual({ start: whole.start, period: whole.period && { hours: whole.period.hours } })
    expect(absences.versionOf(part)).toMatch(/^"\w{4}-\d+"$/)
    expect(await failureOf(absences.list({ fields: ['statuss' as 'status'] }))).toMatchObject({
      code: 'InvalidFields',
    })
    expect(await failureOf(absences.list({ fields: [] }))).toBeInstanceOf(TypeError)
  })

  test('a stream that exceeds the rate limit fails after its rows, and is not repeated', async () => {
    const { companies } = createRoster({ url: server.url, key: two.text })
    const rows: unknown[] = []
    const reading = async () => {
      for await (const row of companies.stream()) rows.push(row)
    }
    expect(await failureOf(reading())).toMatchObject({ status: 200, code: 'RateLimitExceeded' })
    expect(rows.length).toBe(2_000)
  })

  test('a stream that is refused fails with its status', async () => {
    const stream = roster.companies.stream({ sort: 'nme' as 'name' })
    expect(await failureOf(stream.next())).toMatchObject({ status: 400, code: 'InvalidSort' })
  })
})

describe('bodies of streams', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n'
  let answer: (socket: Socket) => unknown = () => undefined
  let requests = 0
  let net: Server
  let url = ''
  beforeAll(async () => {
    net = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        requests++
        answer(socket)
      })
    })
    await new Promise<void>((resolve) => net.listen(0, '127.0.0.1', resolve))
    const address = net.address()
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  })
  afterAll(() => {
    net.close()
  })

  const chunk = (bytes: Uint8Array) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  /** Begins an answer with one row, and does not end it. */
  const begin = (socket: Socket, bytes = lines({ id: 1 })) => socket.write(Buffer.concat([Buffer.from(HEAD), chunk(bytes)]))
  const lines = (...rows: unknown[]) => Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))

  /** Makes a `fetch` whose response has these pieces, each made when it is read. */
  function answeredBy(pieces: Iterable<Uint8Array>, type = 'application/x-ndjson') {
    const left = pieces[Symbol.iterator]()
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const { done, value } = left.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    })
    return { fetch: async () => new Response(body, { headers: { 'Content-Type': type } }) }
  }

  /** Reads rows until the stream ends; returns them, and the error that ended it. */
  async function read(options: { onRow?: () => unknown } & Partial<Parameters<typeof createRoster>[0]>) {
    const { onRow, ...others } = options
    const rows: unknown[] = []
    requests = 0
    const { companies } = createRoster({ url, key: KEY, ...others })
    try {
      for await (const row of companies.stream()) {
        rows.push(row)
        onRow?.()
      }
      return { rows, error: null }
    } catch (error) {
      return { rows, error }
    }
  }

  test.each([1, 2, 3, 7])('a stream that arrives in chunks of %d bytes yields whole rows', async (size) => {
    const rows = [
      { id: 1, name: 'Größe 😀' },
      { id: 2, name: 'two\nlines' },
      { id: 3, name: '漢字' },
    ]
    const bytes = lines(...rows)
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size))
    expect(await read(answeredBy(pieces))).toEqual({ rows, error: null })
  })

  test.each([
    ['after a row', lines({ id: 1 })],
    ['within a row', Buffer.from('{"id":1}\n{"id":2')],
  ])('a stream whose connection breaks %s fails after its rows, and is not repeated', async (_, bytes) => {
    let cut = () => undefined as unknown
    answer = (socket) => {
      begin(socket, bytes)
      cut = () => socket.destroy()
    }
    const { rows, error } = await read({ onRow: () => cut() })
    expect(rows).toEqual([{ id: 1 }])
    expect(error).toMatchObject({ status: 0, code: 'NetworkFailure' })
    expect(String(error)).toContain('/Companies broke off')
    expect(requests).toBe(1)
  })

  test('a stream that ends within a row, or has a line that is not a row, fails', async () => {
    const fake = (text: string, type?: string) => answeredBy([Buffer.from(text)], type)
    expect((await read(fake('{"id":1}\n{"id":2}'))).error).toMatchObject({ code: 'NetworkFailure' })
    for (const text of ['{"id":1}\n<br>\n', '{"id":1}\n[]\n', '{"id":1}\nnull\n', '{"id":1}\n\n'])
      expect(await read(fake(text))).toMatchObject({ rows: [{ id: 1 }], error: { code: 'UnexpectedAnswer' } })
    expect((await read(fake('[]', 'application/json'))).error).toMatchObject({ code: 'UnexpectedAnswer' })
  })

  test('a stream without line feeds fails after a limited number of bytes', async () => {
    const piece = new Uint8Array(64 * 1024).fill(0x61)
    let pieces = 0
    function* endless() {
      for (; ; pieces++) yield piece
    }
    expect((await read(answeredBy(endless()))).error).toMatchObject({ code: 'UnexpectedAnswer' })
    expect(pieces).toBeLessThan(100)
  })

  test('a stream that stalls fails with Timeout', async () => {
    answer = begin
    const { rows, error } = await read({ timeoutMs: 500 })
    expect(rows.length).toBeLessThan(2)
    expect(error).toMatchObject({ status: 0, code: 'Timeout' })
  })

  test.each(['break', 'abort'])('a stream that the caller ends by %s aborts its request', async (how) => {
    const closed = new Promise<void>((resolve) => {
      answer = (socket) => {
        socket.once('close', () => resolve())
        begin(socket)
      }
    })
    const ending = new AbortController()
    const { companies } = createRoster({ url, key: KEY })
    const reading = async () => {
      for await (const { id } of companies.stream({ signal: ending.signal })) {
        expect(id).toBe(1)
        if (how === 'break') break
        setTimeout(() => ending.abort(new Error('enough')), 1)
      }
    }
    if (how === 'break') await reading()
    else expect((await failureOf(reading())).message).toBe('enough')
    await closed
  })
})
