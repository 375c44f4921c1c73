// Tables that entities declare: their columns, constraints and indexes as SQL.
import { copiedProperties, referredFirst } from '../model/copies.ts'
import { type Entity, keyColumnOf, type Property, type Reference } from '../model/entity.ts'
import { DECIMAL_END } from '../model/kinds.ts'

/** A constraint or an index. `text`: its definition in SQL. `table`: the table that a foreign key refers to. */
export interface Part {
  readonly name: string
  readonly text: string
  readonly columns: readonly string[]
  readonly table?: string
}

export interface DeclaredColumn {
  readonly name: string
  readonly text: string
  /** Step in which the column is added if it is missing. A column depends only on columns of earlier steps. */
  readonly step: Step
  /**
   * Source of the column's values in existing rows: the column `column` of the row in `table` to which the property `reference`
   * refers.
   */
  readonly filledBy?: { readonly reference: string; readonly table: string; readonly column: string }
}

export type DeclaredTable = ReturnType<Declaration['tableWith']>

/**
 * Steps in the order in which columns are added. Columns of the steps `made` and `made of key` are generated. Columns of the
 * steps `key` and `made of key` need another table.
 */
export type Step = 'plain' | 'made' | 'key' | 'made of key'

/** Returns a name for SQL, with quotes if it is a reserved word. */
export type Quote = (name: string) => string

/** Returns the tables of entities, referenced tables first if possible. `prefix`: prefix of all names except those of columns. */
export function declaredTables(entities: readonly Entity[], quote: Quote, prefix = ''): DeclaredTable[] {
  return referredFirst(entities).map((entity) => {
    const sources = copiedProperties(entity, entities)
    return new Declaration(entity, quote, prefix).tableWith(sources)
  })
}

/**
 * Requires that all tables and indexes have different names, because PostgreSQL would refuse a repeated name. @throws Error that
 * names both tables
 */
export function requireOwnNames(tables: readonly DeclaredTable[]): void {
  const seen = new Map<string, string>()
  for (const { table, constraints, indexes } of tables) {
    const withIndex = constraints.filter(({ text }) => /^(?:primary key|unique) /.test(text))
    for (const name of [table, ...[...withIndex, ...indexes].map(({ name }) => name)]) {
      if (seen.has(name)) throw new Error(`${seen.get(name)} and ${table} would both have the index ${name}: rename a property`)
      seen.set(name, table)
    }
  }
}

const IDENTITY = 'bigint generated always as identity (maxvalue 9007199254740991)'

/** Makes the SQL of one entity's table. `prefix`: prefix of all names except those of columns. */
class Declaration {
  private readonly id: string
  private readonly table: string

  constructor(
    private readonly entity: Entity,
    private readonly quote: Quote,
    private readonly prefix: string,
  ) {
    this.id = entity.id.column
    this.table = prefix + entity.table
  }

  /**
   * Returns the table's columns, constraints, foreign keys and indexes. `sources`: properties of this table that other tables
   * copy.
   */
  tableWith(sources: readonly Property[]) {
    const { id, table, quote } = this
    const { properties } = this.entity
    return {
      table,
      columns: this.columns(sources),
      constraints: this.constraints(sources),
      foreignKeys: properties.flatMap(({ column, reference }) => (reference ? [this.foreignKey(column, reference)] : [])),
      indexes: properties
        .filter((property) => property.indexed && property !== this.entity.id)
        .map(({ column }) => part(`${table}_${column}_sorted`, `(${quote(column)}, ${id})`, column)),
    }
  }

  private columns(sources: readonly Property[]): DeclaredColumn[] {
    const { properties } = this.entity
    return [
      ...properties.map((property) => this.column(property)),
      ...properties.flatMap(({ column, reference }) => (reference?.copy ? [keyColumn(column, reference)] : [])),
      ...sources.map((property) => this.sourceColumn(property)),
    ]
  }

  private constraints(sources: readonly Property[]): Part[] {
    const { id, table, quote, prefix } = this
    const { properties, rules } = this.entity
    return [
      part(`${table}_pk`, `primary key (${id})`, id),
      ...sources.map(({ column }) => {
        const copy = keyColumnOf(column)
        return part(`${table}_${column}_copied`, `unique (${id}, ${quote(copy)})`, copy)
      }),
      ...properties.flatMap(({ column, unique }) =>
        unique === null ? [] : [part(prefix + unique, `unique (${quote(column)})`, column)],
      ),
      ...rules.map(({ constraint, later, earlier }) => {
        const rule = `check (${quote(later.column)} >= ${quote(earlier.column)})`
        return part(prefix + constraint, rule, later.column, earlier.column)
      }),
      ...properties.flatMap((property) => this.checks(property)),
    ]
  }

