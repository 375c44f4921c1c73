import { expect, test } from 'bun:test'
import { KeyStore } from '../../src/keys/store.ts'
import { headers, PATH, usePlace } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { until, workersOf } from '../support/process.ts'
import { retried, statusesOf } from '../support/requests.ts'
import { makeKey } from '../support/server.ts'
import { startProcess } from '../support/start.ts'

/** Promised time until a revoked key is refused. */
const NOTICED_MS_MAX = 5_000
const place = usePlace()

test('D34: workers of a frozen supervisor refuse a revoked key, accept a new one, and answer lists correctly', async () => {
  const { server, url } = await startProcess(place.settings)
  const sql = connect(place.DATABASE_URL)
  const store = new KeyStore(sql)
  const [leaving, staying, fresh, limited] = [makeKey(), makeKey(), makeKey(), makeKey({ limits: '1000/1m' })]
  await Promise.all([store.create(leaving.record), store.create(staying.record)])
  const isEverywhere = async (key: string, status: number) => Bun.deepEquals(await statusesOf(url + PATH, key), [status])
  for (const { text } of [leaving, staying]) await until(() => isEverywhere(text, 200))
  const total = async () => (await retried(() => fetch(url + PATH, { headers }))).headers.get('x-total-count')
  await until(async () => (await total()) === '0')
  const workers = workersOf(server.pid)

  server.kill('SIGSTOP')
  try {
    await store.revoke(leaving.record.name)
    const revokedMs = performance.now()
    await until(() => isEverywhere(leaving.text, 401))
    // Workers usually need a second or two; a busy machine may need more, but not a minute.
    expect(performance.now() - revokedMs).toBeLessThan(10 * NOTICED_MS_MAX)
    expect(await statusesOf(url + PATH, staying.text)).toEqual([200])
    await store.create(fresh.record)
    expect(await statusesOf(url + PATH, fresh.text)).toEqual([200])
    // The table of its limits does not exist yet; the key is valid, and its requests can be retried.
    await store.create(limited.record)
    expect(await statusesOf(url + PATH, limited.text)).toEqual([503])
    await sql`insert into company (name) values ('a')`
    expect(await total()).toBe('1')
  } finally {
    server.kill('SIGCONT')
  }

  const later = makeKey()
  await store.create(later.record)
  for (const { text } of [later, limited]) await until(() => isEverywhere(text, 200))
  await sql`insert into company (name) values ('b')`
  await until(async () => (await total()) === '2')
  expect(await statusesOf(url + PATH, leaving.text)).toEqual([401])
  expect(workersOf(server.pid).sort()).toEqual(workers.sort())
  await sql.end()
  expect(await server.stop()).toBe(0)
})
