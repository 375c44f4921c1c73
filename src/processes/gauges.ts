// Gauges of one worker: connections, memory, requests in flight, and delays of timers.
import type { Database } from '../execute/database.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import { cellOf, countDelay, gauge, setGauges } from '../metrics/counts.ts'
import { metrics } from '../metrics/declared.ts'

interface Gauged {
  readonly pools: Readonly<Record<Pool, { readonly database: Pick<Database, 'load'>; readonly size: number }>>
  readonly memory: TableCopies | null
  readonly memoryBytesMax: number
  requestsInFlight(): number
}

type Pool = (typeof metrics.connectionsMax.labels.pool)[number]
const DELAY_EVERY_MS = 1_000

/** Measures for scrapes what a worker has in use, and how late its timers are, until its process ends. */
export function keepGauges({ pools, memory, memoryBytesMax, requestsInFlight }: Gauged): void {
  setGauges(() => {
    gauge(cellOf('requestsInFlight'), requestsInFlight())
    for (const pool of metrics.connectionsMax.labels.pool) {
      const { size, database } = pools[pool]
      const { load } = database
      gauge(cellOf('connectionsMax', pool), size)
      gauge(cellOf('statementsSent', pool), load.sent)
      gauge(cellOf('queries', pool), load.queries)
    }
    gauge(cellOf('memoryBytesMax'), memoryBytesMax)
    const { tables, bytes } = memory?.use ?? { tables: 0, bytes: 0 }
    gauge(cellOf('memoryTables'), tables)
    gauge(cellOf('memoryBytes'), bytes)
  })
  let dueMs = performance.now() + DELAY_EVERY_MS
  setInterval(() => {
    const nowMs = performance.now()
    countDelay(Math.max(0, nowMs - dueMs))
    dueMs = nowMs + DELAY_EVERY_MS
  }, DELAY_EVERY_MS).unref()
}
