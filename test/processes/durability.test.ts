import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { runningPostgres } from '../../src/postgres/postmaster.ts'
import { copyCluster } from '../support/cluster.ts'
import { LISTENS } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, postmasterOf, runMain, temporaryFolder, until } from '../support/process.ts'
import { type Json, KEY } from '../support/server.ts'

const TIMEOUT_MS = 120_000
const KILLS = 3
const CLIENTS = 8
const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }

let folder: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  folder = temporaryFolder()
  copyCluster(folder.path)
})
afterEach(async () => {
  await endPrograms()
  rmSync(memoryFolderOf(folder.path, 0), { recursive: true, force: true })
  folder.remove()
})

test(
  'every write that was answered is there after PostgreSQL was killed under load, and no other but those of unknown outcome',
  async () => {
    const limits = { RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '2' }
    const settings = { DATA_DIR: folder.path, WORKERS: '2', DEMO_DATA: '0', BOOTSTRAP_API_KEY: KEY, ...limits }
    const server = runMain(settings)
    const [, url = ''] = await server.waitFor(LISTENS)
    const sql = connect(runningPostgres(folder.path) as string)
    const [durable] = await sql`
      select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
        current_setting('full_page_writes') as pages`
    expect(durable).toEqual({ fsync: 'on', commit: 'on', pages: 'on' })
    await sql.end()

    const answered = new Map<string, number>()
    const unknown = new Set<string>()
    let isEnding = false
    let asked = 0
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!isEnding) {
        const name = `name ${++asked}`
        const response = await fetch(`${url}/Companies`, { method: 'POST', headers, body: JSON.stringify({ name }) })
        const body = (await response.json()) as Json
        if (response.status === 201) answered.set(name, body.id)
        else if (body.Error.Code === 'OutcomeUnknown') unknown.add(name)
        else expect([response.status, body.Error.Code]).toEqual([503, 'ServiceUnavailable'])
      }
    })
    const grows = async () => {
      const { size } = answered
      await until(() => answered.size > size + CLIENTS)
    }
    try {
      await grows()
      for (let kill = 1; kill <= KILLS; kill++) {
        process.kill(postmasterOf(folder.path) as number, 'SIGKILL')
        await until(() => (server.output().match(/PostgreSQL runs again/g) ?? []).length === kill)
        await grows()
      }
    } finally {
      isEnding = true
      await Promise.all(clients)
    }
    const after = connect(runningPostgres(folder.path) as string)
    const rows = await after<{ id: string; name: string }[]>`select id, name from company`
    await after.end()
    const there = new Map(rows.map(({ id, name }) => [name, Number(id)]))
    expect(rows.length).toBe(there.size)
    expect([...answered].filter(([name, id]) => there.get(name) !== id)).toEqual([])
    expect([...there.keys()].filter((name) => !answered.has(name) && !unknown.has(name))).toEqual([])
    server.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  },
  TIMEOUT_MS,
)
