import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { headers, usePlace } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const CLIENTS = 24
const READERS = 4
/** An answer of 50 such rows is larger than what the system keeps of a connection. */
const NAME_BYTES = 150_000

const place = usePlace()

test('beside clients that ask for lists and do not read them, and those that leave instead, others are answered, and nothing of them stays', async () => {
  const { server, url } = await place.start()
  const sql = connect(place.DATABASE_URL)
  // PostgreSQL packs them, so that an index can have them.
  await sql`insert into company (name) select n || repeat('x', ${NAME_BYTES}) from generate_series(1, 60) as n`
  const [first] = await sql`insert into company (name) values ('short') returning id`
  const areAnswered = async () => {
    const paths = Array.from({ length: 20 }, (_, index) => `/Companies${index % 2 ? `/${first?.id}` : '?Name=short'}`)
    const answers = await Promise.all(paths.map((path) => fetch(url + path, { headers, keepalive: false })))
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200))
  }
  const busy = async () => {
    const running = await sql`
        select from pg_stat_activity
        where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid() and backend_type = 'client backend'`
    return running.count
  }
  const command = [join(import.meta.dir, 'slowListClients.ts'), String(place.port), KEY, CLIENTS, READERS].map(String)
  const clients = Bun.spawn([process.execPath, ...command], { stdin: 'pipe', stdout: 'pipe' })
  const output = clients.stdout.getReader()
  const said = async () => new TextDecoder().decode((await output.read()).value)
  expect(await said()).toBe('asked')
  await areAnswered()
  await until(async () => (await busy()) === 0)
  clients.stdin.write('leave')
  clients.stdin.flush()
  await areAnswered()
  expect(await said()).toBe(Array(READERS).fill('200 50').join())
  await until(async () => (await busy()) === 0)
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  await Promise.all([sql.end(), clients.exited])
  expect(await server.stop()).toBe(0)
  expect(server.output()).not.toMatch(/ error /)
})
