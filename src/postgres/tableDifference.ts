// Differences between a table and its declaration, as SQL that adds what is missing.
import type postgres from 'postgres'
import type { DeclaredColumn, DeclaredTable, Part, Quote, Step } from './declaredTable.ts'

/**
 * Compares a table with its declaration. Returns SQL in two lists: `first`, which other tables may need, and `last`, which needs
 * columns or constraints of other tables. Also returns remarks with advice about differences that the SQL does not remove.
 * `wanted`: the catalog's description of a table that is as declared.
 */
export function compareTable(declared: DeclaredTable, found: FoundTable, wanted: FoundTable, quote: Quote) {
  return new Comparison(declared, found, wanted, quote).result()
}

class Comparison {
  private readonly target: string
  private readonly remarks: string[] = []
  private readonly lacking: readonly DeclaredColumn[]
  /** Columns whose type or rules differ. No SQL is made for constraints and indexes on these columns. */
  private readonly changed: readonly string[]

  constructor(
    private readonly declared: DeclaredTable,
    private readonly found: FoundTable,
    private readonly wanted: FoundTable,
    private readonly quote: Quote,
  ) {
    const { table, columns } = declared
    this.target = quote(table)
    this.lacking = columns.filter(({ name }) => !found.columns.has(name))
    this.changed = columns.map(({ name }) => name).filter((name) => this.compareColumn(name))
  }

  /** Returns the difference. Call it only once, because a second call would add the remarks again. */
  result() {
    const { table, constraints, foreignKeys } = this.declared
    const lacking = [...constraints, ...foreignKeys].filter((part) => this.lacksConstraint(part))
    this.nameUndeclaredColumns()
    this.nameUndeclaredConstraints()
    this.nameUnusedIndexes()
    const first = [...this.columns('plain', 'made'), ...this.added(lacking, false)]
    const last = [...this.columns('key', 'made of key'), ...this.added(lacking, true), ...this.indexes()]
    return { table, remarks: this.remarks, first, last }
  }

  private indexes(): string[] {
    const there = new Set(this.found.indexes.values())
    const isLacking = (part: Part) => !there.has(this.wanted.indexes.get(part.name) as string) && !this.isOnChanged(part)
    return indexTexts(this.declared.table, this.declared.indexes.filter(isLacking), this.quote)
  }

  private columns(...steps: Step[]): string[] {
    return steps.flatMap((step) =>
      this.lacking.filter((column) => column.step === step).flatMap((column) => this.addedColumn(column)),
    )
  }

  private addedColumn({ name, text, filledBy }: DeclaredColumn): string[] {
    if (text.endsWith(' not null'))
      this.remarks.push(
        `${this.declared.table}.${name} is required: if the table has rows, change the file, so that it adds the column without "not null", sets its values, and then sets "not null".`,
      )
    if (text.includes(' generated always as ('))
      this.remarks.push(
        `${this.declared.table}.${name} is made of others: adding it rewrites the table, and requests for its rows wait or get 503 until then.`,
      )
    const add = alterText(this.target, `add column ${this.quote(name)} ${text}`)
    if (!filledBy || !this.found.columns.has(filledBy.reference)) return [add]
    const { reference, table: source, column } = filledBy
    const other = `${source}_${reference}`
    return [
      add,
      `update ${this.target} set ${name} = ${other}.${column} from ${this.quote(source)} as ${other}\n  where ${other}.id = ${this.target}.${this.quote(reference)};`,
    ]
  }

  /**
   * Returns SQL that adds some of the constraints. `isLate`: true for constraints that need another table, directly or by one of
   * their columns; false for constraints that need no other table.
   */
  private added(constraints: readonly Part[], isLate: boolean): string[] {
    const late = this.lacking.filter(({ step }) => step === 'key' || step === 'made of key')
    return constraints
      .filter((part) => isLate === ('table' in part || late.some(({ name }) => part.columns.includes(name))))
      .map((part) => alterText(this.target, `add ${constraintText(part)}`))
  }

  private isOnChanged({ columns }: Part): boolean {
    return columns.some((column) => this.changed.includes(column))
  }

  /** Adds a remark for each difference of a column. Returns whether there is a difference. */
  private compareColumn(name: string): boolean {
    const is = this.found.columns.get(name)
    const should = this.wanted.columns.get(name)
    if (!is || !should) return false
    const aspects = (Object.keys(ASPECTS) as (keyof typeof ASPECTS)[]).filter((aspect) => is[aspect] !== should[aspect])
    for (const aspect of aspects)
      this.remarks.push(
        `${this.declared.table}.${name}: ${ASPECTS[aspect]} is ${is[aspect] ?? 'none'} in the database and ${should[aspect] ?? 'none'} in the entity; change the column by hand.`,
      )
    return aspects.length > 0
  }

  /**
   * Returns whether the table lacks the constraint: no constraint of the table has its name or its rule. If a constraint has its
   * name but another rule, returns false and adds a remark.
   */
  private lacksConstraint(part: Part): boolean {
    const is = this.found.constraints.get(part.name)
    const should = this.wanted.constraints.get(part.name)
    if (is === should || this.isOnChanged(part)) return false
    if (is === undefined) return ![...this.found.constraints.values()].includes(should as string)
    this.byHand(`the constraint ${part.name} is not as declared`, `drop constraint ${part.name}, add ${constraintText(part)}`)
    return false
  }

  private nameUndeclaredColumns(): void {
    for (const name of this.found.columns.keys())
      if (!this.wanted.columns.has(name))
        this.remarks.push(
          `${this.declared.table}.${name}: no property has this column. By hand: if a property was renamed, rename the column; if new rows cannot have a value, drop its "not null".`,
        )
  }

  private nameUndeclaredConstraints(): void {
    const absent = [...this.wanted.constraints].filter(([name]) => !this.found.constraints.has(name))
    for (const [name, definition] of this.found.constraints) {
      if (this.wanted.constraints.has(name)) continue
      const same = absent.find(([, text]) => text === definition)?.[0]
      const action = same ? `rename constraint ${this.quote(name)} to ${same}` : `drop constraint ${this.quote(name)}`
      this.byHand(`no entity declares the constraint ${name}`, action)
    }
  }

  private nameUnusedIndexes(): void {
    const needed = new Set(this.wanted.indexes.values())
    for (const [name, definition] of this.found.indexes)
      if (!needed.has(definition)) this.remarks.push(`${this.declared.table}: no list needs the index ${name}.`)
  }

  private byHand(what: string, action: string): void {
    this.remarks.push(`${this.declared.table}: ${what}. By hand: ${alterText(this.target, action)}`)
  }
}

/**
 * Aspects of a column, with their names in remarks. In the catalog an aspect is null if the column has no collation, no default,
 * or no expression.
 */
const ASPECTS = {
  type: 'the type',
  collation: 'the collation',
  identity: 'identity',
  made: 'the expression',
  required: 'not null',
  fallback: 'the default',
} as const

/** Returns the SQL of a table's indexes; an empty array if it has none. */
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

/** A table as the catalog describes it: columns, constraints and indexes by name. `isRecorded`: triggers record its changes. */
export type FoundTable = Awaited<ReturnType<typeof readParts>> & { readonly isRecorded: boolean }

/** Reads tables of the first schema of the search path. Skips tables that do not exist. */
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

/**
 * Reads the columns of a table, and the definitions of its constraints and of indexes without a constraint, such as `(name, id)`;
 * all by name.
 */
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
