import { expect, test } from 'bun:test'
import { runningPostgres } from '../../src/postgres/postmaster.ts'
import { copyCluster } from '../support/cluster.ts'
import { connect } from '../support/postgres.ts'
import { postmasterOf, until } from '../support/process.ts'
import { dataFolder, startProcess } from '../support/start.ts'

const KILLS = 2
const CLIENTS = 8

test('after PostgreSQL was killed under load, all acknowledged writes are stored, and other writes only if they got OutcomeUnknown', async () => {
  const dataDir = dataFolder()
  copyCluster(dataDir)
  const { server, ask } = await startProcess({ DATA_DIR: dataDir, DEMO_DATA: '0', LOG_LEVEL: 'info', WORKERS: '1' })
  const sql = connect(runningPostgres(dataDir) as string)
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
      const { status, body } = await ask('POST', '/Companies', { name })
      if (status === 201) answered.set(name, body.id)
      else if (body.Error.Code === 'OutcomeUnknown') unknown.add(name)
      else expect([status, body.Error.Code]).toEqual([503, 'ServiceUnavailable'])
    }
  })
  const grows = async () => {
    const { size } = answered
    await until(() => answered.size > size + CLIENTS)
  }
  try {
    await grows()
    for (let kill = 1; kill <= KILLS; kill++) {
      process.kill(postmasterOf(dataDir) as number, 'SIGKILL')
      await until(() => (server.output().match(/PostgreSQL runs again/g) ?? []).length === kill)
      await grows()
    }
  } finally {
    isEnding = true
    await Promise.all(clients)
  }
  const after = connect(runningPostgres(dataDir) as string)
  const rows = await after<{ id: string; name: string }[]>`select id, name from company`
  await after.end()
  const there = new Map(rows.map(({ id, name }) => [name, Number(id)]))
  expect(rows.length).toBe(there.size)
  expect([...answered].filter(([name, id]) => there.get(name) !== id)).toEqual([])
  expect([...there.keys()].filter((name) => !answered.has(name) && !unknown.has(name))).toEqual([])
  expect(await server.stop()).toBe(0)
})
