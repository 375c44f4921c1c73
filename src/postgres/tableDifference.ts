// Differences between a table and its declaration, as SQL that adds what is missing.
import type postgres from 'postgres'
import type { DeclaredColumn, DeclaredTable, Part, Quote, Step } from './declaredTable.ts'

/**
 * Compares a table with its declaration. Returns SQL in two parts: `first`, which other tables may need, and `last`, which needs
 * parts of others; and remarks: differences without SQL, with advice for the developer. `wanted`: the table as the catalog
 * describes it when it is as declared.
 */
export function compareTable(declared: DeclaredTable, found: FoundTable, wanted: FoundTable, quote: Quote) {
  const { table } = declared
  const target = quote(table)
  const remarks: string[] = []
  const lacking = declared.columns.filter(({ name }) => !found.columns.has(name))
  /** Columns whose type or rules differ; no SQL is made that depends on them. */
  const changed = declared.columns.map(({ name }) => name).filter(compareColumn)
  const constraints = [...declared.constraints, ...declared.foreignKeys].filter(lacksConstraint)
  nameUndeclared()
  const first = [...columns('plain', 'made'), ...added(false)]
  return { table, remarks, first, last: [...columns('key', 'made of key'), ...added(true), ...indexes()] }

  function indexes(): string[] {
    const there = new Set(found.indexes.values())
    const isLacking = (part: Part) => !there.has(wanted.indexes.get(part.name) as string) && !isOnChanged(part)
    return indexTexts(table, declared.indexes.filter(isLacking), quote)
  }

  function columns(...steps: Step[]): string[] {
    return steps.flatMap((step) => lacking.filter((column) => column.step === step).flatMap((column) => addedColumn(column)))
  }

  function addedColumn({ name, text, filledBy }: DeclaredColumn): string[] {
    if (text.endsWith(' not null'))
      remarks.push(
        `${table}.${name} is required: if the table has rows, change the file, so that it adds the column without "not null", sets its values, and then sets "not null".`,
      )
    if (text.includes(' generated always as ('))
      remarks.push(
        `${table}.${name} is made of others: adding it rewrites the table, and requests for its rows wait or get 503 until then.`,
      )
    const add = alterText(target, `add column ${quote(name)} ${text}`)
    if (!filledBy || !found.columns.has(filledBy.reference)) return [add]
    const { reference, table: source, column } = filledBy
    const other = `${source}_${reference}`
    return [
      add,
      `update ${target} set ${name} = ${other}.${column} from ${quote(source)} as ${other}\n  where ${other}.id = ${target}.${quote(reference)};`,
    ]
  }

  /** Columns to add. `isLate`: those that need another table, or a column that does. */
  function added(isLate: boolean): string[] {
    const late = lacking.filter(({ step }) => step === 'key' || step === 'made of key')
    return constraints
      .filter((part) => isLate === ('table' in part || late.some(({ name }) => part.columns.includes(name))))
      .map((part) => alterText(target, `add ${constraintText(part)}`))
  }

  function isOnChanged({ columns }: Part): boolean {
    return columns.some((column) => changed.includes(column))
  }

  /** Adds a remark for each difference of a column. True if there is any. */
  function compareColumn(name: string): boolean {
    const [is, should] = [found.columns.get(name), wanted.columns.get(name)]
    if (!is || !should) return false
    const aspects = (Object.keys(ASPECTS) as (keyof typeof ASPECTS)[]).filter((aspect) => is[aspect] !== should[aspect])
    for (const aspect of aspects)
      remarks.push(
        `${table}.${name}: ${ASPECTS[aspect]} is ${is[aspect] ?? 'none'} in the database and ${should[aspect] ?? 'none'} in the entity; change the column by hand.`,
      )
    return aspects.length > 0
  }

  /** True if no constraint has the same rule; its name does not count. */
  function lacksConstraint(part: Part): boolean {
    const [is, should] = [found.constraints.get(part.name), wanted.constraints.get(part.name)]
    if (is === should || isOnChanged(part)) return false
    if (is === undefined) return ![...found.constraints.values()].includes(should as string)
    byHand(`the constraint ${part.name} is not as declared`, `drop constraint ${part.name}, add ${constraintText(part)}`)
    return false
  }

  function nameUndeclared() {
    for (const name of found.columns.keys())
      if (!wanted.columns.has(name))
        remarks.push(
          `${table}.${name}: no property has this column. By hand: if a property was renamed, rename the column; if new rows cannot have a value, drop its "not null".`,
        )
    const absent = [...wanted.constraints].filter(([name]) => !found.constraints.has(name))
    for (const [name, definition] of found.constraints) {
      if (wanted.constraints.has(name)) continue
      const same = absent.find(([, text]) => text === definition)?.[0]
      const action = same ? `rename constraint ${quote(name)} to ${same}` : `drop constraint ${quote(name)}`
      byHand(`no entity declares the constraint ${name}`, action)
    }
    const needed = new Set(wanted.indexes.values())
    for (const [name, definition] of found.indexes)
      if (!needed.has(definition)) remarks.push(`${table}: no list needs the index ${name}.`)
  }

  function byHand(what: string, action: string) {
    remarks.push(`${table}: ${what}. By hand: ${alterText(target, action)}`)
  }
}

