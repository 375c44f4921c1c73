import { describe, expect, test } from 'bun:test'
import { type IncomingMessage, request } from 'node:http'
import { keyWith } from '../support/rights.ts'
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
const long = keyWith('read Absences?Status[begins]=Approved&fields=Id,Status')
const RIGHTS = [
  ['other rows', 'read Absences?Status=Requested&fields=Id,Status'],
  ['other properties', 'read Absences?Status[begins]=Approved&fields=Id'],
  ['nothing', 'read Companies'],
] as const
const PATHS = ['/Absences', '/Absences/Summary?groupBy=Id,Status']

describe.each(['0', '64'])('with MEMORY_MB=%s', (MEMORY_MB) => {
  const own = useServer({ keys: [long.record], environment: { MEMORY_MB, RATE_LIMIT_CLIENTS: '8' } })

  test.each(PATHS.flatMap((path) => RIGHTS.map(([what, right]) => [path, what, right] as const)))(
    'a stream of %s whose key reads %s from now on ends with Forbidden',
    async (path, _, right) => {
      await own.sql`truncate absence`
      await own.sql`insert into absence (status) select 'Approved' || repeat('x', 90) from generate_series(1, 60000)`
      await own.replaceKeys([long.record])
      // Bun's `fetch` reads on by itself; this client reads nothing until the rights have changed.
      const answer = await new Promise<IncomingMessage>((resolve) => {
        request(own.url + path, { headers: { ...long.headers, ...NDJSON } }, resolve).end()
      })
      await own.replaceKeys([{ ...long.record, addresses: right }])
      let text = ''
      for await (const piece of answer.setEncoding('utf8')) text += piece
      const lines = text.trimEnd().split('\n')
      expect(JSON.parse(lines.at(-1) ?? '').Error?.Code).toBe('Forbidden')
      expect(lines.length).toBeLessThan(60_000)
    },
  )
})
