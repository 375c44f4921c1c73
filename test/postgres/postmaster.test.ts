import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DataDirInUse, type EmbeddedPostgres, startEmbedded } from '../../src/postgres/embedded.ts'
import { runningPostgres } from '../../src/postgres/postmaster.ts'
import { copyCluster } from '../support/cluster.ts'
import { connect } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'

const TIMEOUT_MS = 60_000

let folder: ReturnType<typeof temporaryFolder>
let running: EmbeddedPostgres | null
beforeEach(() => {
  folder = temporaryFolder()
  running = null
})
afterEach(async () => {
  await running?.stop()
  folder.remove()
})

async function start(more: { isShared?: boolean; asRoot?: 'nobody' } = {}) {
  if (!more.asRoot && !existsSync(join(folder.path, 'postgres'))) copyCluster(folder.path)
  running = await startEmbedded({ dataDir: folder.path, settings: { fsync: 'off' }, ...more })
  return running
}

test(
  'a PostgreSQL that runs can be joined, from its start to its end',
  async () => {
    expect(runningPostgres(folder.path)).toBeNull()
    const { url } = await start()
    expect(runningPostgres(folder.path)).toBe(url)
    const sql = connect(runningPostgres(folder.path) ?? '')
    expect(Number((await sql`select 1`).count)).toBe(1)
    await sql.end()
    await running?.stop()
    expect(runningPostgres(folder.path)).toBeNull()
  },
  TIMEOUT_MS,
)

test(
  'one that is not shared cannot, not even where a shared one has run before',
  async () => {
    await (await start()).stop()
    await start({ isShared: false })
    expect(runningPostgres(folder.path)).toBeNull()
    await expect(startEmbedded({ dataDir: folder.path })).rejects.toThrow(DataDirInUse)
  },
  TIMEOUT_MS,
)

test(
  'a stranger with the number of a postmaster is not asked for the password',
  async () => {
    await start()
    const file = join(folder.path, 'postgres/postmaster.pid')
    const lines = readFileSync(file, 'utf8')
    const stranger = Bun.spawn(['sleep', '60'])
    await Bun.write(file, lines.replace(/^\d+/, String(stranger.pid)))
    expect(runningPostgres(folder.path)).toBeNull()
    await Bun.write(file, lines)
    expect(runningPostgres(folder.path)).not.toBeNull()
    stranger.kill()
    await stranger.exited
  },
  TIMEOUT_MS,
)

if (process.getuid?.() === 0)
  test(
    'a cluster that lies elsewhere is found too',
    async () => {
      chmodSync(folder.path, 0o700)
      const place = join('/var/lib/roster', Bun.hash(folder.path).toString(36))
      try {
        const { url } = await start({ asRoot: 'nobody' })
        expect(runningPostgres(folder.path)).toBe(url)
      } finally {
        await running?.stop()
        running = null
        rmSync(place, { recursive: true, force: true })
      }
    },
    TIMEOUT_MS,
  )
