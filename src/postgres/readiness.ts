// Readiness: the database answers and has every migration of this server.
import type { Row, Statement } from '../model/sql.ts'
import { APPLIED } from './baseline.ts'

const KEPT_MS = 1_000

/** Asks at most once a second, as no rate limit applies: has the database every migration of `files`? @throws ApiError 503 */
export function createReadiness(read: (statement: Statement) => Promise<readonly Row[]>, files: readonly string[]) {
  const isReady = async () => {
    const rows = await read(APPLIED).catch((error) => {
      if (error?.code !== '42P01') throw error
      return [] // without the table nothing was ever migrated
    })
    const applied = new Set(rows.map(([file]) => file))
    return files.every((file) => applied.has(file))
  }
  let answer = Promise.resolve(false)
  let nextMs = 0
  return (): Promise<boolean> => {
    const nowMs = performance.now()
    if (nowMs < nextMs) return answer
    // Until there is an answer: a database that hangs would else get a question more each second.
    nextMs = Number.POSITIVE_INFINITY
    answer = isReady().finally(() => void (nextMs = nowMs + KEPT_MS))
    return answer
  }
}
