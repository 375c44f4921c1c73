import { afterEach, expect, test } from 'bun:test'
import { makeSecret, sign } from '../../src/hooks/delivery.ts'
import { HookSender } from '../../src/hooks/sender.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { parseTargets } from '../../src/model/networks.ts'
import { entities } from '../support/entities.ts'
import { endPrograms, freePort, leaveOut, run, until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { startServer } from '../support/start.ts'

const FILE = 'docs/recipes/receiver.py'
/** Deliveries of one hook that a sender has in flight. */
const IN_FLIGHT = 4
const ROUNDS = 50

const hasPython = Bun.which('python3') !== null
afterEach(endPrograms)

test('the receiver in Python accepts each signed delivery once, and refuses deliveries signed with another secret', async () => {
  if (!hasPython) return leaveOut('CI_REQUIRES_PYTHON', 'there is no python3')
  const server = await startServer()
  const secret = makeSecret()
  const { url, receiver } = startReceiver(secret)
  const store = new HookStore(server.sql, entities)
  await store.add({ url, secret, events: ['*'] })
  const unsigned = await store.add({ url, secret: makeSecret(), events: ['*'] })
  const sender = new HookSender(server.databaseUrl, entities, {
    ...{ allowed: parseTargets('127.0.0.1'), log: quietLog(), newest: null },
    ...{ backOff: { firstMs: 20, maxMs: 100, parkAfterMs: 3_600_000 } },
  })
  const { id } = (await server.post('/Companies', { Name: 'Red Sun' })).body
  expect((await server.patch(`/Companies/${id}`, { Name: 'Blue Moon' })).status).toBe(200)
  await receiver.waitFor(new RegExp(`^create Companies ${id} \\[\\]$`, 'm'))
  await receiver.waitFor(new RegExp(`^update Companies ${id} \\['Name'\\]$`, 'm'))
  await until(async () => (await store.list()).find((one) => one.id === unsigned)?.lastStatus === '401')
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
  await sender.stop()
})

test('the receiver in Python prints each of several concurrent deliveries in a whole line', async () => {
  if (!hasPython) return leaveOut('CI_REQUIRES_PYTHON', 'there is no python3')
  const secret = makeSecret()
  const { url, receiver } = startReceiver(secret)
  await until(() =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  )
  const ids = Array.from({ length: ROUNDS * IN_FLIGHT }, (_, index) => index + 1)
  for (let round = 0; round < ROUNDS; round++) {
    const some = ids.slice(round * IN_FLIGHT, (round + 1) * IN_FLIGHT)
    expect(await Promise.all(some.map((id) => post(url, secret, id)))).toEqual(some.map(() => 204))
  }
  await until(() => receiver.output().split('create').length > ids.length)
  const lines = receiver.output().match(/^create Companies \d+ \[\]$/gm) as string[]
  expect(lines.sort()).toEqual(ids.map((id) => `create Companies ${id} []`).sort())
})

function startReceiver(secret: string) {
  const port = freePort()
  const receiver = run(['python3', '-u', FILE], { HOOK_SECRET: secret, PORT: String(port) })
  return { url: `http://127.0.0.1:${port}/`, receiver }
}

/** Posts a new company like the sender. */
async function post(url: string, secret: string, id: number): Promise<number> {
  const body = JSON.stringify({ data: { entity: 'Companies', id, action: 'create', changed: [] } })
  const [message, seconds] = [`msg_${id}`, Math.floor(Date.now() / 1_000)]
  const headers = {
    'webhook-id': message,
    'webhook-timestamp': String(seconds),
    'webhook-signature': sign(secret, message, seconds, body),
  }
  return (await fetch(url, { method: 'POST', body, headers })).status
}
