// Generated rows of all entities: divides the rows among the entities, and inserts them in several transactions, referenced
// entities first.
import type postgres from 'postgres'
import { Refused } from '../errors.ts'
import { referredFirst } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import { compileSeed, type GeneratorInput, type Ids, nextOwn, rowsMax } from './insertRows.ts'
import { type DayRange, rangesOf } from './values.ts'

/**
 * Maximum number of rows that one transaction inserts. So the change feed, and programs that write at the same time, wait only
 * for one transaction, and not for all rows.
 */
const PIECE_ROWS = 10_000

export interface Seeding {
  /** Total rows of all entities. */
  readonly rows: number
  readonly seed: number
  /** Range of days for dates that need not be unique. Undefined: the ranges of `rangesOf`, which are relative to today. */
  readonly range?: DayRange
  onRows(count: number): void
}

/** An entity, and the number of its rows to generate. */
export interface Share {
  readonly entity: Entity
  readonly rows: number
}

/**
 * Adds generated rows of all entities, referenced entities first. Returns the number of added rows of each entity. D67 @throws
 * Refused
 */
export async function seed(sql: postgres.Sql, entities: readonly Entity[], seeding: Seeding): Promise<Share[]> {
  const seeded: Share[] = []
  for (const { entity, rows } of sharesOf(entities, seeding.rows))
    seeded.push({ entity, rows: await fill(sql, entity, rows, seeding) })
  // Gives the planner statistics, and marks pages as visible to all. A role that does not own the table only gets a warning.
  for (const { table } of entities) await sql`vacuum (analyze) ${sql(table)}`
  return seeded
}

/** Returns the plural names of the entities whose tables have rows. */
export async function withRows(sql: postgres.Sql, entities: readonly Entity[]): Promise<string[]> {
  const found: string[] = []
  for (const { table, plural } of entities) if ((await sql`select 1 from ${sql(table)} limit 1`).length > 0) found.push(plural)
  return found
}

async function fill(sql: postgres.Sql, entity: Entity, rowsWanted: number, { seed, range, onRows }: Seeding): Promise<number> {
  const ranges = range ? { periods: range, others: range } : rangesOf(new Date())
  const ids = new Map<string, Ids | null>()
  for (const { reference } of entity.properties) if (reference) ids.set(reference.table, await idsOf(sql, reference.table))
  requireReferred(entity, ids)
  const base = (await idsOf(sql, entity.table))?.last ?? 0
  const rows = Math.min(rowsWanted, rowsMax(entity, ids, base))
  const namesOwn = ids.has(entity.table)
  let inserted = 0
  let done = 0
  while (done < rows) {
    const own = namesOwn ? await idsOf(sql, entity.table, base) : null
    const piece = Math.min(PIECE_ROWS, rows - done, namesOwn ? nextOwn(done) : PIECE_ROWS)
    const input: GeneratorInput = { entity, seed, ranges, ids, base, own }
    const { text, values } = compileSeed(input, base + done + 1, base + done + piece)
    inserted += (await sql.unsafe(text, [...values])).count
    done += piece
    onRows(piece)
  }
  return inserted
}

async function idsOf(sql: postgres.Sql, table: string, after = 0): Promise<Ids | null> {
  const [row] = await sql`select min(id) as first, max(id) as last from ${sql(table)} where id > ${after}`
  return row?.first == null ? null : { first: Number(row.first), last: Number(row.last) }
}

/** Checks that the table of each required reference has rows. @throws Refused if one of these tables is empty */
function requireReferred({ name, properties, table }: Entity, ids: ReadonlyMap<string, Ids | null>) {
  for (const { name: property, kind, reference } of properties)
    if (reference && !kind.nullable && !ids.get(reference.table)) {
      const reason = reference.table === table ? 'which the first cannot' : `of which there is none: they refer to each other`
      throw new Refused(`${property} of ${name} must name a row of ${reference.entity}, ${reason}`)
    }
}

/** Number of rows that refer to each row: five employees to a company, five absences to an employee. */
const ROWS_PER_REFERENCED = 5
/**
 * Maximum number of references in a chain that are counted. Each counted reference multiplies the entity's share of the rows by
 * `ROWS_PER_REFERENCED`.
 */
const STEPS_MAX = 3

/** Divides `rows` among the entities, at least one each; referenced entities come first. */
export function sharesOf(entities: readonly Entity[], rows: number): Share[] {
  const steps = new Map<string, number>()
  const ordered = referredFirst(entities)
  for (const { table, properties } of ordered) {
    const below = properties.map(({ reference }) => steps.get(reference?.table ?? '') ?? -1)
    steps.set(table, Math.min(STEPS_MAX, Math.max(-1, ...below) + 1))
  }
  const weights = ordered.map(({ table }) => ROWS_PER_REFERENCED ** (steps.get(table) ?? 0))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const shares = weights.map((weight) => Math.max(1, Math.floor((rows * weight) / sum)))
  // The largest entity gets the remainder.
  const left = rows - shares.reduce((total, share) => total + share, 0)
  const largest = weights.lastIndexOf(Math.max(...weights))
  shares[largest] = Math.max(1, (shares[largest] as number) + left)
  return ordered.map((entity, index) => ({ entity, rows: shares[index] as number }))
}
