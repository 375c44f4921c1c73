import { connectTo } from '../execute/connect.ts'
import { deleteGone } from './listenerStatements.ts'

/** Writers without a listener of their own need not notify machines that have died: takes their rows away. */
export async function sweepListeners(url: string): Promise<void> {
  const sql = connectTo(url, { max: 1, prepare: false })
  try {
    await sql.unsafe(deleteGone)
  } finally {
    await sql.end({ timeout: 0 })
  }
}
