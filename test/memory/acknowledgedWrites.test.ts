import { afterEach, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { hasPgBouncer, type RunningPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { endPrograms } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import type { ServerProcess } from '../support/serverProcesses.ts'
import { startProcess } from '../support/start.ts'

// D70: two servers whose clients may reach any worker with each request.

let sql: postgres.Sql
let pooler: RunningPgBouncer | null = null
afterEach(async () => {
  await endPrograms()
  await pooler?.stop()
})

const ROWS = 200
const ROUNDS = rounds(5, 1_700)

/** Writes `text` into the row of an employee, and returns the totals that lists with that text have then. */
type Write = (
  servers: readonly [ServerProcess, ServerProcess],
  id: number,
  text: string,
) => Promise<{ filter: string; total: string }>

const change: Write = async ([one], id, text) => {
  expect((await one.ask('PATCH', `/Employees/${id}`, { Title: text })).status).toBe(200)
  return { filter: `Title=${text}`, total: '1' }
}
const WRITES: Readonly<Record<string, Write>> = {
  'a change': change,
  'a change over the other server': ([, other], id, text) => change([other, other], id, text),
  'a commit of psql': async (_, id, text) => {
    await sql`update employee set title = ${text} where id = ${id}`
    return { filter: `Title=${text}`, total: '1' }
  },
  'a rename, which a cascade copies': async ([, other], id, text) => {
    expect((await other.ask('PATCH', `/Companies/${1 + (id % 2)}`, { Name: text })).status).toBe(200)
    return { filter: `Company=${text}`, total: String(ROWS / 2) }
  },
  'a create': async ([one], _, text) => {
    expect((await one.ask('POST', '/Employees', { Title: text })).status).toBe(201)
    return { filter: `Title=${text}`, total: '1' }
  },
  'a deletion': async ([one], _, text) => {
    const { body } = await one.ask('POST', '/Employees', { Title: text })
    expect((await one.ask('DELETE', `/Employees/${body.id}`)).status).toBe(204)
    return { filter: `Title=${text}`, total: '0' }
  },
}

test.each([
  ['with default settings', 'on', false],
  [`with synchronous_commit = off${hasPgBouncer ? ', through PgBouncer' : ''}`, 'off', hasPgBouncer],
] as const)(
  'no list of any server is stale right after an acknowledged write, %s',
  async (_, synchronousCommit, isPooled) => {
    const databaseUrl = await createDatabase()
    sql = connect(databaseUrl)
    await sql.unsafe(`alter database ${new URL(databaseUrl).pathname.slice(1)} set synchronous_commit = ${synchronousCommit}`)
    await sql`insert into company (name) values ('Acme'), ('Bolt')`
    await sql`
    insert into employee (first_name, company_id, company_key) select 'n' || n, company.id, name_key
    from generate_series(1, ${ROWS}) as n join company on company.id = 1 + n % 2`
    pooler = isPooled ? await startPgBouncer(databaseUrl, 8) : null
    const address = pooler ? { DATABASE_URL: pooler.url, DATABASE_PREPARE: 'false' } : { DATABASE_URL: databaseUrl }
    const settings = { ...address, LOG_LEVEL: 'info' }
    const [one, other] = await Promise.all([startProcess(settings), startProcess({ ...settings, WORKERS: isPooled ? '1' : '2' })])
    const stale: string[] = []
    let reads = 0
    for (let round = 0; round < ROUNDS; round++)
      for (const [name, write] of Object.entries(WRITES)) {
        const { filter, total } = await write([one, other], 1 + (round % ROWS), `${name.length}x${round}`)
        for (const server of [one, other]) {
          reads++
          const { headers } = await server.ask('GET', `/Employees?${filter}&sort=-Id`)
          if (headers.get('x-total-count') !== total) stale.push(`${name}: ${filter}`)
        }
      }
    for (const { server } of [one, other]) expect(server.output()).toContain('a table is in memory')
    expect({ reads, stale }).toEqual({ reads: 2 * ROUNDS * Object.keys(WRITES).length, stale: [] })
  },
  600_000,
)
