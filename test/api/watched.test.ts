import { describe, expect, test } from 'bun:test'
import type { Log, LogFields } from '../../src/log.ts'
import { useServer } from '../support/cases.ts'
import { until } from '../support/process.ts'
import { createRow } from '../support/rows.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const TRACE = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }

const lines: { level: string; message: string; fields: LogFields }[] = []
const at =
  (level: string) =>
  (message: string, fields: LogFields = {}) =>
    lines.push({ level, message, fields })
const log = {
  ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  isEnabled: () => true,
  flush: async () => undefined,
} as Log

const server = useServer({ log, environment: { SLOW_STATEMENT_MS: '30' } })

const lineOf = (requestId: string) => lines.find(({ fields }) => fields.requestId === requestId)?.fields

describe('traceparent', () => {
  test('stands in the line of the request', async () => {
    await server.get('/Companies', { 'x-request-id': 'traced', traceparent: TRACEPARENT })
    expect(lineOf('traced')).toMatchObject(TRACE)
  })

  test('that is invalid does not, and the request is answered', async () => {
    const answer = await server.get('/Companies', { 'x-request-id': 'untraced', traceparent: `${TRACEPARENT}-x` })
    expect([answer.status, lineOf('untraced')?.traceId]).toEqual([200, undefined])
  })
})

test('a slow statement is logged by its shape, without a value', async () => {
  const { id } = await createRow(server, '/Companies', { Name: 'Slow' })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: held, resolve: hold } = Promise.withResolvers<void>()
  const holding = server.sql.begin(async (sql) => {
    await sql`select 1 from company where id = ${id} for update`
    hold()
    await released
  })
  await held
  const writing = server.patch(`/Companies/${id}`, { Name: 'Secretive' })
  await until(async () => {
    const [row] = await server.sql`select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'`
    return row?.n > 0
  })
  await Bun.sleep(50)
  release()
  await holding
  expect((await writing).status).toBe(200)
  const slow = lines.filter(({ message }) => message === 'a slow statement')
  const update = slow.find(({ fields }) => /^(with|update).*"company"/s.test(String(fields.statement)))
  expect(update?.level).toBe('warn')
  expect(Number(update?.fields.ms)).toBeGreaterThan(0)
  expect(JSON.stringify(slow)).not.toContain('Secretive')
})
