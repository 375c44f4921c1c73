import type { TableCopies } from '../memory/tableCopies.ts'
import { cellOf, count, countDelay, gauge, setGauges } from '../metrics/counts.ts'

/** A pool with a number of statements under way. */
interface Loaded {
  readonly load: { readonly queries: number; readonly sent: number }
}

/** The parts of a worker whose use metrics show. */
export interface Gauged {
  readonly pools: Readonly<Record<(typeof POOL_NAMES)[number], { readonly database: Loaded; readonly size: number }>>
  /** Null: there is none. */
  readonly memory: TableCopies | null
  readonly memoryBytesMax: number
  requestsInFlight(): number
}

const POOL_NAMES = ['rows', 'lists', 'longWrites', 'memory'] as const
const DELAY_EVERY_MS = 100

const IN_FLIGHT = cellOf('requestsInFlight')
const OVERFLOWED = cellOf('overflowed')
const KEYS = cellOf('limiterKeys')
const KEYS_MAX = cellOf('limiterKeysMax')
const MEMORY_TABLES = cellOf('memoryTables')
const MEMORY_BYTES = cellOf('memoryBytes')
const MEMORY_BYTES_MAX = cellOf('memoryBytesMax')
const POOLS = POOL_NAMES.map((pool) => ({
  pool,
  max: cellOf('connectionsMax', pool),
  sent: cellOf('statementsSent', pool),
  queries: cellOf('queries', pool),
}))

/** Measures for scrapes what a worker has in use, and how late its timers are. Returns what ends it. */
export function keepGauges(gauged: Gauged): () => void {
  setGauges(() => writeGauges(gauged))
  const timer = watchDelay()
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
    const { database, size } = pools[pool]
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

/** Measures the delay of the event loop: how late a timer is. */
function watchDelay() {
  let dueMs = performance.now() + DELAY_EVERY_MS
  return setInterval(() => {
    const nowMs = performance.now()
    countDelay(Math.max(0, nowMs - dueMs))
    dueMs = nowMs + DELAY_EVERY_MS
  }, DELAY_EVERY_MS)
}
