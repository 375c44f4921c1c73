// Writes under an Idempotency-Key: one statement that looks up the key, takes its lock, writes, and keeps the answer.
import type { Batchable, Once } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import { integer, join, param, replaceParams, type Sql, sql, toStatement, word } from '../model/sql.ts'
import {
  columnOf,
  foundRuns,
  type InsertParts,
  type Operand,
  oneRun,
  type Runs,
  textOf,
  type UpdateParts,
  updateRuns,
} from './batch.ts'
import { type Compiled, paramsOf, printed, writtenNames } from './parts.ts'

// A write returns what it would return without a key, and no row if the key is known or another transaction works under it. Two
// that have not seen each other meet in the primary key, which undoes the second one.

/** The runs, and whether each is the first under its key. */
const TRIED = sql`"Tried"`
/** Name of the runs whose requests come for the first time. */
const FIRST = sql`"First"`
/** Name of the rows that were written: the entity's columns come first, named "C1", "C2" and so on. */
const EFFECT = sql`"Effect"`

/** In a `case`, so that no lock is taken for a key that is known. */
export function isFirst(key: Sql): Sql {
  const known = sql`(select true from idempotency_key where id = ${key})`
  return sql`case when ${known} then false else pg_try_advisory_xact_lock(uuid_hash_extended(${key}, 0)) end`
}

interface Steps {
  readonly first: Sql
  readonly effect: Sql
  /** Rows `e` that are returned, joined with their runs `b`. */
  readonly paired: Sql
  readonly result: Sql
}

/** Compiles a write under a key by its steps, alone and in a batch. Behind all other operands there are a key and the request. */
export function compileOnce(
  entity: Entity,
  operands: readonly Operand[],
  distinct: number | null,
  stepsOf: (runs: Runs, isAlone: boolean) => Steps,
): Compiled {
  const all = [...operands, { param: param(null), type: 'uuid' }, { param: param(null), type: 'uuid' }]
  const asker = param(null)
  const compile = (runs: Runs, isAlone = false) => wrap(entity, operands, runs, stepsOf(runs, isAlone))
  return {
    text: toStatement(compile(oneRun(all, asker), true), [...paramsOf(all), asker]).text,
    batch: { text: textOf(all, asker, compile), rows: 'numbered', distinct },
  }
}

/** Inserts the rows of first requests. They do not name their run: the first new id is that of the first run, and so on. */
export function insertFirst({ insert, values, returning, sources }: InsertParts, operands: readonly Operand[], all: Runs): Steps {
  const found = foundRuns(sources, operands, { ...all, from: sql`(select * from ${TRIED} where "Is") as b` })
  const inner = replaceParams(values, columnOf(operands))
  const placed = sql`(select *, row_number() over (order by "C1") as "Place" from ${EFFECT}) as e`
  const paired = sql`${placed} join ${FIRST} as b on b."Place" = e."Place"`
  return {
    first: sql`select b.*, row_number() over (order by b."N") as "Place" from ${found}`,
    effect: sql`${insert} select ${inner} from ${FIRST} as b order by b."N" ${returning}`,
    paired,
    result: sql`select e.*, b."N" from ${paired}`,
  }
}

/** Updates the rows of first requests. */
export function updateFirst(parts: UpdateParts, operands: readonly Operand[], { settings }: Runs): Steps {
  const arrays = operands.map((_, index) => sql`array(select ${valueAt(index)} from ${FIRST})`)
  return {
    first: sql`select * from ${TRIED} where "Is"`,
    effect: updateRuns(parts, operands, { from: sql`${FIRST} as b`, arrays, settings }),
    paired: sql`${EFFECT} as e join ${FIRST} as b on b."N" = e."N"`,
    result: sql`select * from ${EFFECT}`,
  }
}

function wrap(entity: Entity, operands: readonly Operand[], { from }: Runs, { first, effect, paired, result }: Steps): Sql {
  const [key, request] = [valueAt(operands.length), valueAt(operands.length + 1)]
  const kept = sql`select b.${key}, b.${request}, ${answerOf(entity)} from ${paired}`
  const steps = [
    sql`${TRIED} as materialized (select b.*, ${isFirst(sql`b.${key}`)} as "Is" from ${from})`,
    sql`${FIRST} as materialized (${first})`,
    sql`${EFFECT} (${writtenNames(entity)}) as (${effect})`,
    sql`"Kept" as (insert into idempotency_key (id, request, answer) ${kept})`,
  ]
  return sql`with ${join(steps, sql`, `)} ${result}`
}

/** The entity's columns as PostgreSQL writes them, the transaction, and the sign of the entity's properties. */
export function answerOf(entity: Entity): Sql {
  const texts = entity.properties.map(({ kind }, index) => printed(sql`"C${integer(index + 1)}"`, kind))
  return sql`array[${join([...texts, sql`pg_current_xact_id()::text`, word(propertiesSignOf(entity))], sql`, `)}]`
}

/** The beginning of a sign, which no transaction has. */
export const PROPERTIES_SIGN = 'p'

/** Text that differs, in all likelihood, from that of an entity with other properties. */
export function propertiesSignOf({ properties }: Entity): string {
  return PROPERTIES_SIGN + Bun.hash.crc32(properties.map(({ column, kind }) => `${column} ${kind.name}`).join())
}

/** Asks whether a key is unknown, and no transaction works under it: `t` or `f`. */
export function compileIsFree({ key }: Once): Batchable {
  return toStatement(sql`select ${isFirst(sql`${param(key)}::uuid`)}`)
}

/** A deletion under a key. `remove` holds the condition that it is given; of what is deleted nothing is kept. */
export function onceRemove(once: Once, remove: (condition: Sql) => Sql): Sql {
  const [key, request] = [param(once.key), param(once.request)]
  const first = sql`${FIRST} as materialized (select ${isFirst(sql`${key}`)} as "Is")`
  const effect = remove(sql`(select "Is" from ${FIRST})`)
  const kept = sql`insert into idempotency_key (id, request) select ${key}, ${request} from ${EFFECT}`
  return sql`with ${first}, ${EFFECT} as (${effect}), "Kept" as (${kept}) select * from ${EFFECT}`
}

function valueAt(index: number): Sql {
  return sql`"V${integer(index + 1)}"`
}

/** Values of a statement under a key, behind its operands. */
export function valuesOfOnce(once: Once | null): string[] {
  return once ? [once.key, once.request] : []
}

/** Looks up a key: whether its row is of the same request, `t` or `f`, and its answer as JSON; no row if the key is unknown. */
export function compileLook({ key, request }: Once): Batchable {
  const columns = sql`request = ${param(request)}::uuid, to_json(answer)::text`
  return toStatement(sql`select ${columns} from idempotency_key where id = ${param(key)}::uuid`)
}
