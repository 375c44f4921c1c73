import { afterEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { isLocal } from '../../src/doctor/database.ts'
import { examine } from '../../src/doctor/doctor.ts'
import { clockOff } from '../../src/doctor/finding.ts'
import { HookStore } from '../../src/hooks/store.ts'
import { lockPort } from '../../src/os/folder.ts'
import { loadEntities, OWN_TABLES } from '../../src/registry.ts'
import { hasOpenssl, makeCertificate } from '../support/certificate.ts'
import { startPlainIssuer } from '../support/plainIssuer.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { endPrograms, freePort, run, temporaryFolder } from '../support/process.ts'
import { ROLES_PATH } from '../support/rolesFile.ts'
import { MAIN } from '../support/serverProcesses.ts'
import { canHaveSmallDisk, withDisk } from '../support/smallDisk.ts'

const { path: folder } = temporaryFolder()
afterEach(endPrograms)

const environment = (own: Record<string, string> = {}) => ({
  ...{ DATA_DIR: join(folder, 'data'), PORT: '0', DATABASE_POOL: '4', WORKERS: '2' },
  ...own,
})
const findingsOf = (own: Record<string, string>) => examine(() => readConfig(environment(own)))

test.each([
  ['postgres://u:p@localhost:5432/hr', true],
  ['postgres://127.0.0.1/hr', true],
  ['postgres://u@[::1]:5433,localhost/hr', true],
  ['postgres://localhost:pw@db.example.com/hr', false],
  ['postgres://u@db.example.com/localhost', false],
  ['postgres://u@10.127.0.0.1/hr', false],
  ['postgres://u@notlocalhost/hr', false],
  ['postgres://u@localhost,db/hr', false],
])('the host of %s is this machine: %p', (url, expected) => expect(isLocal(url)).toBe(expected))

/** Returns all findings but advice; the role of the tests is a superuser, which is a fault elsewhere. */
async function faultsOf(own: Record<string, string>) {
  const findings = await findingsOf(own)
  return findings.filter(({ state }) => state === 'fault').map(({ check, text }) => `${check}: ${text}`)
}

/** Expects one fault, in a text that repeats no secret. */
async function expectFault(own: Record<string, string>, fault: string | RegExp) {
  const faults = await faultsOf(own)
  expect(faults).toEqual([typeof fault === 'string' ? fault : expect.stringMatching(fault)])
  expect(faults[0]).not.toContain('secret')
}

test('doctor makes all checks, finds no fault and creates no data folder if all is well', async () => {
  const findings = await findingsOf({ DATABASE_URL: await createDatabase() })
  expect(findings.filter(({ state }) => state === 'fault')).toEqual([])
  const checks = findings.map(({ check }) => check)
  for (const check of ['settings', 'versions', 'shared memory', 'port', 'database', 'migrations', 'indexes'])
    expect(checks).toContain(check)
  for (const check of ['rights', 'writes', 'connections', 'encoding', 'database clock', 'tls']) expect(checks).toContain(check)
  expect(await Bun.file(join(folder, 'data')).exists()).toBe(false)
})

test('D100: doctor names the faults of the roles file with their lines, and keys whose block the file does not have', async () => {
  const DATABASE_URL = await createDatabase()
  const sql = connect(DATABASE_URL)
  await sql`insert into api_key (id, name, hash, rights, role) values ('0123456789', 'x', sha256('x'), '', 'payroll'), ('0123456780', 'y', sha256('y'), '', 'gone')`
  await sql.end()
  const textsOf = async (ROLES_FILE: string, named: string) =>
    (await findingsOf({ DATABASE_URL, ROLES_FILE })).filter(({ check }) => check === named).map(({ text }) => text)
  expect(await textsOf(ROLES_PATH, 'roles')).toEqual([`the file ${ROLES_PATH} has no faults`])
  expect(await textsOf(ROLES_PATH, 'keys')).toEqual([
    expect.stringMatching(/^"y" \(0123456780\) has no rights: the roles file has no block "key gone"\./),
  ])
  const faulty = join(folder, 'faulty.txt')
  writeFileSync(faulty, 'role a\n  read Absencs\n')
  expect(await textsOf(faulty, 'roles')).toEqual([expect.stringMatching(/^line 2: .*Did you mean Absences\?$/)])
  expect(await textsOf(faulty, 'keys')).toEqual([])
})

test('D98: doctor reads the document and keys of the token issuer, and says what is wrong with them', async () => {
  const issuer = startPlainIssuer()
  const own = { DATABASE_URL: await createDatabase(), ...issuer.settings }
  const [found] = (await findingsOf(own)).filter(({ check }) => check === 'issuer')
  expect(found?.text).toBe(`${issuer.url} publishes 1 key, and signs by ES256, RS256, EdDSA`)
  const signIn = (await findingsOf({ ...own, OIDC_CLIENT_ID: 'page' })).filter(({ check }) => check === 'sign-in')
  expect(signIn).toEqual([{ check: 'sign-in', state: 'ok', text: `people sign in at ${new URL(issuer.url).host}` }])
  issuer.document = { token_endpoint: 'javascript:1' }
  await expectFault({ ...own, OIDC_CLIENT_ID: 'page' }, /^sign-in: nobody can sign in at \/explore: its token_endpoint must be/)
  issuer.document = { issuer: `${issuer.url}/` }
  await expectFault(own, /^issuer: .*it names itself ".*\/": OIDC_ISSUER must be the same text/)
  await issuer.stop()
  await expectFault(own, /^issuer: .*openid-configuration cannot be read: .*: persons cannot sign in/)
  expect((await findingsOf({ DATABASE_URL: own.DATABASE_URL })).some(({ check }) => check === 'issuer')).toBe(false)
})

test('doctor names hooks whose rights do not fit the entities, and prints no line about hooks if none has rights', async () => {
  const url = await createDatabase()
  const sql = connect(url)
  const webhooks = async () => (await findingsOf({ DATABASE_URL: url })).filter(({ check }) => check === 'webhooks')
  expect(await webhooks()).toEqual([])
  const store = new HookStore(sql, await loadEntities())
  const hook = { url: 'https://example.com/', secret: 'secret', events: ['*'] }
  await store.add({ ...hook, rights: 'read Companies?fields=Id,Name' })
  expect(await webhooks()).toEqual([{ check: 'webhooks', state: 'ok', text: 'the rights of all hooks fit the entities' }])
  const id = await store.add({ ...hook, rights: 'read Companies?fields=Id,Gone' })
  await expectFault(
    { DATABASE_URL: url },
    new RegExp(`^webhooks: the hook ${id} posts nothing: .*Gone.*add one whose rights fit$`),
  )
})

describe('findings about the machine', () => {
  test('doctor finds all settings that are wrong', async () => {
    expect(await faultsOf({ PORT: 'x', WORKERS: '0' })).toEqual([
      'settings: PORT must be an integer from 0 to 65535; it is "x"',
      'settings: WORKERS must be an integer from 1 to 256; it is "0"',
    ])
  })

  test('doctor finds an invalid folder of entities or migrations, and still makes all other checks', async () => {
    const own = { DATABASE_URL: await createDatabase() }
    const nowhere = join(folder, 'nowhere')
    await expectFault(
      { ...own, ENTITIES_DIR: nowhere },
      `entities: ${nowhere} cannot be read (ENOENT): set ENTITIES_DIR to a folder with declarations`,
    )
    const checks = (await findingsOf({ ...own, ENTITIES_DIR: nowhere })).map(({ check }) => check)
    for (const check of ['versions', 'port', 'database', 'migrations']) expect(checks).toContain(check)
    await expectFault(
      { ...own, MIGRATIONS_DIR: nowhere },
      `migrations: the migrations of ${nowhere} cannot be read (ENOENT): mend MIGRATIONS_DIR`,
    )
  })

  test('doctor finds an invalid data folder', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    await expectFault(
      { DATA_DIR: file },
      `data folder: DATA_DIR ${file} cannot be used (ENOTDIR): set another, or let this user write there`,
    )
  })

  test('doctor finds too little shared memory', async () => {
    const own = { RATE_LIMIT_CLIENTS: '1000000', RATE_LIMITS: '1000000/1h' }
    await expectFault(own, /^shared memory: \d+ MiB of \d+ MiB in .+ or set RATE_LIMIT_CLIENTS lower$/)
  })

  test('doctor finds shared memory of ended servers, and --clean deletes this memory and nothing else', () => {
    if (!canHaveSmallDisk) return
    const script = `
      mkdir -m 700 "$1" "$2" && echo "$0" | tr -d '\\n' | tee "$1/owner" > "$2/owner" && touch "$1/lock" "$2/lock"
      head -c 10485760 /dev/zero | tee "$1/keys" > "$2/keys"; shift
      exec 9>>"$1/lock"; flock 9; shift
      "$@"; "$@" --clean; ls -d /dev/shm/*/keys; "$@"`
    const folders = ['ended', 'running'].map((name) => `/dev/shm/roster-${process.getuid?.()}-${name}`)
    const command = ['sh', '-c', script, folder, ...folders, ...MAIN, 'doctor']
    const { stdout } = Bun.spawnSync(withDisk('/dev/shm', 64, command), { env: { ...process.env, ...environment() } })
    const said = stdout
      .toString()
      .match(/^.*(ended servers|-running\/).*$/gm)
      ?.map((line) => line.replace(/ +/g, ' ').trim())
    const extent = '1 server that ended, 10 MiB in /dev/shm'
    expect(said).toEqual([
      `ADVICE ended servers ${extent}: a start of any server frees most of it, and roster doctor --clean deletes it`,
      `OK ended servers deleted the shared memory of ${extent}: their limits begin anew`,
      `${folders[1]}/keys`,
      'OK ended servers none keeps shared memory',
    ])
  })

  test('doctor finds no fault in the ports of a running server', async () => {
    const [port, adminPort] = [freePort(), freePort()]
    const locks = [port, adminPort].map((own) => lockPort('127.0.0.1', own))
    const own = { PORT: String(port), ADMIN_PORT: String(adminPort) }
    expect(await faultsOf(own)).toEqual([])
    for (const lock of locks) lock?.release()
  })

  test('doctor finds a certificate that is not valid, has expired, or is for another name', async () => {
    if (!hasOpenssl) return
    const { certificate, key } = makeCertificate('DNS:localhost,IP:127.0.0.1,IP:2001:db8::1', folder)
    const own = { TLS_CERT: certificate, TLS_KEY: key }
    const found = async (more: Record<string, string> = {}) =>
      (await findingsOf({ ...own, ...more })).find(({ check }) => check === 'tls')
    expect(await found()).toMatchObject({ state: 'advice', text: expect.stringContaining('see that it is renewed') })
    expect(await found({ PUBLIC_URL: 'https://localhost/hr' })).toMatchObject({ state: 'advice' })
    expect(await found({ PUBLIC_URL: 'https://127.0.0.1' })).toMatchObject({ state: 'advice' })
    expect(await found({ PUBLIC_URL: 'https://[2001:db8::1]' })).toMatchObject({ state: 'advice' })
    await expectFault(
      { ...own, PUBLIC_URL: 'https://api.example.com' },
      /^tls: the certificate for DNS:localhost, .* not for api\.example\.com of PUBLIC_URL/,
    )
    await expectFault(
      { ...own, TLS_KEY: certificate },
      /^tls: TLS_KEY has no private key in PEM without a password \(.*: no server starts$/,
    )
  })

  test('doctor finds an unreachable Redis', async () => {
    await expectFault({ RATE_LIMIT_STORE: `redis://:secret@127.0.0.1:${freePort()}` }, /^redis: RATE_LIMIT_STORE cannot be used/)
  })

  test('doctor does not show the password that an error of Redis repeats', async () => {
    const reply = "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 's3cret'\r\n"
    using old = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => void socket.write(reply) } })
    await expectFault({ RATE_LIMIT_STORE: `redis://:s3cret@127.0.0.1:${old.port}` }, /cannot be used \(ERR unknown command\): /)
  })

  test('doctor finds a wrong clock', () => {
    expect(clockOff('clock', 10_000, 9_000, 11_000).state).toBe('ok')
    expect(clockOff('clock', 4_000, 9_000, 11_000).text).toBe('5.0 s behind of this machine’s: set both by NTP')
    expect(clockOff('clock', 20_000, 9_000, 11_000).text).toBe('9.0 s ahead of this machine’s: set both by NTP')
  })
})

