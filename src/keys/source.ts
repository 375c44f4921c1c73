import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { classify } from '../execute/sqlstate.ts'
import type { KeyRecord, KeySource } from '../model/key.ts'
import { selectCurrent, selectVersion } from './statements.ts'

/** Reads keys over the connections that requests are answered with: a process that serves also learns of revocations. */
export function keySource(database: Database): KeySource {
  return {
    version: async () => (await database.read(selectVersion))[0]?.[0] ?? '',
    current: async () =>
      (await database.read(selectCurrent)).map(
        ([id, name, hash, rights, limits]) => ({ id, name, hash, rights, limits }) as KeyRecord,
      ),
    // A database that refuses this statement, or is slow, may still answer others.
    isAway: (error) => error instanceof ApiError && ['lost', 'notSent'].includes(classify(error.cause)),
  }
}
