import { expect, test } from 'bun:test'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { copyCluster } from '../support/cluster.ts'
import { postmasterOf, run, until } from '../support/process.ts'
import { MAIN } from '../support/serverProcesses.ts'
import { canHaveSmallDisk, withDisk } from '../support/smallDisk.ts'
import { dataFolder, startProcess } from '../support/start.ts'

const DISK_MIB = 192

/** Starts a server and its PostgreSQL on a small disk that only they see; `disk`: path of the disk for other processes. */
async function start() {
  const [dataDir, from] = [dataFolder(), dataFolder()]
  copyCluster(from)
  // Without holes, which would need room when the disk is full: PostgreSQL allocates its whole WAL at the start.
  const copyAndStart = `chmod 755 '${dataDir}'; cp -a --sparse=never '${from}/.' '${dataDir}'; exec "$0" --no-env-file src/main.ts`
  const command = withDisk(dataDir, DISK_MIB, ['sh', '-c', copyAndStart, process.execPath])
  const served = await startProcess({ DATA_DIR: dataDir, DEMO_DATA: '0', LOG_LEVEL: 'info', WORKERS: '1' }, command)
  return { ...served, disk: `/proc/${served.server.pid}/root${dataDir}` }
}

/** Fills the disk of a file. */
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
  test('a start on a disk without room for a cluster fails, and names the full disk as the cause', async () => {
    const folder = dataFolder()
    const server = run(withDisk(folder, 8, MAIN), { DATA_DIR: folder, PORT: '0' })
    expect(await server.ended).toBe(1)
    const [, cause] = server.output().split('\n')
    expect(cause).toMatch(/^roster: could not .*: No space left on device$/)
  })

  test('the embedded PostgreSQL needs no room in /dev/shm, neither at its first start nor later', async () => {
    // Not in /dev/shm, because the server has another one.
    const dataDir = mkdtempSync('/tmp/roster-disk-')
    try {
      for (let start = 1; start <= 2; start++) {
        const { server, ask } = await startProcess({ DATA_DIR: dataDir, WORKERS: '1' }, withDisk('/dev/shm', 1, MAIN))
        expect((await ask('GET', '/Companies')).status).toBe(200)
        expect(await server.stop()).toBe(0)
      }
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  test('while the disk is full, reads work and writes get 503 without effect; later writes work, and no acknowledged write is lost', async () => {
    const { server, ask, disk } = await start()
    const answered = new Map<number, string>()
    let created = 0
    const create = async () => {
      // Random bytes, which cannot be compressed, so that the table grows.
      const name = `${++created} ${crypto.getRandomValues(Buffer.alloc(140)).toString('base64')}`
      const answer = await ask('POST', '/Companies', { name })
      if (answer.status === 201) answered.set(answer.body.id, name)
      return answer
    }
    const holds = async () => {
      for (const [id, name] of answered) expect((await ask('GET', `/Companies/${id}`)).body.name).toBe(name)
      const list = await ask('GET', `/Companies?PageSize=1&Name=!=${created}`)
      expect([list.status, list.headers.get('x-total-count')]).toEqual([200, String(answered.size)])
    }
    for (let count = 0; count < 10; count++) expect((await create()).status).toBe(201)

    const filler = `${disk}/filler`
    fill(filler)
    let refused = await create()
    while (refused.status === 201) refused = await create()
    for (let count = 0; count < 10; count++) {
      const { status, body, headers } = refused
      expect([status, body.Error.Code, headers.get('retry-after')]).toEqual([503, 'ServiceUnavailable', '1'])
      refused = await create()
    }
    await holds()
    expect((await ask('GET', '/livez')).status).toBe(200)

    rmSync(filler)
    await until(async () => (await create()).status === 201)
    await holds()

    // All acknowledged writes are in PostgreSQL's WAL.
    process.kill(postmasterOf(disk) as number, 'SIGKILL')
    await server.waitFor(/PostgreSQL runs again/)
    await until(async () => (await ask('GET', '/readyz')).status === 200)
    await holds()
    expect(await server.stop()).toBe(0)
  })
} else
  test('a full disk is not tested, because this machine lets no process mount one (unshare -m)', () =>
    expect(process.platform === 'linux' && process.env.CI_REQUIRES_NAMESPACES).toBeFalsy())
