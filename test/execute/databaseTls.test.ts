import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { withConnection } from '../../src/execute/connect.ts'
import { Database } from '../../src/execute/database.ts'
import { hasOpenssl, makeCertificate } from '../support/certificate.ts'
import { type PlainPostgres, startPlainPostgres } from '../support/plainPostgres.ts'
import { leaveOut, temporaryFolder } from '../support/process.ts'
import { startProcess } from '../support/start.ts'

// A PostgreSQL that accepts only encrypted connections, with a certificate of an authority that no system trusts.

const folder = temporaryFolder()
let postgres: PlainPostgres
let own: { certificate: string; key: string }

/** Returns the address of its database with these parameters. */
function urlWith(parameters: string, host = 'localhost'): string {
  return `${Object.assign(new URL(postgres.url), { hostname: host }).href}?${parameters}`
}

const isEncrypted = (url: string) =>
  withConnection(url, async (sql) => (await sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`)[0]?.ssl)

afterAll(() => postgres?.stop())

if (hasOpenssl) {
  beforeAll(async () => {
    chmodSync(folder.path, 0o755) // PostgreSQL may run as the user `nobody`
    own = makeCertificate('DNS:localhost', folder.path)
    // A cluster of the packaged version, which writes the log that servers read.
    const dataDir = join(folder.path, 'cluster')
    mkdirSync(dataDir)
    postgres = await startPlainPostgres({ dataDir, settings: ['wal_level=logical'], tls: own })
  })

  test('with sslrootcert, a connection checks both the certificate and the host name, even with sslmode=require', async () => {
    for (const mode of ['', '&sslmode=verify-full', '&sslmode=require'])
      expect(await isEncrypted(urlWith(`sslrootcert=${own.certificate}${mode}`))).toBe(true)
    expect(await isEncrypted(urlWith('sslmode=require'))).toBe(true)
    for (const url of [
      urlWith('sslmode=verify-full'),
      urlWith('sslrootcert=system'),
      ...['', '&sslmode=require'].map((mode) => urlWith(`sslrootcert=${own.certificate}${mode}`, '127.0.0.1')),
    ])
      await expect(isEncrypted(url)).rejects.toThrow(/certificate|altnames/i)
    await expect(isEncrypted(urlWith('sslmode=disable'))).rejects.toThrow(/no encryption/)
  })

  test('the start names the fault of a file of sslrootcert that is missing, empty or broken', () => {
    const faultOf = (name: string) => {
      const file = join(folder.path, name)
      return () => readConfig({ DATABASE_URL: `postgres://u:p@db/hr?sslrootcert=${file}` })
    }
    writeFileSync(join(folder.path, 'empty.crt'), 'nothing')
    writeFileSync(join(folder.path, 'broken.crt'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    expect(faultOf('missing.crt')).toThrow('the file of sslrootcert cannot be read (ENOENT)')
    expect(faultOf('empty.crt')).toThrow('the file of sslrootcert has no certificate in PEM')
    expect(faultOf('broken.crt')).toThrow('the file of sslrootcert has a certificate that cannot be read')
  })

  test('open connections still answer while the file of sslrootcert is missing, and writes succeed when it is back', async () => {
    const file = join(folder.path, 'rotated.crt')
    copyFileSync(own.certificate, file)
    // One write at a time.
    const database = new Database({ url: urlWith(`sslrootcert=${file}`), poolSize: 3, prepare: true })
    const write = () => database.write({ text: "select 'kept'", values: [] })
    await write()
    rmSync(file)
    // After 200 prepared statements the pool is replaced by a new one.
    for (let use = 0; use < 3; use++)
      await Promise.all(Array.from({ length: 200 }, (_, shape) => database.read({ text: `select ${shape}`, values: [] })))
    for (let count = 0; count < 3; count++) expect(await write()).toEqual([['kept']])
    copyFileSync(own.certificate, file)
    expect(await write()).toEqual([['kept']])
    await database.end()
  })

  test('a server encrypts every connection, also the connections that load tables into memory', async () => {
    const url = urlWith(`sslmode=verify-full&sslrootcert=${own.certificate}`)
    const { server, ask } = await startProcess({ DATABASE_URL: url, WORKERS: '1', DATABASE_POOL: '3' })
    const total = async () => (await ask('GET', '/Companies')).headers.get('x-total-count')
    expect([(await ask('POST', '/Companies', { Name: 'Acme' })).status, await total()]).toEqual([201, '1'])
    await withConnection(url, async (sql) => {
      await sql`insert into company (name) values ('Elsewhere')`
      expect(await total()).toBe('2')
      const found = await sql`
        select backend_type, bool_and(ssl) as encrypted from pg_stat_ssl join pg_stat_activity using (pid)
        where application_name like 'roster%' group by 1 order by 1`
      expect(found).toEqual([{ backend_type: 'client backend', encrypted: true }] as never)
    })
    expect(await server.stop()).toBe(0)
  })
} else test('without openssl there is no certificate to connect by', () => leaveOut('CI_REQUIRES_NGINX', 'there is no openssl'))
