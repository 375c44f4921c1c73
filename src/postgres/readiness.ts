// Readiness: the database answers and has every migration of this server.
import type { Database } from '../execute/database.ts'
import { sql, toStatement } from '../model/sql.ts'

const APPLIED = toStatement(sql`select file from migration`)

const KEPT_MS = 1_000

/** Asks at most once a second, as no rate limit applies: has the database every migration of `files`? @throws ApiError 503 */
export function createReadiness(database: Pick<Database, 'read'>, files: readonly string[]): () => Promise<boolean> {
  const isReady = async () => {
    const rows = await database.read(APPLIED).catch((error) => {
      if (error?.code !== '42P01') throw error
      return [] // without the table nothing was ever migrated
    })
    const applied = new Set(rows.map(([file]) => file))
    return files.every((file) => applied.has(file))
  }
  let answer: Promise<boolean> | null = null
  let askedMs = 0
  // A database that hangs would else get a question more each second.
  let isOpen = false
  return () => {
    const nowMs = performance.now()
    if (answer === null || (!isOpen && nowMs - askedMs >= KEPT_MS)) {
      askedMs = nowMs
      isOpen = true
      answer = isReady().finally(() => void (isOpen = false))
    }
    return answer
  }
}
