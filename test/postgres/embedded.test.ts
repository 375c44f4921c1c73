import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataDirInUse, type EmbeddedPostgres, startEmbedded } from '../../src/postgres/embedded.ts'
import { runningPostgres } from '../../src/postgres/postmaster.ts'
import { copyCluster } from '../support/cluster.ts'
import { connect } from '../support/postgres.ts'
import { isAlive, postmasterOf, temporaryFolder, until } from '../support/process.ts'

const NOBODY = 65534
const settings = { fsync: 'off', synchronous_commit: 'off' }

let dataDir: string
let running: EmbeddedPostgres[]
let orphan: number | null
beforeEach(() => {
  dataDir = temporaryFolder().path
  chmodSync(dataDir, 0o755) // so that the user nobody can enter it
  running = []
  orphan = null
})
afterEach(async () => {
  for (const server of [...running]) await stop(server)
  if (orphan && isAlive(orphan)) process.kill(orphan, 'SIGQUIT')
  rmSync(dataDir, { recursive: true, force: true })
})

type Way = { asRoot?: 'namespace' | 'nobody'; access?: 'tables' | 'everything'; isShared?: boolean }

/** Starts PostgreSQL on a cluster that already exists, and belongs to the user as whom PostgreSQL runs. */
async function start(more: Way & { settings?: Record<string, string> } = {}) {
  if (!existsSync(join(dataDir, 'postgres'))) arrange(more)
  return startFirst(more)
}

function arrange({ asRoot }: Way) {
  copyCluster(dataDir)
  if (asRoot === 'nobody' && existsSync(join(dataDir, 'postgres')))
    Bun.spawnSync(['chown', '-R', `${NOBODY}:${NOBODY}`, join(dataDir, 'postgres')])
}

async function startFirst(more: Way & { settings?: Record<string, string> } = {}) {
  const server = await startEmbedded({ dataDir, settings, ...more })
  running.push(server)
  return server
}

async function stop(server: EmbeddedPostgres) {
  running.splice(running.indexOf(server), 1)
  await server.stop()
}

async function query(server: EmbeddedPostgres, text: string): Promise<unknown> {
  const sql = connect(server.url)
  try {
    const [row] = await sql.unsafe(text)
    return row && Object.values(row)[0]
  } finally {
    await sql.end()
  }
}

const SELECT_BUSY =
  "select count(*) from pg_stat_activity where state = 'active' and query like '%loop end loop%' and pid <> pg_backend_pid()"

/** Starts PostgreSQL from another process, and kills that process like a server by kill -9, so that PostgreSQL runs on. */
async function leaveOrphan(way: Way): Promise<number> {
  arrange(way)
  const code = `
    const { startEmbedded } = await import('${import.meta.dir}/../../src/postgres/embedded.ts')
    const { connect } = await import('${import.meta.dir}/../support/postgres.ts')
    const { url } = await startEmbedded(${JSON.stringify({ dataDir, settings, ...way })})
    await connect(url).unsafe("create table kept as select 'written before the kill' as note")
    console.log('ready')
    setInterval(() => undefined, 1_000)`
  const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe', stderr: 'inherit' })
  const { value } = await child.stdout.getReader().read()
  orphan = postmasterOf(dataDir) as number
  expect(new TextDecoder().decode(value)).toBe('ready\n')
  child.kill('SIGKILL')
  await child.exited
  return orphan
}

// PostgreSQL refuses to run as root, so a root user has two ways; every other user has one.
const ways = process.getuid?.() === 0 ? (['namespace', 'nobody'] as const) : ([undefined] as const)

