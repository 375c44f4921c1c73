import { withConnection } from '../execute/connect.ts'
import { deleteGone } from './listenerStatements.ts'

/** Deletes the rows of machines that have died, so that writers without a listener of their own do not notify them. */
export async function sweepListeners(url: string): Promise<void> {
  await withConnection(url, (sql) => sql.unsafe(deleteGone))
}
