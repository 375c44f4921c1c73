import { afterEach, expect, test } from 'bun:test'
import { cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, type RawResponse } from '../support/connection.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { PATH } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, until, workersOf } from '../support/process.ts'
import { bytesOf } from '../support/requests.ts'
import { startProcess } from '../support/start.ts'

const postgres = useOwnPostgres()
const cluster = join(postgres.folder, 'postgres')
const standby = join(postgres.folder, 'standby')
afterEach(endPrograms)

async function whileAway(during: () => void) {
  await postgres.goAway()
  during()
  await postgres.comeBack()
}

/** Copies the cluster to the standby. Later writes are lost in the failover, as with asynchronous replication. */
const copyToStandby = () => whileAway(() => cpSync(cluster, standby, { recursive: true }))
const failOver = () =>
  whileAway(() => {
    rmSync(cluster, { recursive: true })
    renameSync(standby, cluster)
  })

/** A client whose connection stays with one worker. */
class Client {
  private readonly connection: Connection
  constructor(url: string) {
    this.connection = new Connection(url)
  }

  ask(method: string, path: string, body = ''): Promise<RawResponse> {
    return this.connection.send(bytesOf(method, path, body), false)
  }

  /** Returns the total of a list; repeats the request while the list gets 503, since PostgreSQL is away or slow. */
  async total(filter: string): Promise<string | undefined> {
    let answer: RawResponse | undefined
    await until(async () => {
      answer = await this.ask('GET', `${PATH}&${filter}`)
      return answer.status !== 503
    })
    return answer?.headers.get('x-total-count')
  }
}

/** Returns a client of this worker, and one of another worker. */
async function clientsOf(url: string, worker: number): Promise<{ sleeper: Client; other: Client }> {
  for (;;) {
    const clients = Array.from({ length: 6 }, () => new Client(url))
    await Promise.all(clients.map((client) => client.ask('GET', '/livez')))
    process.kill(worker, 'SIGSTOP')
    const probes = clients.map((client) => client.ask('GET', '/livez').then(() => true))
    const answers = await Promise.all(probes.map((probe) => Promise.race([probe, Bun.sleep(1_000).then(() => false)])))
    process.kill(worker, 'SIGCONT')
    await Promise.all(probes)
    const [sleeper, other] = [clients[answers.indexOf(false)], clients[answers.indexOf(true)]]
    if (sleeper && other) return { sleeper, other }
  }
}

test('a worker that was stopped during a failover does not show a write that was lost in the failover', async () => {
  const DATABASE_URL = postgres.url
  const { server, url } = await startProcess({ DATA_DIR: `${postgres.folder}/server`, DATABASE_URL })
  const [worker = 0] = workersOf(server.pid)
  // The supervisor would kill a worker that sleeps for ten seconds, which a failover takes on a busy machine.
  server.kill('SIGSTOP')
  const sql = connect(DATABASE_URL)
  try {
    await sql`truncate company, employee, absence restart identity cascade`
    await sql`insert into company (name) select 'kept' from generate_series(1, 20)`
    await copyToStandby()
    const { sleeper, other } = await clientsOf(url, worker)
    await until(async () => (await other.total('Name=kept')) === '20')

    // The write waits in PostgreSQL until its worker is stopped; then it is done, and the answer goes to a stopped process.
    const locked = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const holding = sql.begin(async (transaction) => {
      await transaction`select from company where id = 1 for update`
      locked.resolve()
      await release.promise
    })
    await locked.promise
    const lost = sleeper.ask('PATCH', '/Companies/1', '{"Name":"lost"}')
    await until(async () => {
      const waiting = await sql`select from pg_stat_activity where wait_event_type = 'Lock' and query not like '%lock_timeout%'`
      return waiting.length > 0
    })
    process.kill(worker, 'SIGSTOP')
    release.resolve()
    await holding
    await until(async () => (await sql`select from company where name = 'lost'`).length > 0)

    await failOver()
    const totals = async () => [await other.total('Name=kept'), await other.total('Name=lost')]
    await until(async () => `${await totals()}` === '20,0')
    process.kill(worker, 'SIGCONT')
    // PostgreSQL had committed it. A worker that has slept for longer than the deadline of a write cannot say so.
    const { status, body } = await lost
    expect(status === 503 ? JSON.parse(body).Error.Code : status).toBeOneOf([200, 'OutcomeUnknown'])
    for (let look = 0; look < 20; look++) {
      expect(await totals()).toEqual(['20', '0'])
      expect([await sleeper.total('Name=kept'), await sleeper.total('Name=lost')]).toEqual(['20', '0'])
      await Bun.sleep(50)
    }
  } finally {
    server.kill('SIGCONT')
    await sql.end()
  }
})
