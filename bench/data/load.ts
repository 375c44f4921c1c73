import { availableParallelism } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import postgres from 'postgres'
import { copyRows } from './copy.ts'
import { buildStructure, dropStructure, readStructure } from './indexes.ts'
import { markLoaded } from './marker.ts'
import type { Progress } from './progress.ts'
import type { Rows, Table } from './table.ts'
import { tables } from './tables.ts'

const BUILDERS_MAX = 4
/** What still waits after a failure is not waited for. */
const END_SECONDS = 1

/**
 * Fills the empty tables of a migrated database with the rows of these counts, and marks it as loaded once all indexes
 * and foreign keys are there again.
 */
export async function load(url: string, rows: Rows, progress: Progress): Promise<void> {
  const sql = postgres(url, {
    max: Math.min(BUILDERS_MAX, availableParallelism()),
    onnotice: () => undefined,
    // Each builder is one process: parallel ones would need shared memory, which containers have little of. A text,
    // since the driver leaves out a number of 0.
    connection: { maintenance_work_mem: '256MB', max_parallel_maintenance_workers: '0' },
  })
  try {
    const structure = await readStructure(sql, NAMES)
    await dropStructure(sql, structure)
    for (const table of tables) await fill(sql, table, rows, progress)
    await build(sql, structure, progress)
    await settle(sql, rows, progress)
  } finally {
    await sql.end({ timeout: END_SECONDS })
  }
}

const NAMES = tables.map(({ name }) => name)

async function fill(sql: postgres.Sql, table: Table, rows: Rows, progress: Progress) {
  const count = table.count(rows)
  progress.begin(table.name)
  await sql.begin(async (transaction) => {
    // Only into a table that this transaction has emptied can rows be written frozen, so that no vacuum has to.
    await transaction.unsafe(`truncate ${table.name}`)
    const tell = (done: number) => progress.show(done, count, 'rows')
    await copyRows(transaction, table.name, { table, rows, ids: idsTo(count), options: '(freeze)', tell })
  })
  progress.end(count, 'rows')
}

function* idsTo(count: number): Generator<number> {
  for (let id = 1; id <= count; id++) yield id
}

type Built = Awaited<ReturnType<typeof readStructure>>

async function build(sql: postgres.Sql, structure: Built, progress: Progress) {
  const total = structure.indexes.length + structure.foreignKeys.length
  progress.begin('indexes and keys')
  await buildStructure(sql, structure, (done) => progress.show(done, total, 'built'))
  progress.end(total, 'built')
  const after = await readStructure(sql, NAMES)
  const sorted = ({ indexes, foreignKeys }: Built) => [
    indexes.map(({ definition }) => definition).sort(),
    foreignKeys.map(({ name, definition }) => `${name} ${definition}`).sort(),
  ]
  if (!isDeepStrictEqual(sorted(after), sorted(structure))) throw new Error('an index or a foreign key was not rebuilt')
}

async function settle(sql: postgres.Sql, rows: Rows, progress: Progress) {
  progress.begin('vacuum, statistics')
  for (const [index, table] of tables.entries()) {
    await sql`select setval(pg_get_serial_sequence(${table.name}, 'id'), ${table.count(rows)})`
    await sql`vacuum (analyze) ${sql(table.name)}`
    progress.show(index + 1, tables.length, 'tables')
  }
  await markLoaded(sql, rows)
  // What is written out here, the shutdown and the first scenario need not write.
  await sql`checkpoint`
  progress.end(tables.length, 'tables')
}