for (const asRoot of ways) {
  const way = asRoot ? { asRoot } : {}

  describe(asRoot ? `the embedded PostgreSQL as root, by ${asRoot}:` : 'the embedded PostgreSQL as a user:', () => {
    test('the first start creates a UTF-8 cluster, for 127.0.0.1 with a password; a restart keeps the data', async () => {
      const all = { ...way, settings: { ...settings, work_mem: '5MB' }, access: 'everything' } as const
      const first = await startFirst(all)
      expect(await query(first, 'show server_encoding')).toBe('UTF8')
      expect(await query(first, `select 'ä' < 'b' collate "und-x-icu"`)).toBe(true)
      expect(await query(first, 'show work_mem')).toBe('5MB')
      expect(await query(first, 'show listen_addresses')).toBe('127.0.0.1')
      expect(await query(first, 'show unix_socket_directories')).toBe('')
      await expect(query({ ...first, url: first.url.replace(/:[0-9a-f]{48}@/, ':wrong@') }, 'select 1')).rejects.toThrow(
        'password authentication failed',
      )
      expect(statSync(join(dataDir, 'postgres.password')).mode & 0o777).toBe(0o600)
      await query(first, "create table kept as select 'kept' as note")
      const pid = postmasterOf(dataDir) as number
      // With a namespace, the files still belong to the user outside of it.
      const { uid } = statSync(join(dataDir, 'postgres'))
      expect([uid, isAlive(pid)]).toEqual([asRoot === 'nobody' ? NOBODY : (process.getuid?.() ?? uid), true])
      await stop(first)
      expect(isAlive(pid)).toBe(false)
      const second = await start(all)
      expect(await query(second, 'select note from kept')).toBe('kept')
      expect(new URL(second.url).password).toBe(new URL(first.url).password)
    })

    // The marker does not depend on the way, so one is enough.
    test.each(asRoot === ways[0] ? [null, '\0\0\0\0'] : [null])(
      'a start stops the PostgreSQL that a killed process has left, and keeps the data (faulty postmaster.pid: %j)',
      async (text) => {
        const pid = await leaveOrphan(way)
        const file = join(dataDir, 'postgres/postmaster.pid')
        expect(isAlive(pid)).toBe(true)
        if (text !== null) writeFileSync(file, text)
        const next = await start(way)
        expect(isAlive(pid)).toBe(false)
        expect(await query(next, 'select note from kept')).toBe('written before the kill')
        await stop(next)
        writeFileSync(file, text ?? 'x\n\n')
        expect(await query(await start(way), 'select note from kept')).toBe('written before the kill')
      },
    )
  })
}

