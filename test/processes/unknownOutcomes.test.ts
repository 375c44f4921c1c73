import { afterEach, expect, test } from 'bun:test'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { renewed } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, until, workersOf } from '../support/process.ts'
import { type Served, serve } from '../support/serve.ts'

/** Creates at the same time, of each kind. */
const CLIENTS = 3
const UNKNOWN_MIN = 4

const postgres = useOwnPostgres()
afterEach(endPrograms)

/** What a create was answered: its status and code, or that its connection broke. */
type Outcome = '201' | 'ServiceUnavailable' | 'OutcomeUnknown' | 'InProgress' | 'lost'

interface Answered {
  outcome: Outcome
  id: number | null
  retryAfter: string | null
}

async function create(ask: Served['ask'], name: string, own: Record<string, string> = {}): Promise<Answered> {
  try {
    const { status, headers, body } = await ask('POST', '/Companies', { name }, own)
    return { outcome: status === 201 ? '201' : body.Error.Code, id: body.id ?? null, retryAfter: headers.get('retry-after') }
  } catch {
    return { outcome: 'lost', id: null, retryAfter: null }
  }
}

/** Connections to PostgreSQL, which can be cut when an answer comes over them: then its statement has been done. */
async function startWire(target: URL) {
  const sockets = new Set<Socket>()
  let isCutting = false
  const wire = createServer((client) => {
    const server = connectSocket(Number(target.port), target.hostname)
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.pipe(server)
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
    server.on('data', (data) => {
      // What a create without a key returns, behind its commit, and none of what precedes or reads.
      if (!isCutting || !/plain \d/.test(data.toString('latin1'))) return void client.write(data)
      isCutting = false
      client.destroy()
    })
  })
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve))
  return {
    url: Object.assign(new URL(target), { port: String((wire.address() as { port: number }).port) }).href,
    /** Whether the connection of the next write that is done is cut. */
    cutNext(isWanted: boolean) {
      isCutting = isWanted
    },
    close() {
      wire.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

for (const MEMORY_MB of ['256', '0'])
  test(`D43, D44: whatever is killed, a create is in the table as its answer says; with a key exactly once; MEMORY_MB=${MEMORY_MB}`, async () => {
    const wire = await startWire(new URL(postgres.url))
    const settings = { DATA_DIR: `${postgres.folder}/${MEMORY_MB}`, DATABASE_URL: wire.url, MEMORY_MB }
    const { server, ask } = await serve({ ...settings, LOG_LEVEL: 'error' })
    let sql = connect(postgres.url)
    await sql`truncate company, employee, absence cascade`
    // A create takes long enough that connections are cut before, under and after it.
    await sql.unsafe(`
        create or replace function take_time() returns trigger language plpgsql as $$
          begin perform pg_sleep(0.02 * random()); return null; end $$;
        create or replace trigger slow after insert on company execute function take_time()`)
    const plain = new Map<string, Answered>()
    const keyed = new Map<string, Answered>()
    let isEnding = false
    let count = 0
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!isEnding) {
        const name = `plain ${++count}`
        const answer = await create(ask, name)
        plain.set(name, answer)
        if (answer.outcome !== '201') await Bun.sleep(20)
      }
    })
    const retrying = Array.from({ length: CLIENTS }, async () => {
      while (!isEnding) {
        const name = `keyed ${++count}`
        const headers = { 'Idempotency-Key': `"${MEMORY_MB} ${name}"` }
        let answer = await create(ask, name, headers)
        while (answer.outcome !== '201') {
          if (answer.outcome !== 'lost') expect([name, answer.retryAfter]).toEqual([name, '1'])
          await Bun.sleep(20)
          answer = await create(ask, name, headers)
        }
        keyed.set(name, answer)
      }
    })
    const having = (outcome: Outcome) => [...plain].filter(([, answer]) => answer.outcome === outcome)
    try {
      const unknown = () => having('OutcomeUnknown').map(([name]) => name)
      const done = () => sql`select from company where name = any (${unknown()})`
      while (unknown().length < UNKNOWN_MIN || (await done()).count === 0) {
        wire.cutNext(true)
        await sql`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and state = 'active' and query like '%insert into%company%'
              and pid <> pg_backend_pid()`
        await Bun.sleep(50)
      }
      wire.cutNext(false)
      const before = having('201').length
      await until(() => having('201').length > before)
      const [worker] = workersOf(server.pid) as [number]
      process.kill(worker, 'SIGKILL')
      await renewed(server.pid, 2, [worker])
      await postgres.goAway()
      await until(() => having('ServiceUnavailable').length > 0)
      await postgres.comeBack()
      const back = having('201').length
      await until(() => having('201').length > back)
    } finally {
      isEnding = true
      await Promise.all([...clients, ...retrying])
      await sql.end({ timeout: 0 })
    }
    sql = connect(postgres.url)
    // Nothing runs any more that could still be done.
    await until(
      async () =>
        (await sql`select from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like '%company%'`)
          .count === 0,
    )
    const rows = await sql`select id, name from company`
    const times = new Map<string, number>()
    for (const { name } of rows) times.set(name, (times.get(name) ?? 0) + 1)
    const allowed = { '201': [1], ServiceUnavailable: [0], OutcomeUnknown: [0, 1], lost: [0, 1], InProgress: [] }
    const wrong = [...plain].filter(([name, { outcome }]) => {
      const done = times.get(name) ?? 0
      return !(allowed[outcome] as number[]).includes(done)
    })
    expect(wrong).toEqual([])
    expect(having('OutcomeUnknown').some(([name]) => times.has(name))).toBe(true)
    for (const [, { retryAfter }] of having('OutcomeUnknown')) expect(retryAfter).toBeNull()
    for (const [, { retryAfter }] of having('ServiceUnavailable')) expect(retryAfter).toBe('1')
    const ids = new Map(rows.map(({ id, name }) => [name as string, Number(id)]))
    expect(keyed.size).toBeGreaterThan(0)
    expect([...keyed].filter(([name, { id }]) => times.get(name) !== 1 || ids.get(name) !== id)).toEqual([])
    await sql.unsafe('drop trigger slow on company')
    await sql.end()
    wire.close()
  })
