import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { Webhook } from 'standardwebhooks'
import { makeSecret } from '../../src/hooks/delivery.ts'
import { parseEvents } from '../../src/hooks/events.ts'
import { BACK_OFF, pauseAfter } from '../../src/hooks/hookRun.ts'
import { HookSender, type SenderOptions } from '../../src/hooks/sender.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { readToken } from '../../src/model/changesToken.ts'
import { parseTargets } from '../../src/model/networks.ts'
import { entities } from '../support/entities.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import type { Json } from '../support/server.ts'
import { untilSettled } from '../support/settled.ts'
import { useServer } from '../support/start.ts'

const PAUSES = { idleMs: 20, electMs: 20, reloadMs: 20, retryMs: 20 }
const QUICK = { firstMs: 1, maxMs: 5, parkAfterMs: 3 * 24 * 3_600_000 }

const server = useServer()
let sql: postgres.Sql
let store: HookStore
const senders = new Set<HookSender>()
const receivers = new Set<Receiver>()
const lines: string[] = []
const note = (message: string) => void lines.push(message)
const log = quietLog({ info: note, warn: note, error: note })

beforeAll(async () => {
  sql = connect(server.databaseUrl)
  // Sets the default time zone of sessions that do not set one.
  await sql.unsafe(`alter database "${new URL(server.databaseUrl).pathname.slice(1)}" set timezone to 'Asia/Tokyo'`)
  store = new HookStore(sql, entities)
})
afterEach(async () => {
  await Promise.all([...senders].map(stop))
  await Promise.all([...receivers].map((receiver) => receiver.stop()))
  receivers.clear()
  lines.length = 0
  await sql`delete from hook`
})
afterAll(() => sql.end())

function send(options: Partial<SenderOptions> = {}): HookSender {
  const allowed = parseTargets('127.0.0.0/8')
  const sender = new HookSender(server.databaseUrl, entities, {
    ...{ allowed, log, backOff: QUICK, pauses: PAUSES },
    ...options,
  })
  senders.add(sender)
  return sender
}

async function stop(sender: HookSender) {
  senders.delete(sender)
  await sender.stop()
}

function receive(): Receiver {
  const receiver = startReceiver()
  receivers.add(receiver)
  return receiver
}

const add = async (url: string, ...events: string[]) => {
  const secret = makeSecret()
  const plurals = entities.map(({ plural }) => plural)
  return { id: await store.add({ url, secret, events: parseEvents(events, plurals) }), secret }
}
const listed = async (id: string) => (await store.list()).find((hook) => hook.id === id)
const company = async (name: string): Promise<number> => (await server.post('/Companies', { Name: name })).body.id
const rename = (id: number, name: string) => server.patch(`/Companies/${id}`, { Name: name })
const pathsOf = ({ deliveries }: Receiver) => deliveries.map(({ body }) => `${body.type} ${body.data.id}`)

test('a sender counts deliveries, failures, waiting changes and hooks', async () => {
  const receiver = receive()
  await add(receiver.url, 'Companies')
  const sender = send({ delivery: { timeoutMs: 30_000 } })
  const id = await company('Counted')
  await until(() => sender.metrics.delivered === 1)
  receiver.answer = () => new Response(null, { status: 500 })
  const beforeMs = Date.now()
  await rename(id, 'Counted twice')
  await until(() => sender.metrics.failed > 1)
  await until(() => sender.metrics.lagMs > 0)
  // The time of a change is stored to the second.
  expect(sender.metrics.lagMs).toBeLessThanOrEqual(Date.now() - beforeMs + 1_000)
  receiver.answer = () => new Response(null, { status: 410 })
  await until(() => sender.metrics.states.parked === 1)
  await until(() => sender.metrics.lagMs === 0)
  expect(sender.metrics).toMatchObject({ states: { active: 0, paused: 0, parked: 1 }, delivered: 1 })
})

test('a delivery is valid for the library of Standard Webhooks, and has the event of the feed', async () => {
  const receiver = receive()
  const { secret } = await add(receiver.url, '*')
  send()
  const id = await company('Acme')
  await rename(id, 'Acme 2')
  await until(() => receiver.deliveries.length === 2)
  const { changes } = (await server.get(`/Companies/${id}/Changes`)).body
  for (const [index, { headers, text, body }] of receiver.deliveries.entries()) {
    expect(new Webhook(secret).verify(text, Object.fromEntries(headers)) as Json).toEqual(body)
    const line = changes[index]
    expect(body).toEqual({ type: `Companies.${line.action}`, timestamp: line.at, data: line })
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  }
  const other = new Webhook(makeSecret())
  const [first] = receiver.deliveries
  expect(() => other.verify(first?.text ?? '', Object.fromEntries(first?.headers ?? []))).toThrow()
})