if (ways[0])
  test('as root, if no other user can enter the data folder, the cluster is created in a folder of /var/lib/roster', async () => {
    chmodSync(dataDir, 0o700)
    const place = join('/var/lib/roster', Bun.hash(dataDir).toString(36))
    try {
      const server = await startFirst({ asRoot: 'nobody', access: 'everything' })
      expect(await query(server, 'show data_directory')).toBe(join(place, 'postgres'))
      expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
      expect(new URL(runningPostgres(dataDir) ?? '').port).toBe(new URL(server.url).port)
      await stop(server)
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  })

describe('restarts of the embedded PostgreSQL', () => {
  test('a restart after kill -9 waits for running statements, and keeps address, password and data', async () => {
    const server = await start({ access: 'everything' })
    const { url } = server
    await query(server, 'create table kept as select 1 as note')
    await query(server, 'checkpoint') // commits do not wait for the disk here
    // A busy backend does not notice that its postmaster has died; its statement's time limit ends it.
    const busy = query(server, "set statement_timeout = '700ms'; do 'begin loop end loop; end'").catch(String)
    await until(async () => (await query(server, SELECT_BUSY)) === '1')
    const failed = server.failed
    process.kill(postmasterOf(dataDir) as number, 'SIGKILL')
    expect(await failed).toContain('ready to accept connections')
    await server.restart()
    await busy
    expect(server.url).toBe(url)
    expect(await query(server, 'select note from kept')).toBe(1)
  })

  test('a restart ends when PostgreSQL is stopped', async () => {
    const server = await start()
    process.kill(postmasterOf(dataDir) as number, 'SIGKILL')
    await server.failed
    const restarted = server.restart()
    await stop(server)
    expect(await Promise.race([restarted.then(() => 'started'), Bun.sleep(300)])).toBeUndefined()
    expect(await query(await start(), 'select 1')).toBe(1)
  })
})

describe('starts that are refused', () => {
  test('a second server on the same data folder is refused until the first one ends', async () => {
    const first = await start()
    await expect(start()).rejects.toThrow(`the data folder ${dataDir} is in use by another server`)
    expect(await query(first, 'select 1')).toBe(1)
    await stop(first)
    expect(await query(await start(), 'select 2')).toBe(2)
  })

  test('a start with a setting that PostgreSQL refuses shows its log, and the next start works', async () => {
    await expect(start({ settings: { work_mem: 'plenty' } })).rejects.toThrow(/did not start:\n(.*\n)*.*work_mem/)
    expect(await query(await start(), 'select 1')).toBe(1)
  })

  const IN_THE_WAY = 'something else stands there: move it away, or set DATA_DIR'
  const file = (name: string) => writeFileSync(join(dataDir, name), '')
  test.each([
    ['a/b', () => file('a'), 'a/b: a part of this path is no folder: move that away, or set DATA_DIR (ENOTDIR)'],
    ['a', () => file('a'), `a: ${IN_THE_WAY} (EEXIST)`],
    ['', () => mkdirSync(join(dataDir, 'lock')), `lock: ${IN_THE_WAY} (EISDIR)`],
    ['', () => mkdirSync(join(dataDir, 'postgres/x'), { recursive: true }), `postgres: ${IN_THE_WAY} (ENOTEMPTY)`],
  ])('the error of a start in the folder "%s" of DATA_DIR names what is in its way', async (name, make, message) => {
    make()
    await expect(startEmbedded({ dataDir: join(dataDir, name) })).rejects.toThrow(join(dataDir, message))
  })

  test('a start fails without the programs of PostgreSQL', async () => {
    await expect(startEmbedded({ dataDir, native: join(dataDir, 'nothing') })).rejects.toThrow()
  })
})

test.each(['tables', 'everything'] as const)('a start replaces a lost password, for access to %s', async (access) => {
  const first = await start({ access })
  const passwordAt = `${join(dataDir, 'postgres')}.password`
  expect(new URL(first.url).password).toBe(readFileSync(passwordAt, 'utf8'))
  await stop(first)
  rmSync(passwordAt)
  const second = await start({ access })
  expect(await query(second, "select 'is let in'")).toBe('is let in')
  expect(new URL(second.url).password).not.toBe(new URL(first.url).password)
})

test('a start succeeds although an interrupted initdb has left files', async () => {
  arrange({})
  rmSync(join(dataDir, 'postgres'), { recursive: true, force: true })
  await Bun.write(join(dataDir, 'postgres.part/PG_VERSION'), '18')
  const server = await startFirst()
  expect(await query(server, 'select 1')).toBe(1)
})

test('a start does not end another program whose process id is in postmaster.pid, and does not take it for PostgreSQL', async () => {
  const stranger = Bun.spawn(['sleep', '60'])
  const file = join(dataDir, 'postgres/postmaster.pid')
  const first = await start()
  const lines = readFileSync(file, 'utf8')
  writeFileSync(file, lines.replace(/^\d+/, String(stranger.pid)))
  expect(runningPostgres(dataDir)).toBeNull()
  writeFileSync(file, lines)
  expect(runningPostgres(dataDir)).toBe(first.url)
  await stop(first)
  writeFileSync(file, `${stranger.pid}\n${dataDir}/postgres\n`)
  expect(await query(await start(), 'select 1')).toBe(1)
  expect(stranger.exitCode).toBeNull()
  stranger.kill()
  await stranger.exited
})

test('another process can use a PostgreSQL as long as it runs, but not one with isShared: false', async () => {
  expect(runningPostgres(dataDir)).toBeNull()
  const shared = await start()
  const joined = { ...shared, url: runningPostgres(dataDir) ?? '' }
  expect(await query(joined, 'select 1')).toBe(1)
  await stop(shared)
  expect(runningPostgres(dataDir)).toBeNull()
  await startFirst({ isShared: false })
  expect(runningPostgres(dataDir)).toBeNull()
  await expect(startEmbedded({ dataDir })).rejects.toThrow(DataDirInUse)
})
