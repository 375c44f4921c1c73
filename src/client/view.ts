import { collectionAt, type RosterView } from './collection.ts'
import type { Connection } from './connection.ts'
import type { RosterKinds } from './summary.ts'

/** Returns the named view at `path`, such as /Directory. */
export function viewAt<Row, Filter, Sort, Field, Kinds extends RosterKinds, Paths = object>(
  connection: Connection,
  path: string,
): RosterView<Row, Filter, Sort, Field, Kinds, Paths> {
  const own = collectionAt<Row, never, Filter, Sort, Field, Kinds, Paths>(connection, path)
  const { list, follow, all, stream, summary, get } = own
  return { list, follow, all, stream, summary, get }
}
