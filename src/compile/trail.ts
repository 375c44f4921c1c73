import type { Entity, Property } from '../model/entity.ts'
import { integer, join, type Param, type Sql, sql, word } from '../model/sql.ts'

/** The line that a write leaves of each row that it has written. D57 */
export interface Trail {
  /** The id of the API key that asks for the write: a value of the statement, behind all others. */
  readonly key: string
  /** Whether the line has the values that differ. D58 */
  readonly hasValues: boolean
}

/** What the statement of a write does, which its lines name by the first letter. */
type Action = 'create' | 'update' | 'delete'

/** Rows that were written, as a query `rows` whose columns have the names of `imageNames`. */
interface Written {
  readonly entity: Entity
  readonly action: Action
  readonly rows: Sql
  /** The key's id, of each of these rows. */
  readonly key: Sql
  /** Those that may differ. */
  readonly properties: readonly Property[]
  readonly hasValues: boolean
}

/** What a write returns, under this name. */
const WRITTEN = sql`"W"`
/** Its run, in a batch. */
const RUN = sql`"N"`

/** The key that asked for run `run` of a batch; null: the statement is no batch. */
export function askerOf(asker: Param, run: Sql | null = RUN): Sql {
  return run === null ? sql`${asker}::text` : sql`(${asker}::text[])[${run}]`
}

/** What to call the first columns of what a write returns: the row as it is, or was, then as it was before an update. */
export function imageNames({ properties }: Entity, action: Action): Sql {
  const named = (prefix: Sql) => properties.map((_, index) => sql`"${prefix}${integer(index + 1)}"`)
  return join([...named(sql`C`), ...(action === 'update' ? named(sql`B`) : [])], sql`, `)
}

/** An effect, any statement that returns rows as `Written` has them, together with its lines; it returns the same rows. */
export function withTrail(effect: Sql, written: Omit<Written, 'rows'>): Sql {
  const names = imageNames(written.entity, written.action)
  const lines = linesOf({ ...written, rows: WRITTEN })
  return sql`with ${WRITTEN} (${names}) as (${effect}), "Trail" as (${lines}) select * from ${WRITTEN}`
}

/**
 * Inserts a line for each row: a query beside the one that has written the rows, in the same statement. The row is locked by
 * then, so lines of one row are numbered in the order of its writes. An update that changes nothing leaves none.
 */
export function linesOf({ entity, action, rows, key, properties, hasValues }: Written): Sql {
  const table = word(entity.table)
  const letter = word(action[0] as string)
  const head = sql`insert into entity_change (position, entity, id, action, key, changed, before, after)`
  // A new row has had no writes before, so its own transaction is enough. Else one position for all lines, once every row is
  // written and so locked, which the count waits for.
  const position =
    action === 'create'
      ? sql`(select pg_current_xact_id()::text::bigint)`
      : sql`(select change_position() from (select count(*) from ${rows}) as all_written)`
  const line = sql`select ${position}, ${table}, "C1", ${letter}, ${key}`
  const images = properties
    .filter((property) => property !== entity.id)
    .map((property) => imagesOf(entity, property, action))
  const all = (pick: (image: Images) => Sql) =>
    join(
      images.map((image) => pick(image)),
      sql`, `,
    )
  if (!hasValues && action !== 'update') return sql`${head} ${line}, '{}', null, null from ${rows}`
  if (images.length === 0) return sql`${head} ${line}, '{}', null, null from ${rows} where false`
  const differs = sql`row(${all(({ after }) => after)}) is distinct from row(${all(({ before }) => before)})`
  const met = action === 'update' ? sql` where ${differs}` : sql``
  if (!hasValues) {
    const names = all(({ name, before, after }) => sql`case when ${after} is distinct from ${before} then ${name} end`)
    return sql`${head} ${line}, array_remove(array[${names}], null), null, null from ${rows}${met}`
  }
  const values = sql`(values ${all(({ name, was, is }) => sql`(${name}, ${was}, ${is})`)}) as v (name, was, is_now)`
  const parts = sql`(select array_agg(name), array_agg(was), array_agg(is_now) from ${values} where was is distinct from is_now) as d (names, was, is_now)`
  return sql`${head} ${line}, coalesce(d.names, '{}'), coalesce(d.was, '{}'), coalesce(d.is_now, '{}') from ${rows} cross join lateral ${parts}${met}`
}

/** A property's value before and after, and both as texts. */
interface Images {
  readonly name: Sql
  readonly before: Sql
  readonly after: Sql
  readonly was: Sql
  readonly is: Sql
}

function imagesOf({ properties }: Entity, property: Property, action: Action): Images {
  const place = integer(properties.indexOf(property) + 1)
  const own = sql`"C${place}"`
  const [before, after] = { create: [NONE, own], update: [sql`"B${place}"`, own], delete: [own, NONE] }[action] as [
    Sql,
    Sql,
  ]
  // A cast writes booleans in another way than an answer has them.
  const text = (value: Sql) =>
    property.kind.name === 'boolean' ? sql`left((${value})::text, 1)` : sql`(${value})::text`
  return { name: word(property.name), before, after, was: text(before), is: text(after) }
}

const NONE = sql`null`

/** The properties that may differ once these were set: they, what is computed from them, and what their references copy. */
export function reachedBy({ properties }: Entity, changed: readonly Property[]): Property[] {
  const columns = new Set(changed.map(({ column }) => column))
  const copies = new Set(changed.map(({ reference }) => reference?.copy?.column))
  return properties.filter(
    ({ column, computedFrom }) =>
      columns.has(column) || copies.has(column) || computedFrom.some((source) => columns.has(source)),
  )
}
