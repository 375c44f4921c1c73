import { excerpt } from '../../src/model/excerpt.ts'

const LENGTH_MAX = 80

/**
 * Returns rows for `test.each`. Before each row is its first value in short, for the name of the test: a long name would flood
 * the log.
 */
export function titled<Row extends readonly [unknown, ...unknown[]]>(rows: readonly Row[]): [title: string, ...row: Row][] {
  return rows.map((row) => [titleOf(row[0]), ...row])
}

/** Returns a value in short, for the name of a test. */
export function titleOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const start = excerpt(text, LENGTH_MAX)
  return start.length < text.length ? `${start}...` : start
}
