// Readiness: the database answers and has every migration of this server.
import type { Row, Statement } from '../model/sql.ts'
import { APPLIED } from './baseline.ts'

const KEPT_MS = 1_000

/**
 * Returns a function that checks whether the database has every migration of `files`. It reads at most once a second, because no
 * rate limit applies to these checks. @throws ApiError 503
 */
export function createReadiness(read: (statement: Statement) => Promise<readonly Row[]>, files: readonly string[]) {
  const isReady = async () => {
    const rows = await read(APPLIED).catch((error) => {
      if (error?.code !== '42P01') throw error
      return [] // no migration was ever applied
    })
    const applied = new Set(rows.map(([file]) => file))
    return files.every((file) => applied.has(file))
  }
  let answer = Promise.resolve(false)
  let nextMs = 0
  return (): Promise<boolean> => {
    const nowMs = performance.now()
    if (nowMs < nextMs) return answer
    // No further read is sent until this one is answered: reads would pile up in a database that hangs.
    nextMs = Number.POSITIVE_INFINITY
    answer = isReady().finally(() => void (nextMs = nowMs + KEPT_MS))
    return answer
  }
}
