import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type postgres from 'postgres'
import { Webhook } from 'standardwebhooks'
import { HookSender, type SenderOptions } from '../../src/hooks/sender.ts'
import { makeSecret } from '../../src/hooks/signature.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { createLog, type Log } from '../../src/log.ts'
import type { Entity } from '../../src/model/entity.ts'
import { parseTargets } from '../../src/model/targets.ts'
import { loadEntities } from '../../src/registry.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type Json, startServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(60_000)

const PAUSES = { idleMs: 20, electMs: 20, reloadMs: 20, againMs: 20 }
const QUICK = { firstMs: 1, mostMs: 5, parkMs: 3 * 24 * 3_600_000 }

let server: TestServer
let sql: postgres.Sql
let entities: readonly Entity[]
let store: HookStore
const senders = new Set<HookSender>()
const receivers = new Set<Receiver>()
const lines: string[] = []
const log: Log = {
  ...createLog('error', 'json'),
  info: (message) => void lines.push(message),
  warn: (message) => void lines.push(message),
  error: (message) => void lines.push(message),
}

beforeAll(async () => {
  server = await startServer()
  sql = connect(server.databaseUrl)
  entities = await loadEntities()
  store = new HookStore(sql, entities)
})
afterEach(async () => {
  await Promise.all([...senders].map(stop))
  await Promise.all([...receivers].map((receiver) => receiver.stop()))
  receivers.clear()
  lines.length = 0
  await sql`delete from hook`
})
afterAll(async () => {
  await sql.end()
  await server.stop()
})

function send(options: Partial<SenderOptions> = {}): HookSender {
  const allowed = parseTargets('127.0.0.0/8')
  const sender = new HookSender(server.databaseUrl, entities, {
    ...{ allowed, log, newest: null, backOff: QUICK, pauses: PAUSES },
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
  return { id: await store.add({ url, secret, events }), secret }
}
const listed = async (id: string) => (await store.list()).find((hook) => hook.id === id)
const company = async (name: string): Promise<number> => (await server.post('/Companies', { Name: name })).body.id
const rename = (id: number, name: string) => server.patch(`/Companies/${id}`, { Name: name })
const pathsOf = ({ deliveries }: Receiver) => deliveries.map(({ body }) => `${body.type} ${body.data.id}`)

test('what changes is posted, as the library of Standard Webhooks takes it, with the line that the feed has', async () => {
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

test('a hook gets the events that it is for, from when it was made', async () => {
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

test('what fails is sent again under the same id until it is taken, and nothing behind it of its row before', async () => {
  const receiver = receive()
  const { id: hook } = await add(receiver.url, 'Companies:update')
  const statuses = [500, 429, 302, 404, 503]
  const answers = statuses.map(
    (status) => () => new Response(null, { status, headers: { Location: `${receiver.url}/elsewhere` } }),
  )
  receiver.answer = () => answers.shift()?.() ?? new Response(null, { status: 204 })
  const id = await company('Once')
  await rename(id, 'Twice')
  await rename(id, 'Thrice')
  send()
  await until(async () => receiver.deliveries.length === 7 && (await listed(hook))?.state === 'active')
  const ids = receiver.deliveries.map(({ headers }) => headers.get('webhook-id'))
  expect(new Set(ids.slice(0, 6)).size).toBe(1)
  expect(ids[6]).not.toBe(ids[0])
  expect(receiver.deliveries.every(({ path }) => path === '/hook')).toBe(true)
  const positions = receiver.deliveries.map(({ body }) => body.data.token)
  const { changes } = (await server.get(`/Companies/${id}/Changes`)).body
  expect([positions[0], positions[6]]).toEqual([changes[1].token, changes[2].token])
  expect(lines).toContain('deliveries to a hook fail, and are tried again')
  expect(lines).toContain('deliveries to a hook arrive again')
})
