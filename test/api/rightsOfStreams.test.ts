import { expect, test } from 'bun:test'
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

test.each([
  ['other rows', 'read Absences?Status=Requested&fields=Id,Status'],
  ['other properties', 'read Absences?Status=Approved&fields=Id'],
  ['nothing', 'read Companies'],
])('a stream of a key that reads %s from now on ends with Forbidden', async (_, right) => {
  await fill(30_000, 0)
  await server.replaceKeys([key.record])
  const answer = await fetch(`${server.url}/Absences`, { headers: { ...key.headers, ...NDJSON } })
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = decoder.decode((await reader.read()).value, { stream: true })
  await server.replaceKeys([{ ...key.record, addresses: right }])
  for (let piece = await reader.read(); !piece.done; piece = await reader.read())
    text += decoder.decode(piece.value, { stream: true })
  const lines = text.trimEnd().split('\n')
  expect(JSON.parse(lines.at(-1) ?? '').Error?.Code).toBe('Forbidden')
  expect(lines.length).toBeLessThan(30_000)
})
