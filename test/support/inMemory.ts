import { until } from './process.ts'
import type { TestServer } from './server.ts'

/** Resolves with true if the list is answered while its table is locked, so that only memory can answer it. */
export function isInMemory(server: TestServer, table: string, path: string, waitMs = 300): Promise<boolean> {
  return server.sql.begin(async (transaction) => {
    await transaction`lock table ${transaction(table)} in access exclusive mode`
    const answer = await Promise.race([server.get(path), Bun.sleep(waitMs)])
    return answer?.status === 200
  })
}

/** Waits until the list is answered from memory. */
export function untilInMemory(server: TestServer, table: string, path: string): Promise<void> {
  return until(async () => {
    const startMs = performance.now()
    await server.get(path)
    // Each failed attempt delays the load of the table, so a busy machine gets more time.
    return isInMemory(server, table, path, 200 + 5 * (performance.now() - startMs))
  })
}
