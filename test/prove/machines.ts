import { connectTo } from '../../src/execute/connect.ts'
import { KeyStore } from '../../src/keys/store.ts'
import { until } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { hasRedis, type RunningRedis, startRedis } from '../support/redis.ts'
import { makeKey } from '../support/server.ts'
import { ask } from './http.ts'
import type { Findings } from './lists/check.ts'
import { Cluster } from './lists/cluster.ts'
import { fill } from './lists/writes.ts'
import { Prover } from './lists.ts'
import { SCRIPTS } from './machines/scripts.ts'

/** Two machines differ in their addresses and folders; they share PostgreSQL and Redis. */
const MACHINES = ['cached', 'elsewhere'] as const
const LIST = '/Companies?PageSize=1'

/** What happens in the midst of a round. */
export type Disturbance = keyof typeof disturbances

const disturbances = {
  nothing: async () => undefined,
  /** A standby that nothing is: commits are in the log, and nothing sees them until it is no more waited for. */
  async visibility({ cluster: { sql } }: Site) {
    for (const value of ['unreachable', '']) {
      await sql.unsafe(`alter system set synchronous_standby_names = '${value}'`)
      await sql`select pg_reload_conf()`
      if (value !== '') await Bun.sleep(600)
    }
  },
  server: ({ cluster, random }: Site) => cluster.restart(random.pick(MACHINES)),
  async redis({ redis }: Site) {
    await redis?.kill()
    await Bun.sleep(100)
    await redis?.restart()
  },
  postgres: ({ cluster }: Site) => cluster.killPostgres(),
}

interface Options {
  seed: number
  roundMs: number
  /** One for each round. */
  disturbances: readonly Disturbance[]
}

interface Found {
  readonly counts: Record<string, number>
  /** Lists that differ from the database after silence, and limits that were not exact. */
  readonly differences: string[]
  /** From the revocation of a key until both servers have refused it. */
  readonly revokedMs: number
}

interface Site {
  readonly cluster: Cluster
  readonly redis: RunningRedis | null
  readonly random: Random
}

/** Two servers that write, and what else writes to their database, beside disturbances; after each round lists of both are compared. */
export async function proveMachines({ seed, roundMs, disturbances: names }: Options): Promise<Found> {
  const redis = hasRedis ? await startRedis() : null
  const own = { WORKERS: '1', DATABASE_POOL: '6', LOG_LEVEL: 'info', RATE_LIMIT_CLIENTS: '8' }
  const shared = { ...own, ...(redis ? { RATE_LIMIT_STORE: redis.url } : {}) }
  const [cached, elsewhere] = ['127.0.0.2', '127.0.0.3'].map((HOST) => ({ ...shared, HOST }))
  const cluster = await Cluster.open({ ...(cached && { cached }), ...(elsewhere && { elsewhere }) })
  try {
    const random = new Random(seed)
    const site = { cluster, redis, random }
    const setting = { servers: MACHINES, writeOutside: writeScript, hasForeignRows: true, aroundMs: roundMs / 2 }
    const prover = new Prover(cluster, random, setting)
    const { counts, differences } = prover.findings
    await fill(cluster)
    const wrong = await wrongLimit(site)
    const revokedMs = await revocationMs(site)
    for (const name of names) await prover.together(name, () => disturbances[name](site))
    return { counts, differences: [...wrong, ...differences], revokedMs }
  } finally {
    await cluster.close()
    await redis?.stop()
  }
}

/** One key's limit, over both at once: exact, and no two answers have the same number left. */
async function wrongLimit({ cluster, redis, random }: Site): Promise<string[]> {
  for (let attempt = 1; redis !== null && attempt <= 5; attempt++) {
    const limit = 200 + random.below(100)
    const key = await keyOf(cluster, `limited ${attempt}`, `${limit}/1h`)
    const found = await Promise.all(MACHINES.map((name) => ask(cluster.urlOf(name) + LIST, key, limit, 4)))
    // A machine that is too busy for the store's patience decides alone for a moment.
    if (MACHINES.some((name) => cluster.logOf(name).includes('store unreachable'))) continue
    const remaining = found.flatMap((answers) => answers.remaining)
    const asked = MACHINES.length
    if (remaining.length !== limit - asked || new Set(remaining).size !== remaining.length)
      return [`of ${limit - asked} ${remaining.length} were admitted, ${new Set(remaining).size} numbers`]
    break
  }
  return []
}

async function revocationMs({ cluster }: Site): Promise<number> {
  const key = await keyOf(cluster, 'revoked', null)
  const store = new KeyStore(cluster.databaseUrl)
  await store.revoke('revoked')
  const sinceMs = performance.now()
  let acceptedMs = 0
  await until(async () => {
    const askedMs = performance.now() - sinceMs
    const statuses = await Promise.all(MACHINES.map((name) => statusOf(cluster.urlOf(name), key)))
    if (statuses.includes(200)) acceptedMs = askedMs
    return statuses.every((status) => status === 401)
  })
  await store.end()
  return Math.round(acceptedMs)
}

/** A new key that both machines know: each has admitted one request. */
async function keyOf(cluster: Cluster, name: string, limits: string | null): Promise<string> {
  const { text, record } = makeKey({ name, limits, rights: '*:read' })
  const store = new KeyStore(cluster.databaseUrl)
  await store.create(record)
  await store.end()
  for (const machine of MACHINES) await until(async () => (await statusOf(cluster.urlOf(machine), text)) === 200)
  return text
}

async function statusOf(url: string, key: string): Promise<number> {
  const response = await fetch(url + LIST, { headers: { authorization: `ApiKey ${key}` } })
  await response.arrayBuffer()
  return response.status
}

/** What psql would send, over a session whose settings are not the servers'. */
async function writeScript({ databaseUrl }: Cluster, random: Random, findings: Findings): Promise<void> {
  const settings = { DateStyle: 'German', TimeZone: 'America/New_York', lock_timeout: 200 }
  const writer = connectTo(databaseUrl, { max: 1, connection: settings })
  await writer
    .unsafe(random.pick(SCRIPTS)(random))
    .simple()
    .then(
      () => findings.count('scripts'),
      () => findings.count('scripts, undone'),
    )
  await writer.end({ timeout: 1 }).catch(() => undefined)
  await Bun.sleep(random.below(60))
}