test('a hook gets the events that it subscribes to, from its creation on', async () => {
  const receiver = receive()
  const id = await company('Before')
  await add(receiver.url, 'Companies:delete', 'Employees:create')
  send()
  await rename(id, 'Not wanted')
  const { id: employee } = (await server.post('/Employees', { FirstName: 'Ada' })).body
  await server.remove(`/Companies/${id}`)
  await until(() => receiver.deliveries.length === 2)
  expect(pathsOf(receiver).sort()).toEqual([`Companies.delete ${id}`, `Employees.create ${employee}`])
})

test('up to four deliveries of different rows run at the same time, and deliveries of one row run one after the other', async () => {
  const receiver = receive()
  await add(receiver.url, 'Companies:update')
  const ids = await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(company))
  for (let round = 0; round < 5; round++) await Promise.all(ids.map((id) => rename(id, `Round ${round}`)))
  const running: number[] = []
  let most = 0
  receiver.answer = async ({ body }) => {
    expect(running).not.toContain(body.data.id)
    most = Math.max(most, running.push(body.data.id))
    await Bun.sleep(2)
    running.splice(running.indexOf(body.data.id), 1)
    return new Response(null, { status: 200 })
  }
  send()
  await until(() => receiver.deliveries.length === 30)
  expect(most).toBeWithin(2, 5)
})

test('a sender does not save the position of a hook after another sender has taken over', async () => {
  const receiver = receive()
  const { id: hook } = await add(receiver.url, 'Companies')
  const sender = send()
  await company('First')
  await until(async () => (await listed(hook))?.lastStatus === '204')
  const positionOf = async () => (await sql`select position, number from hook where id = ${hook}`)[0]
  const position = await positionOf()
  await sql`update hook_sender set term = term + 1`
  await company('Second')
  await until(() => receiver.deliveries.length === 2)
  await stop(sender)
  expect(await positionOf()).toEqual(position)
  send()
  await until(() => receiver.deliveries.length === 3)
  expect(receiver.deliveries[2]?.headers.get('webhook-id')).toBe(receiver.deliveries[1]?.headers.get('webhook-id') ?? '')
})

test('events to which a hook does not subscribe move its position; a sender that stops saves this position', async () => {
  const { id: hook } = await add(receive().url, 'Companies:delete')
  const positionOf = async () => BigInt((await sql`select position from hook where id = ${hook}`)[0]?.position)
  const before = await positionOf()
  const id = await company('Not wanted')
  await untilSettled(sql)
  const [{ position = 0 } = {}] = await sql`select max(position) as position from entity_change where id = ${id}`
  // A sender that stops before it has read the event, as on a busy machine, leaves it to the next one.
  await until(async () => {
    const sender = send()
    await until(() => sender.metrics.states.active > 0)
    await Bun.sleep(50)
    await stop(sender)
    return (await positionOf()) >= BigInt(position)
  })
  expect(BigInt(position)).toBeGreaterThan(before)
})

test('a hook that fails for three days is parked and logged; when resumed, it continues without a gap', async () => {
  const receiver = receive()
  const { id: hook } = await add(receiver.url, 'Companies:create')
  let nowMs = Date.now()
  const seen = Promise.withResolvers<void>()
  receiver.answer = async () => {
    nowMs += 45 * 60_000
    if (receiver.deliveries.length >= 3) await seen.promise
    return new Response(null, { status: 500 })
  }
  const ids = [await company('One'), await company('Two')]
  // The sender reads both events at once.
  await untilSettled(sql)
  send({ nowMs: () => nowMs })
  await until(() => receiver.deliveries.length >= 3)
  expect(await listed(hook)).toMatchObject({ state: 'failing', lastStatus: '500', waiting: 2 })
  seen.resolve()
  await until(async () => (await listed(hook))?.state === 'parked')
  // The first two deliveries were in flight together.
  expect(receiver.deliveries).toHaveLength(3 * 32 + 2)
  expect(await listed(hook)).toMatchObject({ reason: 'deliveries have failed for 3 days', waiting: 2 })
  expect(lines).toContain('a hook is parked: its receiver has refused for too long')
  receiver.deliveries.length = 0
  receiver.answer = () => new Response(null, { status: 204 })
  expect(await store.resume(hook, false)).toBe(false)
  await until(() => receiver.deliveries.length === 2)
  expect(receiver.deliveries.map(({ body }) => body.data.id)).toEqual(ids)
  await until(async () => (await listed(hook))?.waiting === 0)
})

