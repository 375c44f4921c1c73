import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { KeyStore } from '../../src/keys/store.ts'
import { outputOf } from '../cli/roster.ts'
import { useDatabase } from '../support/database.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { readOrEmpty, until } from '../support/process.ts'
import { keyIn, statusesOf } from '../support/requests.ts'
import { makeKey } from '../support/server.ts'
import { dataFolder, startProcess, useProcess } from '../support/start.ts'

const LIMITS = { RATE_LIMITS: '100000/1h', RATE_LIMITS_ANONYMOUS: '100000/1h' }
const SETTINGS = { BOOTSTRAP_API_KEY: '', LOG_LEVEL: 'info', ...LIMITS }

const { url: DATABASE_URL } = useDatabase('empty')
const served = useProcess({ ...SETTINGS, DATABASE_URL })

const keys = (...words: string[]) => outputOf({ DATABASE_URL, DATA_DIR: dataFolder() }, 'keys', ...words)
const createKey = async (name: string, rights: string, ...more: string[]) =>
  keyIn(await keys('create', '--name', name, '--rights', rights, ...more))
const rotateKey = async (name: string, overlap: string) => keyIn(await keys('rotate', '--name', name, '--overlap', overlap))

const statuses = (key: string, path = '/Companies', init: RequestInit = {}) => statusesOf(served.url + path, key, init)
const isEverywhere = async (key: string, status: number, base = served.url) =>
  Bun.deepEquals(await statusesOf(`${base}/Companies`, key), [status])

test('D34: every worker admits the first requests with a new key, even more than an address may send without a key', async () => {
  const { url: own, ...narrow } = await startProcess({ ...SETTINGS, DATABASE_URL, RATE_LIMITS_ANONYMOUS: '10/5s' })
  for (const name of ['early', 'later'])
    expect(await statusesOf(`${own}/Companies`, await createKey(name, '*:read'))).toEqual([200])
  await narrow.server.stop()
})

describe('keys that are created while the server runs', () => {
  test('D34: every worker accepts a new key as soon as it is printed, and answers 403 to requests without a right', async () => {
    expect(served.server.output()).toContain('No key is valid yet')
    const key = await createKey('reader', 'Companies:read')
    expect(await statuses(key)).toEqual([200])
    expect(await statuses(key, '/Employees')).toEqual([403])
    expect(await statuses(key, '/Companies', { method: 'POST', body: '{"Name":"x"}' })).toEqual([403])
    expect(await statuses(key, '/Employees/999999')).toEqual([403])
    expect(await statuses(key, '/Companies/999999')).toEqual([404])
  })

  test('a changed key gets its new rights on every worker', async () => {
    const key = await createKey('changed', 'Companies:read')
    expect([await statuses(key), await statuses(key, '/Employees')]).toEqual([[200], [403]])
    await keys('change', '--name', 'changed', '--right', 'read Employees?fields=Id')
    await until(() => isEverywhere(key, 403))
    expect(await statuses(key, '/Employees')).toEqual([200])
  })

  test('a changed key gets its new limits on every worker, and no request is refused meanwhile', async () => {
    const key = await createKey('more', '*:read')
    const policyOf = async () => {
      const { status, headers } = await fetch(`${served.url}/Companies`, { headers: { authorization: `ApiKey ${key}` } })
      return [status, headers.get('ratelimit-policy')] as const
    }
    const [, before] = await policyOf()
    await keys('change', '--name', 'more', '--limits', '99999/1h')
    const after = '"1h";q=99999;w=3600'
    const seen: (readonly [number, string | null])[] = []
    // As many in a row as reach every worker.
    await until(async () => {
      seen.push(await policyOf())
      return seen.length >= 40 && seen.slice(-40).every(([, policy]) => policy === after)
    })
    expect(new Set(seen.map(([status]) => status))).toEqual(new Set([200]))
    expect(new Set(seen.map(([, policy]) => policy)).difference(new Set([before, after])).size).toBe(0)
  })

  test('a key that has expired is refused by every worker with 401', async () => {
    const key = await createKey('short-lived', '*:read', '--expires', '3s')
    expect(await statuses(key)).toEqual([200])
    await until(() => isEverywhere(key, 401))
  })

  test('D34: a revoked key is refused by every worker with 401', async () => {
    const key = await createKey('short', '*:read')
    expect(await statuses(key)).toEqual([200])
    await keys('revoke', '--name', 'short')
    // A busy machine needs more than the promised second.
    await until(() => isEverywhere(key, 401))
  })

  test('a rotated key and its successor are both valid until the overlap ends, then only the successor; they share their limits', async () => {
    const old = await createKey('rotated', '*:read', '--limits', '100000/1h')
    expect(await statuses(old)).toEqual([200])
    const fresh = await rotateKey('rotated', '1h')
    expect(await statuses(fresh)).toEqual([200])
    const remaining = async (key: string) =>
      Number((await fetch(served.url, { headers: { authorization: `ApiKey ${key}` } })).headers.get('x-ratelimit-remaining'))
    const before = await remaining(fresh)
    expect(await remaining(old)).toBe(before - 1)
    const last = await rotateKey('rotated', '1s')
    await until(() => isEverywhere(fresh, 401))
    expect(await statuses(last)).toEqual([200])
  })

  test('keys list shows the last use of a key, and the key keeps its rights when workers are replaced', async () => {
    const beganMs = Date.now()
    const key = await createKey('seen', '*:read')
    const entry = async () => JSON.parse(await keys('list', '--json')).find(({ name }: { name: string }) => name === 'seen')
    expect((await entry()).lastUsed).toBeNull()
    expect(await statuses(key)).toEqual([200])
    // Workers report used keys at intervals, and when they stop.
    served.server.kill('SIGUSR2')
    await until(async () => (await entry()).lastUsed !== null)
    expect(Date.parse((await entry()).lastUsed)).toBeGreaterThan(beganMs - 60_000)
    expect(await statuses(key)).toEqual([200])
  })
})

