import { afterAll, beforeAll } from 'bun:test'
import type postgres from 'postgres'
import { Database, type DatabaseOptions } from '../../src/execute/database.ts'
import { connect, reserveDatabase } from './postgres.ts'

/** A database of a test file, or of a `describe`. */
export interface TestDatabase {
  readonly url: string
  /** Connections of an operator, which hooks of the file may use until the end. */
  readonly sql: postgres.Sql
  /** Returns a new connection pool as servers have it, by default of two connections. It ends after the last test. */
  poolOf(options?: Partial<DatabaseOptions>): Database
}

/** For the top of a test file or a `describe`: creates a database before its first test; `empty`: without migrations. */
export function useDatabase(kind: 'migrated' | 'empty' = 'migrated'): TestDatabase {
  const { url, create } = reserveDatabase(kind)
  const sql = connect(url)
  const pools: Database[] = []
  beforeAll(async () => {
    await create()
  })
  afterAll(() => Promise.all(pools.map((pool) => pool.end())))
  return {
    url,
    sql,
    poolOf(options = {}) {
      const pool = new Database({ url, poolSize: 2, prepare: true, ...options })
      pools.push(pool)
      return pool
    },
  }
}
