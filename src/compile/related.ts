// Values of related properties in SQL: as columns of a page's rows, or as joins of a summary. D91
import type { Property, RelatedPath } from '../model/entity.ts'
import { integer, join, name, type Param, type Sql, sql } from '../model/sql.ts'
import { matching, rowsOf } from './matching.ts'
import { valuesOf, valuesOfPaths, where } from './parts.ts'

/**
 * Selects the value of each related property for rows of `table`, as "V1" and so on. `operands`: parameters for `valuesOfPaths`.
 * PostgreSQL looks up one row by its id for each value, so this is meant for few rows: a page, or a batch of a stream.
 */
export function relatedColumns(properties: readonly Property[], table: Sql, operands: readonly Param[]): Sql {
  let next = 0
  const columns = properties.map((property, index) => {
    const own = operands.slice(next, (next += valuesOfPaths([property]).length))
    return sql`, ${relatedValue(property.related as RelatedPath, table, 1, own)} as "V${integer(index + 1)}"`
  })
  return join(columns, sql``)
}

function relatedValue({ reference, view, property }: RelatedPath, table: Sql, depth: number, operands: readonly Param[]): Sql {
  const ofView = valuesOf(view.filters).length
  const row = sql`"R${integer(depth)}"`
  const { from, conditions } = matching(view.whole, view.filters, operands.slice(0, ofView), row)
  const value = property.related
    ? relatedValue(property.related, row, depth + 1, operands.slice(ofView))
    : sql`${row}.${name(property.column)}`
  const found = where([sql`${row}.id = ${table}.${name(reference.column)}`, ...conditions])
  return sql`(select ${value} from ${from}${found})`
}

/**
 * A joined table: the rows that a reference names. `from`: the joined table that has the reference; null: the entity's table has
 * it.
 */
interface Join {
  /** Path of references from the entity's rows to this table, such as `.EmployeeId.CompanyId`. */
  readonly key: string
  readonly path: RelatedPath
  readonly from: Join | null
}

/** Joins of an entity's rows with the rows to which the paths of properties lead. */
export class RelatedJoins {
  private readonly joins: Join[] = []

  constructor(properties: readonly Property[]) {
    for (const { related } of properties) if (related) this.add(related, null)
  }

  get isEmpty(): boolean {
    return this.joins.length === 0
  }

  /** Values in the conditions on the joined rows, in the order of their operands. */
  get values(): string[] {
    return this.joins.flatMap(({ path }) => valuesOf(path.view.filters))
  }

  /** Compiles the joins, which come after rows with the alias "T". */
  compile(operands: readonly Param[]): Sql {
    let next = 0
    const joins = this.joins.map((one) => {
      const { reference, view } = one.path
      const own = operands.slice(next, (next += valuesOf(view.filters).length))
      const rows = sql`(select ${name(view.table)}.* from ${rowsOf(matching(view.whole, view.filters, own))})`
      const table = this.nameOf(one)
      return sql` left join ${rows} as ${table} on ${table}.id = ${this.nameOf(one.from)}.${name(reference.column)}`
    })
    return join(joins, sql``)
  }

  /** Returns the column of a property, in the entity's rows or in a joined table. */
  columnOf(property: Property): Sql {
    let from: Join | null = null
    let last = property
    for (; last.related; last = last.related.property) from = this.add(last.related, from)
    return sql`${this.nameOf(from)}.${name(last.column)}`
  }

  private add(path: RelatedPath, from: Join | null): Join {
    const key = `${from?.key ?? ''}.${path.reference.name}`
    const known = this.joins.find((one) => one.key === key)
    const own = known ?? { key, path, from }
    if (!known) this.joins.push(own)
    if (path.property.related) this.add(path.property.related, own)
    return own
  }

  private nameOf(joined: Join | null): Sql {
    return joined === null ? sql`"T"` : sql`"R${integer(1 + this.joins.indexOf(joined))}"`
  }
}
