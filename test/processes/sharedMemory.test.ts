import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { outputOf } from '../cli/roster.ts'
import { headers, PATH, renewed, usePlace } from '../support/place.ts'
import { endPrograms, run, until, workersOf } from '../support/process.ts'
import { headersOf, keyIn, retried } from '../support/requests.ts'
import { KEY } from '../support/server.ts'
import { LISTENS, MAIN } from '../support/serverProcesses.ts'
import { canHaveSmallDisk, withDisk } from '../support/smallDisk.ts'
import { startProcess } from '../support/start.ts'

const onLinux = process.platform === 'linux'

const place = usePlace()

describe('shared memory of rate limits', () => {
  const remaining = async (url: string) => Number((await fetch(url, { headers })).headers.get('x-ratelimit-remaining'))
  const limited = { RATE_LIMITS: '100/1h' }
  const table = () => join(memoryFolderOf(place.folder, place.port), 'keys')

  test('D36: all workers share the counts of the limits, which survive kills of workers and a restart of the server', async () => {
    const { server, url } = await startProcess({ ...place.settings, ...limited })
    for (let expected = 99; expected > 89; expected--) expect(await remaining(url)).toBe(expected)
    const workers = workersOf(server.pid)
    for (const worker of workers) process.kill(worker, 'SIGKILL')
    await renewed(server.pid, 2, workers)
    await until(() => (server.output().match(/is replaced/g)?.length ?? 0) === 2)
    expect(await retried(() => remaining(url))).toBe(89)
    await server.stop()
    const next = await startProcess({ ...place.settings, ...limited })
    expect(await remaining(next.url)).toBe(88)
  })

  test('D36: the start of another server frees the shared memory of a killed one, whose next start continues the counts', async () => {
    if (!onLinux) return
    const large = { RATE_LIMITS: '20000/1h', RATE_LIMIT_CLIENTS: '100' }
    const { server, url } = await startProcess({ ...place.settings, ...large })
    expect(await remaining(url)).toBe(19_999)
    const bytes = () => 512 * statSync(table()).blocks
    const whole = bytes()
    const other = async () => {
      const { server: own } = await startProcess({ DATABASE_URL: place.DATABASE_URL, WORKERS: '1' })
      await own.stop()
    }
    await other()
    expect(bytes()).toBe(whole)
    const workers = workersOf(server.pid)
    server.kill('SIGKILL')
    await server.ended
    await until(() => workers.every((worker) => !existsSync(`/proc/${worker}`)))
    await other()
    expect(bytes()).toBeLessThan(whole / 10)
    const next = await startProcess({ ...place.settings, ...large })
    expect([await remaining(next.url), bytes()]).toEqual([19_998, whole])
  })

  test('truncating a table of the limits kills the workers and loses the counts, but the server replaces the workers', async () => {
    const { server, url } = await startProcess({ ...place.settings, ...limited })
    expect(await remaining(url)).toBe(99)
    const workers = workersOf(server.pid)
    truncateSync(table(), 0)
    // A process that accesses the lost memory dies.
    await until(async () => {
      await fetch(url, { headers, keepalive: false }).catch(() => undefined)
      return !workersOf(server.pid).some((worker) => workers.includes(worker))
    })
    await renewed(server.pid, 2, workers)
    expect(await retried(() => remaining(url))).toBeGreaterThan(90)
    expect(await server.stop()).toBe(0)
  })

  test('a deleted table of the limits stays in use: later workers continue its counts', async () => {
    if (!onLinux) return
    const { server, url } = await startProcess({ ...place.settings, ...limited })
    expect(await remaining(url)).toBe(99)
    rmSync(table())
    const workers = workersOf(server.pid)
    server.kill('SIGUSR2')
    await renewed(server.pid, 2, workers)
    expect(await retried(() => remaining(url))).toBe(98)
    expect(existsSync(table())).toBe(false)
  })

  test('a deleted folder of the limits does not prevent the server from reading changed keys and replacing workers', async () => {
    const { server, url } = await startProcess({ ...place.settings, ...limited, BOOTSTRAP_API_KEY: '' })
    const keys = (...words: string[]) => outputOf({ DATABASE_URL: place.DATABASE_URL }, 'keys', ...words)
    const key = keyIn(await keys('create', '--name', 'a', '--rights', '*:read'))
    const status = async () => (await fetch(url + PATH, { headers: headersOf(key) })).status
    await until(async () => (await status()) === 200)
    rmSync(memoryFolderOf(place.folder, place.port), { recursive: true })
    await keys('revoke', '--name', 'a')
    await until(async () => (await retried(status)) === 401)
    const workers = workersOf(server.pid)
    for (const worker of workers) process.kill(worker, 'SIGKILL')
    await renewed(server.pid, 2, workers)
    expect(await retried(status)).toBe(401)
  })

  if (canHaveSmallDisk) {
    // Not in the folder of the tests, which is perhaps in /dev/shm, where these servers see another file system.
    let dataDir: string
    beforeEach(() => {
      dataDir = mkdtempSync('/tmp/roster-memory-')
    })
    afterEach(async () => {
      await endPrograms()
      rmSync(dataDir, { recursive: true })
    })
    const start = (mebibytes: number, settings: Record<string, string>) => {
      const common = { DATA_DIR: dataDir, PORT: String(place.port), DATABASE_URL: place.DATABASE_URL, DATABASE_POOL: '1' }
      return run(withDisk('/dev/shm', mebibytes, MAIN), { ...common, BOOTSTRAP_API_KEY: KEY, LOG_FORMAT: 'pretty', ...settings })
    }

    test('shared memory with the default settings fits into Docker’s 64 MiB, also with the change feed', async () => {
      const started = start(64, { WORKERS: '4', LOG_LEVEL: 'warn' })
      const [, url = ''] = await started.waitFor(LISTENS)
      expect((await fetch(url + PATH, { headers })).status).toBe(200)
      expect(started.output()).not.toContain('no room')
      const shared = readdirSync(`/proc/${started.pid}/root/dev/shm`).filter((name) => !name.endsWith('ports'))
      const files = shared.flatMap((name) => readdirSync(`/proc/${started.pid}/root/dev/shm/${name}`))
      expect(files.sort()).toEqual(['anonymous', 'keys', 'lock', 'owner'])
      expect(await started.stop()).toBe(0)
    })

    test('the tables of the limits are in DATA_DIR if /dev/shm is too small, with one log line; counts continue after a restart', async () => {
      const settings = { WORKERS: '1', RATE_LIMITS: '1000000/1h', RATE_LIMIT_CLIENTS: '2' }
      for (const expected of [999_999, 999_998]) {
        const started = start(8, settings)
        const [, url = ''] = await started.waitFor(LISTENS)
        const lines = started.output().match(/^.*no room in shared memory.*$/gm) ?? []
        expect(lines).toHaveLength(1)
        expect(lines[0]).toMatch(/the tables of the limits lie in DATA_DIR.* 11\.4 MiB of shared memory at \/dev\/shm/)
        expect(await remaining(url)).toBe(expected)
        expect(await started.stop()).toBe(0)
      }
      expect(existsSync(join(dataDir, 'shared'))).toBe(true)
    })
  } else
    test('a small /dev/shm is not tested, because this machine lets no process mount one (unshare -m)', () =>
      expect(process.platform === 'linux' && process.env.CI_REQUIRES_NAMESPACES).toBeFalsy())

  test('a start without room for the limits fails with one line that says how much is needed, and exit code 1', async () => {
    const command = ['sh', '-c', `trap '' XFSZ; ulimit -f 2000; exec "$0" --no-env-file src/main.ts`, process.execPath]
    const own = { DATA_DIR: place.folder, PORT: String(place.port), DATABASE_URL: place.DATABASE_URL }
    const server = run(command, { ...own, RATE_LIMITS: '1000000/1h', RATE_LIMIT_CLIENTS: '2' })
    expect(await server.ended).toBe(1)
    expect(server.output()).toMatch(/^roster: there is no room for 11\.4 MiB of shared memory at \S+: free some, .*\n$/)
  })
})
