// Tables as entities declare them: columns, constraints and indexes as SQL.
import { copiedProperties, referredFirst } from '../model/copies.ts'
import { type Entity, keyColumnOf, type Property, type Reference } from '../model/entity.ts'

/** A column, constraint or index: its name and its definition in SQL. */
export interface Part {
  readonly name: string
  readonly text: string
}

export interface ColumnPart extends Part {
  readonly columns: readonly string[]
}

export interface DeclaredColumn extends Part {
  /** Order in which missing columns are added: a column needs only columns of steps before its own. */
  readonly step: Step
  /** Source of a copy's values in rows that refer to others already. */
  readonly filledBy?: { readonly reference: string; readonly table: string; readonly column: string }
}

export interface ForeignKey extends ColumnPart {
  readonly table: string
}

export interface DeclaredTable {
  readonly table: string
  readonly columns: readonly DeclaredColumn[]
  readonly constraints: readonly ColumnPart[]
  readonly foreignKeys: readonly ForeignKey[]
  readonly indexes: readonly ColumnPart[]
}

/** `key` and `made of key` need another table. */
export type Step = 'plain' | 'made' | 'key' | 'made of key'

/** A name as SQL needs it: with quotes where it is a word of the language. */
export type Quote = (name: string) => string

/** The tables of entities, each behind those that it refers to, where that can be. `prefix`: of names but those of columns. */
export function declaredTables(entities: readonly Entity[], quote: Quote, prefix = ''): DeclaredTable[] {
  return referredFirst(entities).map((entity) => new Declaration(entity, entities, quote, prefix).table())
}

const IDENTITY = 'bigint generated always as identity (maxvalue 9007199254740991)'

class Declaration {
  private readonly id: string
  private readonly name: string

  constructor(
    private readonly entity: Entity,
    private readonly entities: readonly Entity[],
    private readonly quote: Quote,
    private readonly prefix: string,
  ) {
    this.id = entity.id.column
    this.name = prefix + entity.table
  }

  table(): DeclaredTable {
    const { prefix, name: table } = this
    const { properties, rules } = this.entity
    const sources = copiedProperties(this.entity, this.entities)
    return {
      table,
      columns: [
        ...properties.map((property) => this.column(property)),
        ...properties.flatMap(({ column, reference }) => (reference?.copy ? [keyColumn(column, reference)] : [])),
        ...sources.map((property) => this.sourceColumn(property)),
      ],
      constraints: [
        part(`${table}_pk`, `primary key (${this.id})`, this.id),
        ...sources.map(({ column }) => {
          const copy = keyColumnOf(column)
          return part(`${table}_${column}_copied`, `unique (${this.id}, ${this.quote(copy)})`, copy)
        }),
        ...properties.flatMap(({ column, unique }) =>
          unique === null ? [] : [part(prefix + unique, `unique (${this.quote(column)})`, column)],
        ),
        ...rules.map(({ constraint, later, earlier }) => {
          const rule = `check (${this.quote(later.column)} >= ${this.quote(earlier.column)})`
          return part(prefix + constraint, rule, later.column, earlier.column)
        }),
        ...properties.flatMap((property) => this.checks(property)),
      ],
      foreignKeys: properties.flatMap(({ column, reference }) => (reference ? [this.foreignKey(column, reference)] : [])),
      indexes: properties
        .filter((property) => property.indexed && property !== this.entity.id)
        .map(({ column }) => part(`${table}_${column}_sorted`, `(${this.quote(column)}, ${this.id})`, column)),
    }
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

  /** Column that other rows copy from this one: a text that is never null, because foreign keys do not compare nulls. */
  private sourceColumn(property: Property): DeclaredColumn {
    return this.made(keyColumnOf(property.column), 'text not null', `coalesce('=' || ${this.value(property)}, '')`, property)
  }

  private made(name: string, type: string, value: string, property: Property): DeclaredColumn {
    const step = this.isCopied(property) ? 'made of key' : 'made'
    return { name, text: `${type} generated always as (${value}) stored`, step }
  }

  /** Returns whether it is a copy, or made of one. */
  private isCopied(property: Property): boolean {
    const { writable, computedFrom } = property
    if (writable || property === this.entity.id) return false
    if (computedFrom.length === 0) return true
    return this.entity.properties.some((other) => computedFrom.includes(other.column) && this.isCopied(other))
  }

  /** The property's value in expressions, which may not name a column that is itself made by one. */
  private value(property: Property): string {
    const { column, computedFrom, computedBy, writable } = property
    if (writable || property === this.entity.id) return this.quote(column)
    if (computedFrom.length === 0) return `substr(nullif(${keyColumnOf(column)}, ''), 2)`
    return computedBy ?? this.joined(computedFrom)
  }

  /** The values of the columns that have one, with a space between. */
  private joined(columns: readonly string[]): string {
    const parts = columns.map((column) => {
      const of = this.entity.properties.find((property) => property.column === column)
      const value = !of || of.writable ? this.quote(column) : `(${this.value(of)})`
      return `coalesce(' ' || nullif(${value}${of?.kind.columnType === 'text' ? '' : '::text'}, ''), '')`
    })
    return `nullif(substr(${parts.join(' || ')}, 2), '')`
  }

  private checks({ column, kind, reference }: Property): ColumnPart[] {
    const { name: table } = this
    const own = this.quote(column)
    if (reference?.copy) {
      const { keyColumn } = reference.copy
      return [part(`${table}_${column}_found`, `check ((${own} is null) = (${keyColumn} is null))`, column, keyColumn)]
    }
    if (kind.values) {
      const values = kind.values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ')
      return [part(`${table}_${column}_known`, `check (${own} in (${values}))`, column)]
    }
    if (!kind.range) return []
    const { min, max } = kind.range
    return [part(`${table}_${column}_range`, `check (${own} between ${min} and ${max})`, column)]
  }

  private foreignKey(column: string, { table: named, copy }: Reference): ForeignKey {
    const own = this.quote(column)
    const table = this.prefix + named
    if (!copy) {
      const text = `foreign key (${own}) references ${this.quote(table)} (id)`
      return { ...part(`${this.name}_${column}_found`, text, column), table }
    }
    const { keyColumn, sourceColumn } = copy
    const text = `foreign key (${own}, ${keyColumn})\n    references ${this.quote(table)} (id, ${sourceColumn}) on update cascade`
    return { ...part(`${this.name}_${column}_current`, text, column, keyColumn), table }
  }
}

function part(name: string, text: string, ...columns: string[]): ColumnPart {
  return { name, text, columns }
}

function keyColumn(column: string, { table, copy }: Reference): DeclaredColumn {
  const { keyColumn, sourceColumn } = copy as NonNullable<Reference['copy']>
  return { name: keyColumn, text: 'text', step: 'key', filledBy: { reference: column, table, column: sourceColumn } }
}

/** As people write it: `timestamptz(0)`, `numeric(12, 2)`; texts in the order of the Unicode root collation. */
function typeOf({ kind }: Property): string {
  if (kind.columnType === 'text') return 'text collate "und-x-icu"'
  return kind.columnType.replace('timestamp(0) with time zone', 'timestamptz(0)').replace(',', ', ')
}
