import { expect, test } from 'bun:test'
import { makeKey } from '../support/server.ts'
import { startServer } from '../support/start.ts'

const BEFORE = ['read Companies', 'create Companies', 'update Companies'].join('\n')
const AFTER = ['read Companies', 'create Companies?Name=Small', 'update Companies?Name=Small'].join('\n')

/** Longer than a request keeps the rights that it began with. */
const SLOW_MS = 700

test.each([
  ['POST', '/Companies', BEFORE, AFTER, 403],
  ['PATCH', '/Companies/1', BEFORE, AFTER, 403],
  ['PUT', '/Companies/1', BEFORE, AFTER, 403],
  ['POST', '/Companies', BEFORE, null, 401],
  ['PATCH', '/Companies/1', BEFORE, null, 401],
  ['POST', '/Companies', AFTER, BEFORE, 201],
])(
  'A %s of %s whose rights change while its body arrives is judged by the new rights: case %#',
  async (method, path, before, after, status) => {
    const key = makeKey({ rights: '', addresses: before })
    const server = await startServer({ keys: [key.record] })
    await server.sql`insert into company (name) values ('Large')`
    const whole = JSON.stringify({ Name: 'Huge' })
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(whole.slice(0, 4)))
        await Bun.sleep(SLOW_MS)
        await server.replaceKeys(after === null ? [] : [{ ...key.record, addresses: after }])
        controller.enqueue(Buffer.from(whole.slice(4)))
        controller.close()
      },
    })
    const headers = { ...key.headers, 'Content-Type': 'application/json' }
    const answer = await fetch(server.url + path, { method, headers, body })
    expect(answer.status).toBe(status)
    const [found] = await server.sql`select count(*) from company where name = 'Huge'`
    expect(Number(found?.count)).toBe(status < 300 ? 1 : 0)
  },
)
