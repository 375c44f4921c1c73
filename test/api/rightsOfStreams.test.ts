import { beforeAll, describe, expect, test } from 'bun:test'
import { type IncomingMessage, request } from 'node:http'
import { keyWith } from '../support/rights.ts'
import type { TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const APPROVED = 1_500
const OTHERS = 2_500
const key = keyWith('read Absences?Status=Approved&fields=Id,Status')
const whole = keyWith('read Absences')
const server = useServer({ keys: [key.record, whole.record], environment: { RATE_LIMITS: '100000/1h', RATE_LIMIT_CLIENTS: '8' } })

const NDJSON = { accept: 'application/x-ndjson' }

/** Requests that are left to the key. */
async function remaining(headers: Record<string, string>): Promise<number> {
  return Number((await server.get('/Companies/1', headers)).headers.get('x-ratelimit-remaining'))
}

/** Replaces all absences. */
async function fill(approved: number, others: number): Promise<void> {
  await server.sql`delete from absence`
  await server.sql`insert into absence (status, reason) select 'Approved', repeat('x', 90) from generate_series(1, ${approved}::int)`
  await server.sql`insert into absence (status, reason) select 'Requested', repeat('x', 90) from generate_series(1, ${others}::int)`
}

test('a stream is charged for the rows that the right admits, not for those that it hides', async () => {
  await fill(APPROVED, OTHERS)
  for (const [headers, rows, requests] of [
    [key.headers, APPROVED, 2],
    [whole.headers, APPROVED + OTHERS, 4],
  ] as const) {
    const before = await remaining(headers)
    const { text } = await server.get('/Absences', { ...headers, ...NDJSON })
    expect(text.trimEnd().split('\n').length).toBe(rows)
    expect(before - (await remaining(headers))).toBe(requests + 1)
  }
})

/** Its rows are long, so that no buffer on the way holds all of them. */
const OF_LONG = 'read Absences?Status[begins]=Approved&fields=Id,Status,EmployeeId'
const long = keyWith(OF_LONG.replace(',EmployeeId', ''))
const OF_WRITES = 'update Absences?Status[begins]=Approved&fields=Status'
const writing = keyWith(OF_LONG, OF_WRITES)
const withPaths = keyWith(OF_LONG, 'read Employees?fields=Department')
const RIGHTS = [
  ['other rows', 'read Absences?Status=Requested&fields=Id,Status'],
  ['other properties', 'read Absences?Status[begins]=Approved&fields=Id'],
  ['nothing', 'read Companies'],
] as const
const PATHS = ['/Absences', '/Absences/Summary?groupBy=Id,Status']

describe.each(['0', '64'])('with MEMORY_MB=%s', (MEMORY_MB) => {
  const own = useServer({ keys: [long.record], environment: { MEMORY_MB, RATE_LIMIT_CLIENTS: '8' } })
  beforeAll(async () => {
    await own.sql`insert into absence (status) select 'Approved' || repeat('x', 90) from generate_series(1, 60000)`
  })

  /**
   * Returns the lines of a stream whose key gets other rights when it has begun; again where a busy machine has no time for its
   * statement.
   */
  async function linesOf(path: string, key: TestKey, addresses: string): Promise<string[]> {
    for (;;) {
      const lines = await linesOnce(path, key, addresses)
      if (!lines.at(-1)?.includes('"TooCostly"')) return lines
    }
  }

  async function linesOnce(path: string, key: TestKey, addresses: string): Promise<string[]> {
    await own.replaceKeys([key.record])
    // Bun's `fetch` reads on by itself; this client reads nothing until the rights have changed.
    const answer = await new Promise<IncomingMessage>((resolve) => {
      request(own.url + path, { headers: { ...key.headers, ...NDJSON } }, resolve).end()
    })
    await own.replaceKeys([{ ...key.record, addresses }])
    let text = ''
    for await (const piece of answer.setEncoding('utf8')) text += piece
    return text.trimEnd().split('\n')
  }

  test.each(PATHS.flatMap((path) => RIGHTS.map(([what, right]) => [path, what, right] as const)))(
    'a stream of %s ends with Forbidden once its key reads %s',
    async (path, _, right) => {
      const lines = await linesOf(path, long, right)
      expect(JSON.parse(lines.at(-1) ?? '').Error?.Code).toBe('Forbidden')
      expect(lines.length).toBeLessThan(60_000)
    },
  )

  test.each([
    [
      '/Absences?may=update(Status)',
      'that may set another property now ends with Forbidden',
      'update Absences?fields=Reason',
      true,
    ],
    [
      '/Absences?may=update',
      'that may update other rows now ends with Forbidden',
      'update Absences?Status=Requested&fields=Status',
      true,
    ],
    ['/Absences/Summary?groupBy=Id,Status&may=update', 'that may update nothing now ends with Forbidden', 'read Companies', true],
    ['/Absences?may=update', 'that may also delete now continues', `${OF_WRITES}\ndelete Absences`, false],
    ['/Absences', 'that may update nothing now continues', 'read Companies', false],
  ])('D109: a stream of %s for a key %s', async (path, _, right, ends) => {
    const lines = await linesOf(path, writing, `${OF_LONG}\n${right}`)
    expect(JSON.parse(lines.at(-1) ?? '').Error?.Code).toBe(ends ? 'Forbidden' : undefined)
    if (!ends) expect(lines).toHaveLength(60_000)
  })

  test.each([
    ['/Absences?fields=Id,Status,EmployeeId.Department', 'read Companies', true],
    ['/Absences?EmployeeId.Department=', 'read Employees?Department=x&fields=Department', true],
    ['/Absences/Summary?groupBy=Id,Status,EmployeeId.Department', 'read Employees?Department=x&fields=Department', true],
    ['/Absences', 'read Companies', false],
  ])('D95: a stream of %s ends with Forbidden if its key’s right to employees becomes "%s": %p', async (path, other, ends) => {
    const lines = await linesOf(path, withPaths, `${OF_LONG}\n${other}`)
    expect(JSON.parse(lines.at(-1) ?? '').Error?.Code).toBe(ends ? 'Forbidden' : undefined)
    if (!ends) expect(lines).toHaveLength(60_000)
  })
})