test('a failing hook is not parked because of time in which no server ran', async () => {
  const receiver = receive()
  receiver.answer = () => new Response(null, { status: 500 })
  const { id: hook } = await add(receiver.url, 'Companies:create')
  const before = send()
  await company('One')
  await until(async () => (await listed(hook))?.state === 'failing')
  await stop(before)
  const { length } = receiver.deliveries
  send({ nowMs: () => Date.now() + 4 * 24 * 3_600_000 })
  await until(() => receiver.deliveries.length > length + 2)
  expect((await listed(hook))?.state).toBe('failing')
})

test('a hook without events saves its position every hour, so that the feed always keeps the events after it', async () => {
  const { id: hook } = await add(receive().url, 'Companies:delete')
  const positionOf = async () => (await sql`select position, number from hook where id = ${hook}`)[0]
  const position = await positionOf()
  let nowMs = Date.now()
  send({ nowMs: () => nowMs })
  await company('Not wanted')
  await Bun.sleep(200)
  expect(await positionOf()).toEqual(position)
  await until(async () => {
    nowMs += 3_600_001
    await company('Not wanted')
    return !Bun.deepEquals(await positionOf(), position)
  })
})

test('pauses between attempts double up to 15 minutes, and the sender waits a random 50 to 100 percent of each', () => {
  const pauses = (random: number) => [1, 2, 3, 8, 9, 10, 1_000].map((attempts) => pauseAfter(attempts, BACK_OFF, random))
  expect(pauses(1)).toEqual([5_000, 10_000, 20_000, 640_000, 900_000, 900_000, 900_000])
  expect(pauses(0)).toEqual([2_500, 5_000, 10_000, 320_000, 450_000, 450_000, 450_000])
})

test('an operator can skip a change that the receiver never accepts', async () => {
  const receiver = receive()
  const { id: hook } = await add(receiver.url, 'Companies:create')
  const bad = await company('Bad')
  receiver.answer = ({ body }) => new Response(null, { status: body.data.id === bad ? 422 : 204 })
  send()
  const good = await company('Good')
  await until(async () => (await listed(hook))?.lastStatus === '422')
  await store.resume(hook, true)
  await until(async () => (await listed(hook))?.waiting === 0)
  expect(receiver.deliveries.at(-1)?.body.data.id).toBe(good)
  expect((await listed(hook))?.state).toBe('active')
})

test('a paused hook gets no deliveries until it is resumed, and a removed hook gets none at all', async () => {
  const receiver = receive()
  const [paused, removed, other] = [await add(receiver.url, '*'), await add(receiver.url, '*'), await add(receiver.url, '*')]
  await store.pause(paused.id)
  send()
  await store.remove(removed.id)
  await company('Seen by one')
  await until(async () => (await listed(other.id))?.lastStatus === '204')
  expect(receiver.deliveries).toHaveLength(1)
  expect(await listed(paused.id)).toMatchObject({ state: 'paused', waiting: 1 })
  await store.resume(paused.id, false)
  await until(() => receiver.deliveries.length === 2)
  expect(store.remove(removed.id)).rejects.toThrow(/there is no hook/)
})

test('a hook whose position is no longer kept is parked, and continues with the first change that is kept', async () => {
  const receiver = receive()
  const { id: hook } = await add(receiver.url, 'Companies')
  await store.pause(hook)
  await company('Deleted')
  await sql`select begin_changes()`
  await store.resume(hook, false)
  await sql`update hook set run = 'ffffffffffff'`
  send()
  await until(async () => (await listed(hook))?.state === 'parked')
  expect((await listed(hook))?.reason).toMatch(/may be missing/)
  const kept = await company('Kept')
  expect(await store.resume(hook, false)).toBe(true)
  await until(() => receiver.deliveries.length === 1)
  expect(receiver.deliveries[0]?.body.data.id).toBe(kept)
})

test('a sender without hooks has no connection, and delivers for a new hook once it is woken', async () => {
  const sender = send({ pauses: { ...PAUSES, idleMs: 3_600_000 } })
  const connections = async () =>
    (await sql`select from pg_stat_activity where application_name = 'roster hooks' and datname = current_database()`).count
  await until(async () => (await connections()) === 0)
  const receiver = receive()
  await add(receiver.url, 'Companies')
  sender.wake()
  await company('Told')
  await until(() => receiver.deliveries.length === 1)
})

