// Tables as the catalog has them, and how they differ from their declarations, as SQL that adds what is missing.
import type postgres from 'postgres'
import type { ColumnPart, DeclaredColumn, DeclaredTable, Part, Quote, Step } from './declaredTable.ts'

/** The difference between a table of the database and its declaration: SQL that adds what is missing, and remarks on the rest. */
export class TableDifference {
  /** Differences for which no SQL is written, each with what the developer has to do. */
  readonly remarks: string[] = []
  readonly table: string
  /** Adds what other tables may refer to. */
  readonly first: readonly string[]
  /** Adds the rest, once the other tables have what this one refers to. */
  readonly last: readonly string[]
  private readonly name: string
  private readonly lacking: readonly DeclaredColumn[]
  private readonly constraints: readonly ColumnPart[]
  /** Columns of another type or rule than declared: nothing is built on them. */
  private readonly changed: readonly string[]

  /** `wanted`: what the catalog says of the table where it is as declared. */
  constructor(
    private readonly declared: DeclaredTable,
    private readonly found: FoundTable,
    private readonly wanted: FoundTable,
    private readonly quote: Quote,
  ) {
    this.table = declared.table
    this.name = quote(declared.table)
    this.lacking = declared.columns.filter(({ name }) => !found.columns.has(name))
    this.changed = declared.columns.map(({ name }) => name).filter((name) => this.compareColumn(name))
    this.constraints = [...declared.constraints, ...declared.foreignKeys].filter((part) => this.lacksConstraint(part))
    this.nameUndeclared()
    this.first = [...this.columns('plain', 'made'), ...this.added(false)]
    this.last = [...this.columns('key', 'made of key'), ...this.added(true), ...this.indexes()]
  }

  private indexes(): string[] {
    const there = new Set(this.found.indexes.values())
    const isLacking = (part: ColumnPart) => !there.has(this.wanted.indexes.get(part.name) as string) && !this.isOnChanged(part)
    return indexTexts(this.table, this.declared.indexes.filter(isLacking), this.quote)
  }

  private columns(...steps: Step[]): string[] {
    return steps.flatMap((step) =>
      this.lacking.filter((column) => column.step === step).flatMap((column) => this.addedColumn(column)),
    )
  }

  private addedColumn({ name, text, filledBy }: DeclaredColumn): string[] {
    if (text.endsWith(' not null'))
      this.remarks.push(
        `${this.table}.${name} is required: if the table has rows, change the file, so that it adds the column without "not null", sets its values, and then sets "not null".`,
      )
    const add = alterText(this.name, `add column ${this.quote(name)} ${text}`)
    if (!filledBy || !this.found.columns.has(filledBy.reference)) return [add]
    const { reference, table, column } = filledBy
    const other = `${table}_${reference}`
    return [
      add,
      `update ${this.name} set ${name} = ${other}.${column} from ${this.quote(table)} as ${other}\n  where ${other}.id = ${this.name}.${this.quote(reference)};`,
    ]
  }

  /** `isLate`: those that need another table, or a column that does. */
  private added(isLate: boolean): string[] {
    const late = this.lacking.filter(({ step }) => step === 'key' || step === 'made of key')
    return this.constraints
      .filter((part) => isLate === ('table' in part || late.some(({ name }) => part.columns.includes(name))))
      .map((part) => alterText(this.name, `add ${constraintText(part)}`))
  }

  private isOnChanged({ columns }: ColumnPart): boolean {
    return columns.some((column) => this.changed.includes(column))
  }

  /** Names in what a column differs. Returns whether it does. */
  private compareColumn(name: string): boolean {
    const [is, should] = [this.found.columns.get(name), this.wanted.columns.get(name)]
    if (!is || !should) return false
    const aspects = (Object.keys(ASPECTS) as (keyof typeof ASPECTS)[]).filter((aspect) => is[aspect] !== should[aspect])
    for (const aspect of aspects)
      this.remarks.push(
        `${this.table}.${name}: ${ASPECTS[aspect]} is ${is[aspect] ?? 'none'} in the database and ${should[aspect] ?? 'none'} in the entity; change the column by hand.`,
      )
    return aspects.length > 0
  }

  /** A constraint with the same rule by another name is not added a second time. */
  private lacksConstraint(part: ColumnPart): boolean {
    const [is, should] = [this.found.constraints.get(part.name), this.wanted.constraints.get(part.name)]
    if (is === should || this.isOnChanged(part)) return false
    if (is === undefined) return ![...this.found.constraints.values()].includes(should as string)
    this.byHand(`the constraint ${part.name} is not as declared`, `drop constraint ${part.name}, add ${constraintText(part)}`)
    return false
  }

  private nameUndeclared() {
    for (const name of this.found.columns.keys())
      if (!this.wanted.columns.has(name))
        this.remarks.push(
          `${this.table}.${name}: no property has this column. By hand: if a property was renamed, rename the column; if new rows cannot have a value, drop its "not null".`,
        )
    const lacking = [...this.wanted.constraints].filter(([name]) => !this.found.constraints.has(name))
    for (const [name, definition] of this.found.constraints) {
      if (this.wanted.constraints.has(name)) continue
      const same = lacking.find(([, text]) => text === definition)?.[0]
      const action = same ? `rename constraint ${this.quote(name)} to ${same}` : `drop constraint ${this.quote(name)}`
      this.byHand(`no entity declares the constraint ${name}`, action)
    }
    const wanted = new Set(this.wanted.indexes.values())
    for (const [name, definition] of this.found.indexes)
      if (!wanted.has(definition)) this.remarks.push(`${this.table}: no list needs the index ${name}.`)
  }

  private byHand(what: string, action: string) {
    this.remarks.push(`${this.table}: ${what}. By hand: ${alterText(this.name, action)}`)
  }
}

/** Aspects of a column, of which the catalog has null for none: identity, or the expression of a default, or a generated one. */
const ASPECTS = {
  type: 'the type',
  collation: 'the collation',
  identity: 'identity',
  made: 'the expression',
  required: 'not null',
  fallback: 'the default',
} as const

/** The indexes of a table as one text, if it has any. */
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

/** A table as the catalog has it: by names, what differs where tables differ. */
export interface FoundTable {
  readonly columns: ReadonlyMap<string, FoundColumn>
  /** Their definitions. */
  readonly constraints: ReadonlyMap<string, string>
  /** Definitions of indexes, with their conditions, except those of constraints: `(name, id)`. */
  readonly indexes: ReadonlyMap<string, string>
  /** True if it tells servers of its changes. */
  readonly isRecorded: boolean
}

/** Reads tables of the first schema of the search path; missing tables are left out. */
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

async function readParts(sql: postgres.ISql, oid: string): Promise<Omit<FoundTable, 'isRecorded'>> {
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
    columns: new Map(columns.map((column) => [column.name, { ...column }])),
    constraints: new Map(constraints.map(({ name, definition }) => [name, definition])),
    indexes: new Map(indexes.map(({ name, definition }) => [name, definition])),
  }
}
