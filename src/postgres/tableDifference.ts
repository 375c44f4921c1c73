import {
  type DeclaredColumn,
  type DeclaredTable,
  FIRST_STEPS,
  LAST_STEPS,
  type Part,
  type Quote,
} from './declaredTable.ts'
import type { FoundTable } from './tableCatalog.ts'

/** What a table that is there lacks, and what it has beyond or otherwise. */
export class TableDifference {
  private statements: string[] = []
  readonly remarks: string[] = []
  private readonly done = new Set<string>()
  private readonly released = new Set<string>()
  private readonly name: string
  private readonly lacking: readonly DeclaredColumn[]

  /** `wanted`: what the catalog says of the table where it is as it is declared. */
  constructor(
    private readonly declared: DeclaredTable,
    private readonly found: FoundTable,
    private readonly wanted: FoundTable,
    private readonly quote: Quote,
  ) {
    this.name = quote(declared.table)
    this.lacking = declared.columns.filter(({ name }) => !found.columns.has(name))
  }

  get table(): string {
    return this.declared.table
  }

  /** What needs no other table, and others may need. */
  first(): readonly string[] {
    this.statements = []
    for (const step of FIRST_STEPS) for (const column of this.lacking) if (column.step === step) this.add(column)
    const copied = this.lacking
      .filter(({ step }) => step === 'source')
      .map(({ name }) => name.replace(/key$/, 'copied'))
    for (const part of this.declared.constraints)
      if (copied.includes(part.name.slice(this.declared.table.length + 1))) this.constrain(part)
    return this.statements
  }

  /** All else, once the other tables have what they are to have first. */
  last(): readonly string[] {
    this.statements = []
    // What holds a reference without a copy has the name of what holds it with one, and may stand in the way of what is filled in.
    for (const { filledBy } of this.lacking)
      if (filledBy) this.release(`${this.declared.table}_${filledBy.reference}_found`)
    for (const step of LAST_STEPS) for (const column of this.lacking) if (column.step === step) this.add(column)
    for (const { name } of this.declared.columns) if (this.found.columns.has(name)) this.compare(name)
    for (const part of [...this.declared.constraints, ...this.declared.foreignKeys]) this.constrain(part)
    this.index()
    this.leave()
    return this.statements
  }

  private release(constraint: string) {
    if (!this.found.constraints.has(constraint)) return
    this.released.add(constraint)
    this.statements.push(alterText(this.name, `drop constraint ${constraint}`))
  }

  private add({ name, text, filledBy }: DeclaredColumn) {
    const isRequired = / not null$/.test(text)
    if (isRequired)
      this.statements.push(
        `-- Every row needs a value: where there are rows, give them one between these two statements.\n${alterText(this.name, `add column ${this.quote(name)} ${text.replace(/ not null$/, '')}`)}\n${alterText(this.name, `alter column ${this.quote(name)} set not null`)}`,
      )
    else this.statements.push(alterText(this.name, `add column ${this.quote(name)} ${text}`))
    if (filledBy && this.found.columns.has(filledBy.reference)) {
      const of = `${filledBy.table}_${filledBy.reference}`
      this.statements.push(
        `update ${this.name} set ${name} = ${of}.${filledBy.column} from ${this.quote(filledBy.table)} as ${of}\n  where ${of}.id = ${this.name}.${this.quote(filledBy.reference)};`,
      )
    }
  }

  private compare(name: string) {
    const [is, should] = [this.found.columns.get(name), this.wanted.columns.get(name)]
    if (!is || !should) return
    const own = this.quote(name)
    if (is.required !== should.required)
      this.statements.push(alterText(this.name, `alter column ${own} ${should.required ? 'set' : 'drop'} not null`))
    for (const aspect of ['type', 'collation', 'identity', 'fallback', 'made'] as const)
      if (is[aspect] !== should[aspect])
        this.remarks.push(
          `${this.declared.table}.${name} has the ${WORDS[aspect]} ${is[aspect]}, not ${should[aspect]}, as is declared; it is left as it is.`,
        )
  }

  private constrain(part: Part) {
    const [is, should] = [this.found.constraints.get(part.name), this.wanted.constraints.get(part.name)]
    if (is === should || this.done.has(part.name)) return
    this.done.add(part.name)
    const actions = [`add ${constraintText(part)}`]
    if (is !== undefined && !this.released.has(part.name)) actions.unshift(`drop constraint ${part.name}`)
    this.statements.push(alterText(this.name, ...actions))
  }

  private index() {
    const there = new Set(this.found.indexes.values())
    const lacking = this.declared.indexes.filter(({ name }) => !there.has(this.wanted.indexes.get(name) as string))
    if (lacking.length > 0) this.statements.push(indexText(this.declared.table, lacking, this.quote))
  }

  /** What is beyond the declaration. A column without a value would keep new rows out, if it had to have one. */
  private leave() {
    const { table } = this.declared
    for (const [name, column] of this.found.columns) {
      if (this.wanted.columns.has(name)) continue
      this.remarks.push(`${table}.${name}: no property has this column; it is left, with its values.`)
      if (column.required && column.fallback === null && column.made === null && !column.identity)
        this.statements.push(alterText(this.name, `alter column ${this.quote(name)} drop not null`))
    }
    for (const name of this.found.constraints.keys())
      if (!this.wanted.constraints.has(name) && !this.released.has(name))
        this.remarks.push(`${table}: nothing declares the constraint ${name}; it is left as it is.`)
    const wanted = new Set(this.wanted.indexes.values())
    for (const [name, definition] of this.found.indexes)
      if (!wanted.has(definition)) this.remarks.push(`${table}: no list needs the index ${name}; it is left as it is.`)
  }
}

const WORDS = { type: 'type', collation: 'collation', identity: 'identity', fallback: 'default', made: 'expression' }

export function indexText(table: string, indexes: readonly Part[], quote: Quote): string {
  return indexes.map(({ name, text }) => `create index ${name} on ${quote(table)} ${text};`).join('\n')
}

export function constraintText({ name, text }: Part): string {
  return `constraint ${name} ${text}`
}

export function alterText(table: string, ...actions: readonly string[]): string {
  return `alter table ${table}${actions.length === 1 ? ' ' : '\n  '}${actions.join(',\n  ')};`
}