test('a hook with rights posts only visible properties, and no update of hidden ones; a hook without rights posts all changes', async () => {
  const [receiver, whole] = [receive(), receive()]
  const events = parseEvents(['*'], ['Companies'])
  const rights = 'read Companies?fields=Id,Enabled'
  const id = await store.add({ url: receiver.url, secret: makeSecret(), events, rights })
  await add(whole.url, '*')
  const first = await company('Seen')
  await rename(first, 'Hidden')
  expect((await store.list()).map(({ waiting }) => waiting)).toEqual([1, 2])
  send()
  await server.patch(`/Companies/${first}`, { Name: 'Struck', Enabled: true })
  await server.post('/Employees', { FirstName: 'Ada' })
  await server.remove(`/Companies/${first}`)
  await until(() => receiver.deliveries.length === 3 && whole.deliveries.length === 5)
  const changedIn = ({ deliveries }: Receiver) => deliveries.map(({ body }) => `${body.type} ${body.data.changed}`)
  expect(changedIn(receiver)).toEqual(['Companies.create ', 'Companies.update Enabled', 'Companies.delete '])
  expect(changedIn(whole).filter((line) => line.startsWith('Companies'))).toHaveLength(4)
  expect(changedIn(whole)).toContain('Companies.update Name,Enabled')
  await until(async () => (await listed(id))?.waiting === 0)
  const tokensOf = ({ deliveries }: Receiver) => deliveries.map(({ body }) => readToken(body.data.token))
  expect(tokensOf(receiver)).toEqual([null, null, null])
  expect(tokensOf(whole)).not.toContain(null)
  const [{ headers, body }] = receiver.deliveries as [Receiver['deliveries'][number]]
  expect(headers.get('webhook-id')).toBe(`msg_${id}_${body.data.token}`)
  const { changes } = (await server.get(`/Changes?after=${body.data.token}&entity=Companies`)).body
  expect(changes.map(({ changed }: Json) => changed)).toEqual([['Name'], ['Name', 'Enabled'], []])
})

test('resuming a hook with --skip skips the first change that the rights of the hook show', async () => {
  const rights = 'read Companies?fields=Id,Enabled'
  const hook = await store.add({ url: 'https://example.com/', secret: makeSecret(), events: ['Companies:update'], rights })
  const id = await company('Skipped')
  await rename(id, 'Hidden')
  for (const Enabled of [true, false]) await server.patch(`/Companies/${id}`, { Enabled })
  await untilSettled(sql)
  expect((await listed(hook))?.waiting).toBe(2)
  await store.resume(hook, true)
  expect((await listed(hook))?.waiting).toBe(1)
})

test.each(['read Companies?fields=Id,Gone', 'read Companies?Enabled=true', 'read Shops'])(
  'a hook whose rights do not fit the entities is parked and logged, and posts nothing: %s',
  async (rights) => {
    const receiver = receive()
    const id = await store.add({ url: receiver.url, secret: makeSecret(), events: ['*'], rights })
    await company('Kept back')
    send()
    await until(async () => (await listed(id))?.state === 'parked')
    expect(await listed(id)).toMatchObject({ reason: expect.stringContaining('rights do not fit'), waiting: null })
    expect(lines).toContain('a hook is parked: its rights do not fit the entities')
    await store.resume(id, false)
    await until(() => lines.filter((line) => line.includes('do not fit')).length === 2)
    expect(receiver.deliveries).toEqual([])
    await sql`update hook set rights = 'read Companies?fields=Id,Enabled'`
    await store.resume(id, false)
    await until(() => receiver.deliveries.length === 1)
  },
)

test('a sender logs that the database has no secret for tokens, and posts once it has one', async () => {
  const [secret] = await sql`delete from cursor_secret returning secret`
  const receiver = receive()
  await store.add({
    ...{ url: receiver.url, secret: makeSecret(), events: ['Companies:create'] },
    rights: 'read Companies?fields=Id',
  })
  await company('Sealed')
  const reasons: unknown[] = []
  send({ log: quietLog({ warn: (_, fields) => void reasons.push(fields?.reason) }) })
  await until(() => reasons.length > 0)
  await sql`insert into cursor_secret ${sql(secret as { secret: string })}`
  await until(() => receiver.deliveries.length === 1)
  expect(reasons).toEqual(['the table cursor_secret is empty'])
})

test('after 50 hooks, another hook is refused', async () => {
  for (let index = 0; index < 50; index++) await add('https://example.com/', '*')
  expect(add('https://example.com/', '*')).rejects.toThrow(/there are 50 hooks/)
})
