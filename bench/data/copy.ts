import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import type postgres from 'postgres'
import type { Rows, Table, Value } from './table.ts'

const CHUNK_ROWS = 1_000

/** Sends some rows of a table to `target`, a table with its columns, by COPY. `tell`: how many are sent so far. */
export async function copyRows(
  sql: postgres.TransactionSql,
  target: string,
  { table, rows, ids, options = '', tell }: Copied,
): Promise<void> {
  const columns = table.columns.map((column) => `"${column}"`).join(', ')
  const query = sql.unsafe(`copy ${target} (${columns}) from stdin ${options}`)
  // What fails after the last byte is sent, the driver tells the query alone, whose promise is fulfilled by then.
  const failed = new Promise<never>((_, reject) => Object.assign(query, { reject }))
  const sink = await Promise.race([query.writable(), failed])
  const source = Readable.from(chunks(table, rows, ids, tell), { objectMode: true, highWaterMark: 2 })
  await Promise.race([pipeline(source, sink), failed])
}

interface Copied {
  readonly table: Table
  readonly rows: Rows
  readonly ids: Iterable<number>
  readonly options?: string
  readonly tell?: (done: number) => void
}

async function* chunks(
  table: Table,
  rows: Rows,
  ids: Iterable<number>,
  tell?: (done: number) => void,
): AsyncGenerator<Buffer> {
  let text = ''
  let done = 0
  for (const id of ids) {
    text += copyLine(table.row(id, rows))
    if (++done % CHUNK_ROWS !== 0) continue
    yield Buffer.from(text)
    tell?.(done)
    text = ''
    await setImmediate() // a socket that takes all at once leaves signals and timers no turn
  }
  if (text !== '') yield Buffer.from(text)
}

/** One row in COPY's text form, its line end too. */
export function copyLine(values: readonly Value[]): string {
  return `${values.map((value) => (value === null ? '\\N' : escaped(String(value)))).join('\t')}\n`
}

const SPECIAL = /[\\\t\n\r]/
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escaped(text: string): string {
  // Nearly no text has any, and to look is cheaper than to replace.
  return SPECIAL.test(text)
    ? text.replaceAll(new RegExp(SPECIAL, 'g'), (character) => ESCAPES[character] as string)
    : text
}
