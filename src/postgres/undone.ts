import type postgres from 'postgres'

/** `sql.begin`, or `savepoint` of a transaction. */
type Begin = (work: (sql: postgres.TransactionSql) => Promise<never>) => Promise<unknown>

/** Carries a result out of what is rolled back because of it. */
class Undone extends Error {
  constructor(readonly value: unknown) {
    super('undone')
  }
}

/** Returns the result of `work`, which runs in a transaction that is rolled back. */
export async function undone<T>(begin: Begin, work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T> {
  try {
    return (await begin(async (sql) => {
      throw new Undone(await work(sql))
    })) as never
  } catch (error) {
    if (error instanceof Undone) return error.value as T
    throw error
  }
}
