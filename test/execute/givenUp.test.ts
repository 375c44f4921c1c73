import { beforeEach, describe, expect, test } from 'bun:test'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { compileCreate } from '../../src/compile/create.ts'
import company from '../../src/entities/company.ts'
import { inTransaction, withConnection } from '../../src/execute/connect.ts'
import { Database } from '../../src/execute/database.ts'
import { endConnections } from '../../src/execute/pool.ts'
import { seriesOf } from '../../src/metrics/counts.ts'
import { parseComplete, wholeBody } from '../../src/parse/assignments.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/process.ts'

const { url, sql: admin } = useDatabase()
beforeEach(async () => {
  await admin`truncate company cascade`
})

const create = (name: string) =>
  compileCreate(company, {
    id: '',
    values: parseComplete(company, wholeBody(company), { Name: name }),
    versions: null,
    claim: null,
    keyId: '',
    guard: null,
  })
const unavailable = { status: 'rejected', reason: { code: 'ServiceUnavailable', headers: { 'Retry-After': '1' } } }
/** A write that had been sent. */
const unknown = { status: 'rejected', reason: { code: 'OutcomeUnknown', headers: {} } }
const isUnknown = ({ reason }: PromiseRejectedResult) => reason.code === 'OutcomeUnknown'

/** Returns the number of these companies, or of all. */
async function written(names: readonly string[] | null = null): Promise<number> {
  const rows =
    await admin`select from company where ${names as string[] | null}::text[] is null or name = any (${names as string[] | null})`
  return rows.count
}

/** Starts a proxy that accepts connections. It forwards bytes of new ones while it is open, of waiting ones after `letIn`. */
async function startGate(target: URL, host = '127.0.0.1') {
  const sockets = new Set<Socket>()
  const waiting: Socket[] = []
  let isOpen = false
  const gate = createServer((client) => {
    sockets.add(client)
    client.on('error', () => undefined)
    if (isOpen) passOn(client)
    else waiting.push(client)
  })
  function passOn(client: Socket) {
    const server = connectSocket(Number(target.port), target.hostname)
    sockets.add(server)
    server.on('error', () => undefined)
    client.pipe(server).pipe(client)
  }
  await new Promise<void>((resolve) => gate.listen(0, host, resolve))
  return {
    url: Object.assign(new URL(target), {
      hostname: host.includes(':') ? `[${host}]` : host,
      port: String((gate.address() as { port: number }).port),
    }).href,
    open: () => void (isOpen = true),
    close: () => void (isOpen = false),
    /** Returns the number of connections that wait. */
    waiting: () => waiting.length,
    letIn: () => {
      for (const client of waiting.splice(0)) passOn(client)
    },
    end() {
      gate.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

describe('writes whose clients got 503', () => {
  test('a write that waited for a frozen connection until it got 503 is not sent afterwards', async () => {
    const database = new Database({ url, poolSize: 1, prepare: true })
    const [[pid]] = (await database.read({ text: 'select pg_backend_pid()::text', values: [] })) as [[string]]
    const unsent: string[] = []
    process.kill(Number(pid), 'SIGSTOP')
    try {
      const writes = Array.from({ length: 300 }, (_, index) => database.write(create(`w${index}`)))
      const answers = await Promise.allSettled(writes)
      for (const [index, answer] of answers.entries()) {
        // On a busy machine the last writes are perhaps still sent over the connection that replaces the frozen one.
        if (answer.status === 'fulfilled') continue
        expect(answer).toMatchObject(isUnknown(answer) ? unknown : unavailable)
        if (!isUnknown(answer)) unsent.push(`w${index}`)
      }
      expect(unsent.length).toBeGreaterThan(0)
      // The frozen backend does nothing, so rows that are written now would have been sent over another connection.
      await Bun.sleep(200)
      expect(await written(unsent)).toBe(0)
      await database.write(create('next'))
      expect(await written(['next'])).toBe(1)
    } finally {
      process.kill(Number(pid), 'SIGCONT')
      await database.end()
      // The backend runs the statements that it got before the 503; waits, so that they do not disturb another test.
      while ((await admin`select from pg_stat_activity where pid = ${Number(pid)}`).count > 0) await Bun.sleep(20)
    }
    expect(await written(unsent)).toBe(0)
  })

  test('D44: a write that was sent over a frozen connection fails with OutcomeUnknown, and its backend is ended before it writes', async () => {
    const ended: Promise<void>[] = []
    const database: Database = new Database({
      ...{ url, poolSize: 1, prepare: true, name: 'given up' },
      onOutcomeUnknown: (connections, closed) => void ended.push(endConnections(database, connections, closed)),
    })
    const [[pid]] = (await database.read({ text: 'select pg_backend_pid()::text', values: [] })) as [[string]]
    process.kill(Number(pid), 'SIGSTOP')
    try {
      expect(await Promise.allSettled([database.write(create('frozen'))])).toMatchObject([unknown])
      while (ended.length === 0) await Bun.sleep(10)
      await Promise.all(ended)
    } finally {
      process.kill(Number(pid), 'SIGCONT')
    }
    while ((await admin`select from pg_stat_activity where pid = ${Number(pid)}`).count > 0) await Bun.sleep(20)
    expect(await written()).toBe(0)
    await database.write(create('next'))
    expect(await written()).toBe(1)
    await database.end()
  })

  test('a write that is cancelled before a new pool has sent it does not block the connections of the new pool', async () => {
    const gate = await startGate(new URL(url))
    const database = new Database({ url: gate.url, poolSize: 1, prepare: true, queryMsMax: 1_500 })
    gate.open()
    await database.read({ text: 'select 1', values: [] })
    gate.close()
    const text = "with gone as (select pg_terminate_backend(pg_backend_pid())) insert into company (name) select 'a' from gone"
    const once = { key: crypto.randomUUID(), request: crypto.randomUUID() }
    const [answer] = await Promise.allSettled([database.write({ text, values: [], claim: once })])
    expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'OutcomeUnknown' } })
    expect(gate.waiting()).toBe(1)
    gate.open()
    gate.letIn()
    await database.write(create('next'))
    expect(await written()).toBe(1)
    await database.end()
    gate.end()
  })
})