/** Returns an address for a role that, unlike that of the tests, is bound by limits of its database, which it owns. */
async function ownedBy(role: string): Promise<string> {
  const owned = new URL(await createDatabase('empty'))
  const sql = connect(owned.href)
  await sql.unsafe(`drop role if exists ${role}`)
  await sql.unsafe(`create role ${role} login password 'secret'`)
  await sql.unsafe(`alter database ${owned.pathname.slice(1)} owner to ${role}`)
  await sql.unsafe(`alter schema public owner to ${role}`)
  await sql.end()
  owned.username = role
  owned.password = 'secret'
  return owned.href
}

test('a revoked key is refused even if no new connection is possible and pages come from memory. D34', async () => {
  const role = `roster_keys_${process.pid}`
  const own = new URL(await ownedBy(role))
  const { server: narrow, url: address } = await startProcess({ ...SETTINGS, DATABASE_URL: own.href, DATABASE_POOL: '2' })
  const admin = new URL(DATABASE_URL)
  admin.pathname = own.pathname
  const sql = connect(admin.href)
  const store = new KeyStore(sql)
  const [leaving, staying] = [makeKey(), makeKey()]
  await Promise.all([store.create(leaving.record), store.create(staying.record)])
  await until(() => isEverywhere(leaving.text, 200, address))
  // Each worker has loaded the table, and has its connection for changes.
  await until(
    async () => (await isEverywhere(leaving.text, 200, address)) && narrow.output().match(/a table is in memory/g)?.length === 2,
  )
  expect(await isEverywhere(leaving.text, 200, address)).toBe(true)
  // Each worker has opened the connection over which it reads keys, and needs no further one.
  expect(await statusesOf(`${address}/Companies/1`, leaving.text)).toEqual([404])
  await sql.unsafe(`alter database ${own.pathname.slice(1)} connection limit 0`)
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role} and application_name = 'roster'`
  await store.revoke(leaving.record.name)
  await until(() => isEverywhere(leaving.text, 401, address))
  await until(() => isEverywhere(staying.text, 200, address))
  const fresh = makeKey()
  await store.create(fresh.record)
  await until(() => isEverywhere(fresh.text, 200, address))
  await narrow.stop()
  await sql.end()
})

test('the secret of a key is not in the log, in the database, in a command line or in an environment', async () => {
  const key = await createKey('hidden', '*:read')
  expect(await statuses(key)).toEqual([200])
  const [, , secret = ''] = key.split('_')
  await fetch(`${served.url}/Companies?Name=${secret}`, { headers: { authorization: `ApiKey ${key}x` } })
  await served.server.waitFor(/GET \/Companies 401/)
  const sql = connect(DATABASE_URL)
  const rows = JSON.stringify(await sql`select * from api_key`)
  await sql.end()
  expect(rows).toContain('hidden')
  expect(served.server.output()).toContain('GET /Companies 401')
  const processes = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid))
  const shown = processes.map((pid) => ['cmdline', 'environ'].map((file) => readOrEmpty(`/proc/${pid}/${file}`)).join())
  for (const text of [rows, served.server.output(), ...shown]) expect(text.includes(secret)).toBe(false)
})

test('A start names the keys whose rights do not fit the entities; such a key has no rights', async () => {
  const url = await createDatabase()
  const { text, record } = makeKey({ rights: '', addresses: 'read Companies\nread Absences?Gone=1' })
  const [fitting, fits] = [makeKey({ rights: '', addresses: 'read Companies' }), makeKey({ rights: 'Gone:read,Companies:read' })]
  for (const key of [record, fitting.record, fits.record]) await new KeyStore(connect(url)).create(key)
  const { url: own, server } = await startProcess({ ...SETTINGS, DATABASE_URL: url })
  const lines = server
    .output()
    .split('\n')
    .filter((line) => line.includes('the rights of a key do not fit the entities: it has none'))
  expect(lines).toEqual([expect.stringContaining(record.id)])
  expect(await statusesOf(`${own}/Companies`, text)).toEqual([403])
  for (const key of [fitting, fits]) expect(await statusesOf(`${own}/Companies`, key.text)).toEqual([200])
  await server.stop()
})