describe('findings about the database', () => {
  test('doctor finds an unreachable database', async () => {
    await expectFault(
      { DATABASE_URL: `postgres://u:secret@127.0.0.1:${freePort()}/hr` },
      /^database: it cannot be reached \(.+\): start it, or mend DATABASE_URL$/,
    )
  })

  test('doctor finds a database that refuses the role, or does not exist, and shows no secret', async () => {
    const url = await createDatabase()
    const own = Object.assign(new URL(url), { username: 'stranger', password: 'secret' }).href
    await expectFault(
      { DATABASE_URL: own },
      /^database: it refuses the role \(password authentication failed for user "stranger"\): mend the name or password in DATABASE_URL/,
    )
    const gone = Object.assign(new URL(url), { pathname: '/no_such_database' }).href
    await expectFault(
      { DATABASE_URL: gone },
      'database: it answers, and has no such database (database "no_such_database" does not exist): make it, or mend DATABASE_URL',
    )
  })

  test('doctor finds a database without TLS, if its address requires TLS', async () => {
    await expectFault(
      { DATABASE_URL: `${await createDatabase()}?sslmode=require` },
      /^database: the TLS handshake with it fails \(.+\): mend its certificate, or sslmode in DATABASE_URL$/,
    )
  })

  test('doctor checks both addresses: the one of the pooler, and the direct address of the database', async () => {
    const url = await createDatabase()
    const away = `postgres://u:secret@127.0.0.1:${freePort()}/hr`
    expect(await faultsOf({ DATABASE_URL: url, DATABASE_DIRECT_URL: url })).toEqual([])
    const pooled = { DATABASE_URL: away, DATABASE_DIRECT_URL: url }
    await expectFault(pooled, /^pooled database: it cannot be reached \(.*\): start it, or mend DATABASE_URL$/)
    const direct = { DATABASE_URL: url, DATABASE_DIRECT_URL: away }
    await expectFault(direct, /^database: it cannot be reached \(.*\): start it, or mend DATABASE_DIRECT_URL$/)
    const two = { DATABASE_URL: await createDatabase('empty'), DATABASE_DIRECT_URL: url }
    const said = 'DATABASE_URL leads to another database than DATABASE_DIRECT_URL: name the same in both'
    await expectFault(two, `pooled database: ${said}`)
  })

  test('doctor finds a database with another encoding than UTF-8, and a database that was never migrated', async () => {
    const url = new URL(await createDatabase())
    const sql = connect(url.href)
    const name = `ascii_${process.pid}`
    const [row] = await sql`select current_setting('server_version_num')::int as version`
    // PostgreSQL 14 has no other provider.
    const provider = row?.version < 150_000 ? '' : 'locale_provider libc'
    await sql.unsafe(`create database ${name} encoding 'SQL_ASCII' template template0 ${provider} locale 'C'`)
    url.pathname = `/${name}`
    expect(await faultsOf({ DATABASE_URL: url.href })).toEqual([
      "encoding: the database is encoded in SQL_ASCII: make one with encoding 'UTF8'",
      'migrations: there are no tables yet: the first start makes them, by a role that may',
    ])
    await sql.unsafe(`drop database ${name}`)
  })

  test.each([
    [
      'migrations that are missing',
      'delete from migration where file = (select max(file) from migration)',
      /^migrations: \d{4}_\w+\.sql not applied: start a server as the role that owns the tables$/,
    ],
    [
      'migrations that were edited',
      "update migration set checksum = 'x' where file = '0017_baseline.sql'",
      /^migrations: 0017_baseline\.sql was edited after it had been applied: undo that, and add a new file instead$/,
    ],
    [
      'an index that was dropped',
      `do $$ declare own regclass; begin
        select indexrelid into own from pg_index join pg_attribute on attrelid = indrelid and attnum = indkey[0]
        where indrelid = 'company'::regclass and attname = 'enabled' and not indisprimary;
        execute 'drop index ' || own; end $$`,
      /^indexes: missing or not valid: create index on "company" \("enabled", id\)$/,
    ],
    [
      'a key whose rights do not fit the entities',
      `insert into api_key (id, name, hash, rights, addresses)
        values ('0123456789', 'payroll', sha256('x'), '', 'read Absences?Gone=1'), ('0123456780', 'ci', sha256('y'), 'Gone:read', null)`,
      /^keys: "payroll" \(0123456789\) has no rights: "read Absences\?Gone=1": Absences has no parameter "Gone"\..* Give it others by roster keys change$/,
    ],
    [
      'a key whose block the roles file does not have',
      `insert into api_key (id, name, hash, rights, role) values ('0123456789', 'payroll', sha256('x'), '', 'payrol')`,
      /^keys: "payroll" \(0123456789\) has no rights: its rights are those of the block "key payrol" of a roles file, and ROLES_FILE names none\. Write the block, or give the key others by roster keys change$/,
    ],
    [
      'a read-only database',
      `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
      /^writes: default_transaction_read_only is on: writes are refused; set it off for the role or the database$/,
    ],
  ])('doctor finds %s', async (_, spoil, fault) => {
    const url = await createDatabase()
    const sql = connect(url)
    await sql.unsafe(spoil)
    await sql.end()
    await expectFault({ DATABASE_URL: url }, fault)
  })

  test('doctor finds a transaction of another database, open or prepared, that delays the change feed', async () => {
    const [url, otherUrl] = [await createDatabase(), await createDatabase('empty')]
    const [sql, other] = [connect(url), connect(otherUrl)]
    const heldIn = async () => (await findingsOf({ DATABASE_URL: url })).find(({ check }) => check === 'changes')
    const nothing = { check: 'changes', state: 'ok', text: 'no transaction holds back what has changed' } as const
    const leaveLine = (minutes: number) => sql`
      insert into entity_change (position, entity, id, action, at, key, changed)
      values (change_position(), 'company', 1, 'u', now() - make_interval(mins => ${minutes}), 'ci', '{}')`
    const name = new URL(otherUrl).pathname.slice(1)
    const holder = await other.reserve()
    await holder`begin`
    const [begun] = await holder`select pg_backend_pid() as pid, pg_current_xact_id()`
    await leaveLine(0)
    expect(await heldIn()).toEqual(nothing)
    await leaveLine(2)
    const held = await heldIn()
    expect(held?.state).toBe('advice')
    expect(held?.text).toMatch(/^what has changed since \d{4}-.+Z is not shown, and posted, while a transaction of /)
    expect(held?.text).toContain(`of process ${begun?.pid} is open in database ${name} of the cluster: let it end, or `)
    await holder`prepare transaction 'left'`
    expect((await heldIn())?.text).toContain(`while "left" stays prepared in database ${name} of the cluster: `)
    await holder`rollback prepared 'left'`
    holder.release()
    expect(await heldIn()).toEqual(nothing)
    await Promise.all([sql.end(), other.end()])
  })

  test('doctor finds too few connections', async () => {
    const own = { DATABASE_URL: await createDatabase(), DATABASE_POOL: '1000', WORKERS: '8' }
    await expectFault(own, /^connections: 8051 of \d+ that the role may have: raise max_connections/)
  })

  test('doctor names all rights that a role without rights needs for a start, and finds a role that may use no schema', async () => {
    const url = new URL(await createDatabase())
    const sql = connect(url.href)
    const role = `doctor_${process.pid}_none`
    await sql.unsafe(`create role ${role} login password 'p'`)
    const DATABASE_URL = Object.assign(new URL(url.href), { username: role, password: 'p' }).href
    const all = Object.entries(OWN_TABLES).map(([table, rights]) => `${rights} on ${table}`)
    const ofRows = (await loadEntities()).map(({ table }) => `select, insert, update, delete on ${table}`)
    const lacking = [...ofRows, ...all].join('; ')
    const grant = `let the owner of the tables run roster migrate --grant ${role} (docs/operations/databases.md, "Your own")`
    expect(await faultsOf({ DATABASE_URL })).toEqual([`rights: the role lacks ${lacking}: ${grant}`])
    const pooled = { DATABASE_URL, DATABASE_DIRECT_URL: url.href }
    await expectFault(
      pooled,
      /^pooled database: its role lacks a right \(permission denied for table change_feed\): let the owner /,
    )
    await sql.unsafe('revoke usage on schema public from public')
    await expectFault(
      { DATABASE_URL },
      /^rights: the role may use no schema of its search_path: grant usage on schema public to it /,
    )
    // The advice must be complete: if the owner grants each right that it names, the server starts.
    await sql.unsafe(
      `grant usage on schema public to ${role}; ${lacking
        .split('; ')
        .map((own) => `grant ${own} to ${role}`)
        .join('; ')}`,
    )
    expect(await faultsOf({ DATABASE_URL })).toEqual([])
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
    await sql.end()
  })

  test('D53: doctor finds a table that Citus distributes, and a server refuses to start with such a table', async () => {
    const url = await createDatabase()
    const sql = connect(url)
    // The catalog of Citus, which Debian does not package.
    await sql.unsafe(`set allow_system_table_mods = on; create table pg_catalog.pg_dist_partition (logicalrelid regclass)`)
    expect((await findingsOf({ DATABASE_URL: url })).find(({ check }) => check === 'citus')).toMatchObject({ state: 'ok' })
    await sql`insert into pg_dist_partition values ('absence')`
    const reason = 'use a database of its own for each tenant (docs/scaling.md)'
    await expectFault({ DATABASE_URL: url }, `citus: Citus holds absence: ${reason}`)
    const server = run(MAIN, environment({ DATABASE_URL: url }))
    expect(await server.ended).toBe(1)
    expect(server.output()).toContain(`Citus holds the table absence: ${reason}`)
    await sql`delete from pg_dist_partition`
    const served = run(MAIN, environment({ DATABASE_URL: url }))
    await served.waitFor(/listens on/)
    await sql.end()
  })

  test('doctor finds missing rights on tables', async () => {
    const url = new URL(await createDatabase())
    const sql = connect(url.href)
    const role = `doctor_${process.pid}`
    await sql.unsafe(`create role ${role} login password 'p'; grant select, insert, update, delete on all tables in schema public to ${role};
      revoke delete on company from ${role}; revoke all on api_key from ${role}`)
    const own = Object.assign(new URL(url.href), { username: role, password: 'p' })
    await expectFault(
      { DATABASE_URL: own.href },
      `rights: the role lacks delete on company; select, insert, update on api_key: let the owner of the tables run roster migrate --grant ${role} (docs/operations/databases.md, "Your own")`,
    )
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
  })
})

test('doctor prints one line per finding, and exits with 1 if there is a fault, such as a taken port', async () => {
  const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const command = [process.execPath, '--no-env-file', 'src/main.ts', 'doctor']
  const program = run(command, { ...environment(), PORT: String(taken.port) })
  expect(await program.ended).toBe(1)
  const lines = program.output().split('\n')
  expect(lines.find((line) => /^FAULT +port +.* is taken by another program/.test(line))).toBeDefined()
  expect(lines.find((line) => /^OK +database +the embedded one does not run/.test(line))).toBeDefined()
  expect(lines).toContain('roster: 1 fault')
  taken.stop(true)
})