describe('several hosts in DATABASE_URL:', () => {
  test('opening a connection fails with CONNECT_TIMEOUT if a proxy closes each attempt, with ECONNREFUSED if all hosts refuse it', async () => {
    const closing = createServer((socket) => void socket.once('data', () => socket.end()))
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
    const { port } = closing.address() as { port: number }
    const hosts = [`127.0.0.1:${port}`, '127.0.0.1:1,127.0.0.1:2']
    const asked = hosts.map((host) => withConnection(`postgres://u:p@${host}/hr`, async (sql) => sql`select 1`))
    const late = { status: 'rejected', reason: { code: 'CONNECT_TIMEOUT', message: 'the database does not answer' } }
    expect(await Promise.allSettled(asked)).toMatchObject([late, { status: 'rejected', reason: { code: 'ECONNREFUSED' } }])
    closing.close()
  })

  test('a single connection is opened to the second host if the first host is silent', async () => {
    const silent = await startGate(new URL(url))
    const { hostname, port } = new URL(url)
    const hosts = url.replace(`${hostname}:${port}`, `127.0.0.1:${new URL(silent.url).port},${hostname}:${port}`)
    const ask = () => withConnection(`${hosts}?target_session_attrs=primary`, async (sql) => (await sql`select 1`).count)
    expect(await ask()).toBe(1)
    silent.end()
  })

  test('a pool connects to the second host if the first host closes each attempt', async () => {
    const closing = createServer((socket) => void socket.once('data', () => socket.end()))
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
    const { host } = new URL(url)
    const hosts = `127.0.0.1:${(closing.address() as { port: number }).port},${host}`
    const database = new Database({ url: url.replace(host, hosts), poolSize: 2, prepare: true, queryMsMax: 300 })
    const isFound = () => database.read({ text: "select 'found'", values: [] }).then(Boolean, () => false)
    await until(isFound)
    await database.end()
    closing.close()
  })

  test('a pool connects to the second host if the first host refuses; if both hosts refuse, the error says why', async () => {
    const fields = 'SFATAL\0C28000\0Mno entry\0\0'
    const refusal = Buffer.from(`E\0\0\0${String.fromCharCode(4 + fields.length)}${fields}`)
    const refusing = createServer((socket) => void socket.once('data', () => socket.end(refusal)))
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
    const refuser = `127.0.0.1:${(refusing.address() as { port: number }).port}`
    const { host } = new URL(url)
    const found = async (hosts: string) => {
      const database = new Database({ url: url.replace(host, hosts), poolSize: 2, prepare: true })
      return await database.read({ text: "select 'found'", values: [] }).finally(() => database.end())
    }
    expect(await found(`127.0.0.1:1,${host}`)).toEqual([['found']])
    expect(await found(`${refuser},${host}`)).toEqual([['found']])
    const away = { code: 'ServiceUnavailable', cause: { code: 'ECONNREFUSED' } }
    await expect(found('127.0.0.1:1,127.0.0.1:2')).rejects.toMatchObject(away)
    refusing.close()
  })

  test('a pool whose hosts all refuse connections does not change hosts with each of 100 failing statements', async () => {
    const database = new Database({ url: url.replace(new URL(url).host, '127.0.0.1:1,127.0.0.1:2'), poolSize: 2, prepare: true })
    const { values } = seriesOf('renewals')
    const [before, startMs] = [values[0] as number, performance.now()]
    const asked = Array.from({ length: 100 }, async (_, index) => {
      await Bun.sleep(5 * index)
      await database.read({ text: `select ${index}`, values: [] })
    })
    expect((await Promise.allSettled(asked)).every(({ status }) => status === 'rejected')).toBe(true)
    expect((values[0] as number) - before).toBeLessThanOrEqual(1 + (performance.now() - startMs) / 40)
    await database.end()
  })

  test('a connection to an IPv6 address is opened; if it closes during a transaction, only that transaction fails', async () => {
    const gate = await startGate(new URL(url), '::1')
    gate.open()
    const asked = withConnection(gate.url, (sql) =>
      inTransaction(sql, async (transaction) => {
        await transaction`insert into company (name) values ('undone')`
        setTimeout(gate.end, 50)
        await transaction`select pg_sleep(5)`
      }),
    )
    await expect(asked).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    expect(await written()).toBe(0)
  })
})
