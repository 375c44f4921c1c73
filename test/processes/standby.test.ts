import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type PlainPostgres, startPlainPostgres, startStandby } from '../support/plainPostgres.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { type ServerProcess, ServerProcesses } from '../support/serverProcesses.ts'

describe('a server on a hot standby', () => {
  let primary: PlainPostgres
  let standby: PlainPostgres
  const processes = new ServerProcesses()
  let served: ServerProcess
  let id: number
  const ask: ServerProcess['ask'] = (...asked) => served.ask(...asked)
  beforeAll(async () => {
    primary = await startPlainPostgres()
    const first = await processes.start({ DATABASE_URL: primary.url })
    id = (await first.ask('POST', '/Companies', { name: 'first' })).body.id
    expect(await first.server.stop()).toBe(0)
    standby = await startStandby(primary)
    served = await processes.start({ DATABASE_URL: standby.url, DATA_DIR: first.dataDir, LOG_LEVEL: 'info' })
  })
  afterAll(async () => {
    await processes.end()
    await standby?.stop()
    await primary?.stop()
  })

  test('reads on a hot standby have the primary’s later writes', async () => {
    expect((await ask('GET', '/readyz')).status).toBe(200)
    expect((await ask('GET', `/Companies/${id}`)).body).toEqual({ id, name: 'first', enabled: false })
    expect((await ask('GET', '/Companies?Name=first&sort=Name')).headers.get('x-total-count')).toBe('1')
    const sql = connect(primary.url)
    await sql`insert into company (name) values ('second')`
    await sql.end()
    await until(async () => (await ask('GET', '/Companies')).headers.get('x-total-count') === '2')
  })

  test('writes on a hot standby are ReadOnly, with an Idempotency-Key too, and are not done. D51', async () => {
    const writes: [string, string, object?][] = [
      ['POST', '/Companies', { name: 'x' }],
      ['POST', '/Employees', { firstName: 'x', companyId: id }],
      ['PUT', `/Companies/${id}`, { name: 'x' }],
      ['PATCH', `/Companies/${id}`, { enabled: true }],
      ['PATCH', `/Companies/${id}`, { name: 'x' }],
      ['DELETE', `/Companies/${id}`],
    ]
    for (const more of [{}, { 'Idempotency-Key': 'a' }, { 'If-Match': '*' }] as Record<string, string>[])
      for (const [method, path, body] of writes) {
        if (more['If-Match'] && method === 'POST') continue
        const answer = await ask(method, path, body, more)
        const code = answer.body?.Error?.Code
        expect([method, path, answer.status, code]).toEqual([method, path, 405, 'ReadOnly'])
        expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      }
    expect((await ask('GET', `/Companies/${id}`)).body).toEqual({ id, name: 'first', enabled: false })
    expect(served.server.output()).not.toMatch(/ error /)
  })
})
