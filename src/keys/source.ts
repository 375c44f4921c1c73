import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { classify } from '../execute/sqlstate.ts'
import type { KeyRecord, KeySource } from '../model/key.ts'
import type { Row } from '../model/sql.ts'
import { selectCurrent, selectKey } from './statements.ts'

/** Reads keys over the connections that requests are answered with. */
export function keySource(database: Database): KeySource {
  return {
    current: async () => (await database.read(selectCurrent)).map(toRecord),
    async find(id) {
      const [row] = await database.read(selectKey(id))
      return row ? toRecord(row) : null
    },
    // A database that refuses this statement, or is slow, may still answer others.
    isAway: (error) => error instanceof ApiError && ['lost', 'notSent'].includes(classify(error.cause)),
  }
}

function toRecord([id, name, hash, rights, limits]: Row): KeyRecord {
  return { id, name, hash, rights, limits } as KeyRecord
}
