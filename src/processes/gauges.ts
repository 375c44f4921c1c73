import type { Database } from '../execute/database.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import { cellOf, count, countDelay, gauge, setGauges } from '../metrics/counts.ts'
import { metrics } from '../metrics/declared.ts'

interface Gauged {
  readonly pools: Readonly<Record<Pool, { readonly database: Pick<Database, 'load'>; readonly size: number }>>
  readonly memory: TableCopies | null
  readonly memoryBytesMax: number
  requestsInFlight(): number
}

type Pool = (typeof metrics.connectionsMax.labels.pool)[number]
const DELAY_EVERY_MS = 100

const IN_FLIGHT = cellOf('requestsInFlight')
const OVERFLOWED = cellOf('overflowed')
const KEYS = cellOf('limiterKeys')
const KEYS_MAX = cellOf('limiterKeysMax')
const MEMORY_TABLES = cellOf('memoryTables')
const MEMORY_BYTES = cellOf('memoryBytes')
const MEMORY_BYTES_MAX = cellOf('memoryBytesMax')
const POOLS = metrics.connectionsMax.labels.pool.map((pool) => ({
  pool,
  max: cellOf('connectionsMax', pool),
  sent: cellOf('statementsSent', pool),
  queries: cellOf('queries', pool),
}))

/** Measures for scrapes what a worker has in use, and how late its timers are. Returns what ends it. */
export function keepGauges(gauged: Gauged): () => void {
  setGauges(() => writeGauges(gauged))
  let dueMs = performance.now() + DELAY_EVERY_MS
  const timer = setInterval(() => {
    const nowMs = performance.now()
    countDelay(Math.max(0, nowMs - dueMs))
    dueMs = nowMs + DELAY_EVERY_MS
  }, DELAY_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Says how many keys the limits count requests of, of how many, and counts requests of keys that shared an entry. */
export function noteKeys({ overflowed, inUse, max }: { overflowed: number; inUse: number; max: number }): void {
  count(OVERFLOWED, overflowed)
  gauge(KEYS, inUse)
  gauge(KEYS_MAX, max)
}

function writeGauges({ pools, memory, memoryBytesMax, requestsInFlight }: Gauged) {
  gauge(IN_FLIGHT, requestsInFlight())
  for (const { pool, max, sent, queries } of POOLS) {
    const { size, database } = pools[pool]
    const { load } = database
    gauge(max, size)
    gauge(sent, load.sent)
    gauge(queries, load.queries)
  }
  gauge(MEMORY_BYTES_MAX, memory === null ? 0 : memoryBytesMax)
  const { tables, bytes } = memory?.use ?? { tables: 0, bytes: 0 }
  gauge(MEMORY_TABLES, tables)
  gauge(MEMORY_BYTES, bytes)
}
