import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { copyCluster } from '../support/cluster.ts'
import { LISTENS } from '../support/place.ts'
import { endPrograms, postmasterOf, run, temporaryFolder, until } from '../support/process.ts'
import { type Json, KEY } from '../support/server.ts'
import { canHaveSmallDisk, withDisk } from '../support/smallDisk.ts'

const TIMEOUT_MS = 120_000
const DISK_MIB = 192
const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }

let folder: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(async () => {
  await endPrograms()
  rmSync(memoryFolderOf(`${folder.path}/data`, 0), { recursive: true, force: true })
  folder.remove()
})

/** A server whose embedded PostgreSQL, as its own, has a small disk; `disk`: where it is for others. */
async function start() {
  const [dataDir, from] = [`${folder.path}/data`, `${folder.path}/from`]
  mkdirSync(dataDir)
  chmodSync(folder.path, 0o755) // PostgreSQL may run as the user `nobody`
  copyCluster(from)
  // Without holes, which would be filled when the disk is full: PostgreSQL gives its log all its room from the start.
  const copyAndStart = `chmod 755 '${dataDir}'; cp -a --sparse=never '${from}/.' '${dataDir}'; exec "$0" --no-env-file src/main.ts`
  const command = withDisk(dataDir, DISK_MIB, ['sh', '-c', copyAndStart, process.execPath])
  const limits = { RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '2' }
  const settings = { DATA_DIR: dataDir, PORT: '0', WORKERS: '2', DEMO_DATA: '0', BOOTSTRAP_API_KEY: KEY, ...limits }
  const server = run(command, { ...settings, LOG_FORMAT: 'pretty', LOG_LEVEL: 'info' })
  const [, url = ''] = await server.waitFor(LISTENS)
  return { server, url, disk: `/proc/${server.pid}/root${dataDir}` }
}

/** Takes all that is left of the disk that a file lies on. */
function fill(file: string): void {
  const opened = openSync(file, 'w')
  try {
    for (let bytes = Buffer.alloc(65_536, 1); bytes.length > 0; )
      try {
        writeSync(opened, bytes)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        bytes = bytes.subarray(0, bytes.length >> 1)
      }
  } finally {
    closeSync(opened)
  }
}

if (canHaveSmallDisk) {
  test(
    'a disk without room for a cluster is the first cause that a start names',
    async () => {
      const command = withDisk(folder.path, 8, [process.execPath, '--no-env-file', 'src/main.ts'])
      const server = run(command, { DATA_DIR: folder.path, PORT: '0' })
      expect(await server.ended).toBe(1)
      const [, cause] = server.output().split('\n')
      expect(cause).toMatch(/^roster: could not .*: No space left on device$/)
    },
    TIMEOUT_MS,
  )

  test(
    'a new cluster needs nothing of /dev/shm, nor does an old one',
    async () => {
      // Elsewhere than in the /dev/shm that it does not see.
      const dataDir = mkdtempSync('/tmp/roster-disk-')
      try {
        const settings = { DATA_DIR: dataDir, PORT: '0', WORKERS: '1', BOOTSTRAP_API_KEY: KEY, LOG_FORMAT: 'pretty' }
        for (let start = 1; start <= 2; start++) {
          const server = run(withDisk('/dev/shm', 1, [process.execPath, '--no-env-file', 'src/main.ts']), settings)
          const [, url = ''] = await server.waitFor(LISTENS)
          expect((await fetch(`${url}/Companies`, { headers })).status).toBe(200)
          server.kill('SIGTERM')
          expect(await server.ended).toBe(0)
        }
      } finally {
        rmSync(dataDir, { recursive: true, force: true })
      }
    },
    TIMEOUT_MS,
  )

  test(
    'writes to a full disk are 503 and not done, reads go on; with space again writes work, and none that was answered is lost',
    async () => {
      const { server, url, disk } = await start()
      const ask = async (path: string, init: RequestInit = {}) => {
        const response = await fetch(url + path, { ...init, headers })
        return { status: response.status, headers: response.headers, body: (await response.json()) as Json }
      }
      const answered = new Map<number, string>()
      let created = 0
      const create = async () => {
        // Of bytes that cannot be packed, so that the table grows.
        const name = `${++created} ${crypto.getRandomValues(Buffer.alloc(140)).toString('base64')}`
        const answer = await ask('/Companies', { method: 'POST', body: JSON.stringify({ name }) })
        if (answer.status === 201) answered.set(answer.body.id, name)
        return answer
      }
      const holds = async () => {
        for (const [id, name] of answered) expect((await ask(`/Companies/${id}`)).body.name).toBe(name)
        const list = await ask(`/Companies?PageSize=1&Name=!=${created}`)
        expect([list.status, list.headers.get('x-total-count')]).toEqual([200, String(answered.size)])
      }
      for (let count = 0; count < 10; count++) expect((await create()).status).toBe(201)

      const filler = `${disk}/filler`
      fill(filler)
      let refused = await create()
      while (refused.status === 201) refused = await create()
      for (let count = 0; count < 10; count++) {
        expect([refused.status, refused.body.Error.Code, refused.headers.get('retry-after')]).toEqual([
          503,
          'ServiceUnavailable',
          '1',
        ])
        refused = await create()
      }
      await holds()
      expect((await fetch(`${url}/livez`)).status).toBe(200)

      rmSync(filler)
      await until(async () => (await create()).status === 201)
      await holds()

      // What was answered is in the log of PostgreSQL too.
      process.kill(postmasterOf(disk) as number, 'SIGKILL')
      await server.waitFor(/PostgreSQL runs again/)
      await until(async () => (await fetch(`${url}/readyz`)).status === 200)
      await holds()
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
    },
    TIMEOUT_MS,
  )
} else
  test('a full disk is not tested, since this machine lets no process mount one (unshare -m)', () =>
    expect(process.platform === 'linux' && process.env.CI_REQUIRES_NAMESPACES).toBeFalsy())