  private column(property: Property): DeclaredColumn {
    const { column, kind, required, writable } = property
    if (property === this.entity.id) return { name: column, text: IDENTITY, step: 'plain' }
    const type = typeOf(property)
    if (writable) {
      const fallback = kind.default === null ? '' : ` default ${kind.default}`
      return { name: column, text: `${type}${required || !kind.nullable ? ' not null' : ''}${fallback}`, step: 'plain' }
    }
    return this.made(column, type, this.value(property), property)
  }

  /**
   * Returns the generated column from which referring rows copy the property. Their foreign key refers to the id and to this
   * column. PostgreSQL does not check a foreign key that has a null, so this column is never null: it has '' for a null of the
   * property, and `=` before each value.
   */
  private sourceColumn(property: Property): DeclaredColumn {
    return this.made(keyColumnOf(property.column), 'text not null', `coalesce('=' || ${this.value(property)}, '')`, property)
  }

  private made(name: string, type: string, value: string, property: Property): DeclaredColumn {
    const step = this.isCopied(property) ? 'made of key' : 'made'
    return { name, text: `${type} generated always as (${value}) stored`, step }
  }

  /** Returns whether the property is a copy, or is computed from a copy. */
  private isCopied(property: Property): boolean {
    const { writable, computedFrom } = property
    if (writable || property === this.entity.id) return false
    if (computedFrom.length === 0) return true
    return this.entity.properties.some((other) => computedFrom.includes(other.column) && this.isCopied(other))
  }

  /**
   * Returns the value of a property as an SQL expression for a generated column. The expression refers to no generated columns,
   * because PostgreSQL would refuse such a reference.
   */
  private value(property: Property): string {
    const { column, computedFrom, computedBy, writable } = property
    if (writable || property === this.entity.id) return this.quote(column)
    if (computedFrom.length === 0) return `substr(nullif(${keyColumnOf(column)}, ''), 2)`
    return computedBy ?? this.joined(computedFrom)
  }

  /** Returns an expression that joins the values that are not null, with a space between them. */
  private joined(columns: readonly string[]): string {
    const parts = columns.map((column) => {
      const of = this.entity.properties.find((property) => property.column === column)
      const one = !of || of.writable ? this.quote(column) : `(${this.value(of)})`
      return `coalesce(' ' || nullif(${one}${of?.kind.isText ? '' : '::text'}, ''), '')`
    })
    return `nullif(substr(${parts.join(' || ')}, 2), '')`
  }

  private checks({ column, kind, reference }: Property): Part[] {
    const own = this.quote(column)
    if (reference?.copy) {
      const { keyColumn } = reference.copy
      return [part(`${this.table}_${column}_found`, `check ((${own} is null) = (${keyColumn} is null))`, column, keyColumn)]
    }
    if (kind.values) {
      const values = kind.values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ')
      return [part(`${this.table}_${column}_known`, `check (${own} in (${values}))`, column)]
    }
    if (!kind.range) return []
    const { min, max } = kind.range
    // If a decimal property declares no maximum, only the digits of the column's type limit its values.
    const range = max === DECIMAL_END ? `>= ${min}` : `between ${min} and ${max}`
    return [part(`${this.table}_${column}_range`, `check (${own} ${range})`, column)]
  }

  private foreignKey(column: string, { table: named, copy }: Reference): Part {
    const own = this.quote(column)
    const other = this.prefix + named
    if (!copy) {
      const text = `foreign key (${own}) references ${this.quote(other)} (id)`
      return { ...part(`${this.table}_${column}_found`, text, column), table: other }
    }
    const { keyColumn, sourceColumn } = copy
    const text = `foreign key (${own}, ${keyColumn})\n    references ${this.quote(other)} (id, ${sourceColumn}) on update cascade`
    return { ...part(`${this.table}_${column}_current`, text, column, keyColumn), table: other }
  }
}

function part(name: string, text: string, ...columns: string[]): Part {
  return { name, text, columns }
}

function keyColumn(column: string, { table, copy }: Reference): DeclaredColumn {
  const { keyColumn, sourceColumn } = copy as NonNullable<Reference['copy']>
  return { name: keyColumn, text: 'text', step: 'key', filledBy: { reference: column, table, column: sourceColumn } }
}

/** Returns the type as people write it, such as `timestamptz(0)` or `numeric(12, 2)`. Texts have the Unicode root collation. */
function typeOf({ kind }: Property): string {
  if (kind.isText) return 'text collate "und-x-icu"'
  return kind.columnType.replace('timestamp(0) with time zone', 'timestamptz(0)').replace(',', ', ')
}
