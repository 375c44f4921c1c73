import { describe, expect, test } from 'bun:test'
import { connectTo } from '../../src/execute/connect.ts'
import { readDatabaseUrl } from '../../src/model/databaseUrl.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { startProcess } from '../support/start.ts'

const ADDRESS = 'postgres://u:p@db:5433/hr'

describe('readDatabaseUrl', () => {
  test.each([
    ['', {}, {}],
    ['?', {}, {}],
    ['?sslmode=require', { ssl: 'require' }, {}],
    ['?sslmode=disable', { ssl: false }, {}],
    ['?ssl=false', { ssl: false }, {}],
    ['?sslrootcert=system', { ssl: 'verify-full' }, {}],
    ['?sslmode=require&sslrootcert=system', { ssl: 'verify-full' }, {}],
    ['?sslmode=verify-full&sslrootcert=system&sslnegotiation=direct', { ssl: 'verify-full', sslnegotiation: 'direct' }, {}],
    ['?connect_timeout=10', { connect_timeout: 10 }, {}],
    ['?target_session_attrs=read-write', { target_session_attrs: 'read-write' }, {}],
    ['?search_path=app', {}, { search_path: 'app' }],
    ['?options=-c%20work_mem%3D64MB#x', {}, { options: '-c work_mem=64MB' }],
  ])('keeps the parameters %j', (parameters, options, connection) =>
    expect(readDatabaseUrl(ADDRESS + parameters)).toMatchObject({ address: ADDRESS, options, connection }),
  )

  test('keeps the path of a file of authorities, and the order of several hosts', () => {
    const address = 'postgres://u:p@one:5433,[::1],two:5434/hr'
    const { options, authoritiesFile, hosts, ...kept } = readDatabaseUrl(`${address}?sslrootcert=/etc/roster/ca.crt`)
    expect([kept.address, options, authoritiesFile]).toEqual([address, { ssl: 'verify-full' }, '/etc/roster/ca.crt'])
    expect(hosts.map(({ host, port }) => `${host} ${port}`)).toEqual(['one 5433', '::1 5432', 'two 5434'])
  })

  test.each([
    ...['application_name', 'TimeZone', 'timezone', 'DateStyle', 'statement_timeout', 'jit', 'roster.machine'],
    ...['default_transaction_isolation', 'client_encoding', 'replication', 'user', 'database', 'password', 'host'],
    ...['max', 'prepare', 'max_pipeline', 'idle_timeout', 'max_lifetime', 'backoff', 'fetch_types', 'debug', 'keep_alive'],
    ...['schema', 'pgbouncer', 'channel_binding', 'sslcert', '__proto__', 'constructor'],
  ])('refuses the parameter %s, and names it', (name) =>
    expect(() => readDatabaseUrl(`${ADDRESS}?sslmode=require&${name}=secret`)).toThrow(`parameters ${name} is not among`),
  )

  test.each([
    'sslmode=on',
    'sslrootcert=ca.pem',
    'connect_timeout=0',
    'target_session_attrs=any',
    'options=-c%20roster.machine%3Dx',
  ])('refuses the invalid value in %s without repeating it in the message', (parameter) => {
    const [name = '', value = ''] = parameter.split('=')
    const read = () => readDatabaseUrl(`${ADDRESS}?${parameter}`)
    expect(read).toThrow(`parameters ${name} has a value that cannot be used`)
    expect(read).not.toThrow(value)
  })

  test('names the allowed values in the message about an invalid value', () => {
    const all = 'disable, allow, prefer, require, verify-ca, verify-full'
    expect(() => readDatabaseUrl(`${ADDRESS}?sslmode=on`)).toThrow(`sslmode has a value that cannot be used: allowed is ${all}`)
  })

  test.each(['postgres://u:pa?ss@db/hr', 'postgres://u:pass@db/hr?pa@ss=1', 'postgres://u:pa#ss@db/hr'])(
    '%s is refused without its password',
    (url) => {
      expect(() => readDatabaseUrl(url)).toThrow(/^(it cannot be read|of its parameters one is not among [a-z_, ]+)$/)
    },
  )
})

test('settings in DATABASE_URL apply to the session, but the settings of the server itself take precedence', async () => {
  const options = encodeURIComponent('-c work_mem=7MB -c TimeZone=Asia/Tokyo -c statement_timeout=1')
  const url = `${await createDatabase()}?search_path=pg_catalog&options=${options}`
  const sql = connectTo(url, { max: 1, connection: { TimeZone: 'UTC', statement_timeout: 4_000 } })
  const show = async (name: string) => (await sql.unsafe(`show ${name}`))[0]?.[name]
  expect(await show('search_path')).toBe('pg_catalog')
  expect(await show('work_mem')).toBe('7MB')
  expect(await show('TimeZone')).toBe('UTC')
  expect(await show('statement_timeout')).toBe('4s')
  await sql.end()
})

test('a server whose search_path names another schema serves all resources, and notices writes of other programs', async () => {
  const url = await createDatabase('empty')
  const other = connect(url)
  await other`create schema app`
  const { server, ask } = await startProcess({ DATABASE_URL: `${url}?search_path=app`, WORKERS: '1', LOG_LEVEL: 'info' })
  const total = async () => (await ask('GET', '/Companies')).headers.get('x-total-count')
  expect((await ask('POST', '/Companies', { Name: 'Acme' })).status).toBe(201)
  expect([await total(), await total()]).toEqual(['1', '1'])
  await other`insert into app.company (name) values ('Elsewhere')`
  expect(await total()).toBe('2')
  await until(() => server.output().includes('a table is in memory'))
  expect(await other`select from pg_tables where schemaname = 'public'`).toHaveLength(0)
  await other.end()
})
