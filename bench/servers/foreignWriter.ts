import postgres from 'postgres'
import type { Rows } from '../data/table.ts'
import { LEASE } from '../silence.ts'

/** Writes as psql would, of which servers have to hear. */
export interface ForeignWriter {
  /** Returns how many writes were done. @throws what one of them has thrown */
  stop(): Promise<number>
}

/** Changes the status of random absences, so many a second; one after the other, so fewer where one takes longer. */
export function startForeignWriter(url: string, { absences }: Rows, perSecond: number): ForeignWriter {
  const sql = postgres(url, { max: 1, onnotice: () => undefined, connection: LEASE })
  let isOver = false
  let writes = 0
  const write = async () => {
    const startMs = performance.now()
    while (!isOver) {
      const id = 1 + Math.floor(Math.random() * absences)
      await sql`update absence set status = ${writes % 2 === 0 ? 'Approved' : 'Requested'} where id = ${id}`
      writes++
      const dueMs = startMs + (writes * 1_000) / perSecond
      await Bun.sleep(Math.max(0, dueMs - performance.now()))
    }
  }
  const ended = write()
  ended.catch(() => undefined) // who stops it gets the error
  return {
    async stop() {
      isOver = true
      try {
        await ended
      } finally {
        await sql.end()
      }
      return writes
    },
  }
}
