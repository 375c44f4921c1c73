import type { ColumnStore } from '../columns/columnStore.ts'
import { cellOf, count, countDelay, gauge, setGauges } from '../metrics/counts.ts'

/** What has a number of statements under way. */
interface Loaded {
  readonly load: { readonly queries: number; readonly sent: number }
}

/** What a worker has, of which scrapes say how much of it is in use. */
export interface Gauged {
  readonly pools: Readonly<
    Record<'rows' | 'lists' | 'longWrites', { readonly database: Loaded; readonly size: number }>
  >
  /** Null: there are none. */
  readonly columns: ColumnStore | null
  readonly columnBytesMax: number
  requestsInFlight(): number
}

const DELAY_EVERY_MS = 100

const IN_FLIGHT = cellOf('requestsInFlight')
const OVERFLOWED = cellOf('overflowed')
const KEYS = cellOf('limiterKeys')
const KEYS_MAX = cellOf('limiterKeysMax')
const COLUMN_TABLES = cellOf('columnTables')
const COLUMN_BYTES = cellOf('columnBytes')
const COLUMN_BYTES_MAX = cellOf('columnBytesMax')
const COLUMN_AGE = cellOf('columnAge')
const POOLS = (['rows', 'lists', 'longWrites'] as const).map((pool) => ({
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

function writeGauges({ pools, columns, columnBytesMax, requestsInFlight }: Gauged) {
  gauge(IN_FLIGHT, requestsInFlight())
  for (const { pool, max, sent, queries } of POOLS) {
    const { database, size } = pools[pool]
    const { load } = database
    gauge(max, size)
    gauge(sent, load.sent)
    gauge(queries, load.queries)
  }
  gauge(COLUMN_BYTES_MAX, columns === null ? 0 : columnBytesMax)
  const use = columns?.use ?? { tables: 0, bytes: 0, ageMs: 0 }
  gauge(COLUMN_TABLES, use.tables)
  gauge(COLUMN_BYTES, use.bytes)
  gauge(COLUMN_AGE, use.ageMs / 1_000)
}

/** What comes for this process waits as long as a timer that is due. */
function watchDelay() {
  let dueMs = performance.now() + DELAY_EVERY_MS
  return setInterval(() => {
    const nowMs = performance.now()
    countDelay(Math.max(0, nowMs - dueMs))
    dueMs = nowMs + DELAY_EVERY_MS
  }, DELAY_EVERY_MS)
}
