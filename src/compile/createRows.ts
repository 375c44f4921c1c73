// Bulk create: one statement that writes all rows or none.
import type { Batchable, Once } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { integer, join, param, replaceParams, sql, toStatement } from '../model/sql.ts'
import { allFound, columnOf, list, lookup, type Operand, rowsOf, setsKey } from './batch.ts'
import { answerOf, isFirst, valuesOfOnce } from './once.ts'
import { freeOf, hasUnique, insertParts, operandsOf, paramsOf, shapeCache, writtenNames } from './parts.ts'

const textOfShape = shapeCache<string>(200)

/** The rows as they are sent, with what they copy. */
const FOUND = sql`"Found"`
/** True when the statement has the lock against deadlocks on unique values. */
const TURN = sql`"Turn"`
/** First half of the advisory lock's key; the other half is the table's. */
const TURN_LOCK = 59
const WRITTEN = sql`"W"`

/**
 * Returns the rows in the order of `values`, an array of PostgreSQL for each property of `writableOf`. No rows: a reference names
 * none, a unique value is taken, or the key of `once` was used or is in use. The answer that is kept for `once` is an array of
 * arrays. `asker`: the id of the API key.
 */
export function compileCreateRows(entity: Entity, values: readonly string[], once: Once | null, asker: string): Batchable {
  const shape = `rows${once ? ' once' : ''} ${entity.table}`
  const text = textOfShape(shape, () => compile(entity, writableOf(entity), once !== null))
  return { text, values: [...values, ...valuesOfOnce(once), asker], batch: null, once, asker }
}

/** The properties that clients write, in the order in which rows have their values. */
export function writableOf({ properties }: Entity): Property[] {
  return properties.filter(({ writable }) => writable)
}

function compile(entity: Entity, changed: readonly Property[], isOnce: boolean): string {
  const operands = operandsOf(changed)
  const parts = insertParts(entity, changed, operands)
  const [key, request, asker] = [param(null), param(null), param(null)]
  const value = columnOf(operands)
  const inner = replaceParams(parts.values, value)
  const effect = sql`${parts.insert} select ${inner} from ${FOUND} as b where b."All" order by b."N" ${parts.returning}`
  // Two statements whose rows have unique values in common, in other orders, would wait for each other's rows; and so again when
  // one of them was undone and is repeated. So one table's come one after the other, those of other servers too. D65
  const isAlone = hasUnique(changed)
  const lock = sql`pg_advisory_xact_lock(${integer(TURN_LOCK)}, ${integer(Bun.hash.crc32(entity.table) >>> 1)})`
  const turn = isAlone ? sql`(select "Is" from ${TURN})` : sql`true`
  // A repeated request that was done before waits for no lock.
  const condition = isOnce ? sql`case when (select "Is" from "First") then ${turn} else false end` : turn
  const { from } = rowsOf(operands, (index) => sql`${(operands[index] as Operand).param}`)
  const rows = sql`${from} where ${setsKey(asker)} and ${condition}`
  // What each row refers to is there and its unique values are free, of all or of none.
  const { sources } = parts
  const conditions = [...(sources.length === 0 ? [] : [allFound(sources)]), ...freeOf(entity, changed, operands, null)]
  const all = conditions.length === 0 ? sql`true` : sql`bool_and(${replaceParams(join(conditions, sql` and `), value)}) over ()`
  const lookups = replaceParams(list([sql`b.*`, ...sources.map(lookup)]), value)
  const answer = sql`select ${key}::uuid, ${request}::uuid, array_agg(${answerOf(entity)} order by "C1") from ${WRITTEN} having count(*) > 0`
  const steps = [
    ...(isAlone ? [sql`${TURN} as materialized (select true as "Is" from ${lock})`] : []),
    ...(isOnce ? [sql`"First" as materialized (select ${isFirst(sql`${key}::uuid`)} as "Is")`] : []),
    sql`${FOUND} as materialized (select b.*, ${all} as "All" from (select ${lookups} from ${rows} offset 0) as b)`,
    sql`${WRITTEN} (${writtenNames(entity)}) as (${effect})`,
    ...(isOnce ? [sql`"Kept" as (insert into idempotency_key (id, request, answer) ${answer})`] : []),
  ]
  const piece = sql`with ${join(steps, sql`, `)} select * from ${WRITTEN} order by "C1"`
  return toStatement(piece, [...paramsOf(operands), ...(isOnce ? [key, request] : []), asker]).text
}