/** Aspects of a column; the catalog has null for no identity, and for no expression of a default or generated column. */
const ASPECTS = {
  type: 'the type',
  collation: 'the collation',
  identity: 'identity',
  made: 'the expression',
  required: 'not null',
  fallback: 'the default',
} as const

/** Returns the SQL of a table's indexes, if it has any. */
export function indexTexts(table: string, indexes: readonly Part[], quote: Quote): string[] {
  const texts = indexes.map(({ name, text }) => `create index ${name} on ${quote(table)} ${text};`)
  return texts.length === 0 ? [] : [texts.join('\n')]
}

export function constraintText({ name, text }: Part): string {
  return `constraint ${name} ${text}`
}

export function alterText(table: string, action: string): string {
  return `alter table ${table} ${action};`
}

type FoundColumn = Readonly<Record<keyof typeof ASPECTS, string | boolean | null>>

/** A table in the catalog: its parts by name. `isRecorded`: triggers record its changes. */
export type FoundTable = Awaited<ReturnType<typeof readParts>> & { readonly isRecorded: boolean }

/** Reads tables of the first schema of the search path; skips missing tables. */
export async function readTables(sql: postgres.ISql, tables: readonly string[]): Promise<Map<string, FoundTable>> {
  const found = new Map<string, FoundTable>()
  for (const table of tables) {
    const [row] = await sql`
      select c.oid::int8::text as oid, is_recorded(c.oid::regclass) is true as recorded from pg_class c
      where c.relname = ${table} and c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace`
    if (row) found.set(table, { ...(await readParts(sql, row.oid)), isRecorded: row.recorded })
  }
  return found
}

/** Reads columns by name, and definitions of constraints and of other indexes: `(name, id)`. */
async function readParts(sql: postgres.ISql, oid: string) {
  const columns = await sql<(FoundColumn & { name: string })[]>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, c.collname as collation,
      a.attnotnull as required, a.attidentity <> '' as identity,
      case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end as fallback,
      case when a.attgenerated <> '' then pg_get_expr(d.adbin, d.adrelid) end as made
    from pg_attribute a
    left join pg_collation c on c.oid = a.attcollation
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${oid}::int8::oid and a.attnum > 0 and not a.attisdropped
    order by a.attnum`
  const constraints = await sql`
    select conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where conrelid = ${oid}::int8::oid and contype in ('p', 'u', 'c', 'f')
    order by conname`
  const indexes = await sql`
    select c.relname as name, substring(pg_get_indexdef(c.oid) from ' USING (.*)$') as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = ${oid}::int8::oid and i.indisvalid
      and not exists (select from pg_constraint where conindid = c.oid and conrelid = i.indrelid)
    order by c.relname`
  return {
    columns: new Map<string, FoundColumn>(columns.map((column) => [column.name, column])),
    constraints: new Map<string, string>(constraints.map(({ name, definition }) => [name, definition])),
    indexes: new Map<string, string>(indexes.map(({ name, definition }) => [name, definition])),
  }
}
