import {
  type ColumnPart,
  type DeclaredColumn,
  type DeclaredTable,
  FIRST_STEPS,
  LAST_STEPS,
  type Part,
  type Quote,
} from './declaredTable.ts'
import type { Demand } from './obstacles.ts'
import type { FoundTable } from './tableCatalog.ts'

/** What a table that is there lacks, and what it has beyond or otherwise. */
export class TableDifference {
  private statements: string[] = []
  readonly remarks: string[] = []
  readonly demands: Demand[] = []
  private readonly done = new Set<string>()
  private readonly released = new Set<string>()
  private readonly name: string
  private readonly lacking: readonly DeclaredColumn[]
  /** Columns that hold something else than is declared: what is built on them would fail. */
  private readonly unfit: readonly string[]

  /** `wanted`: what the catalog says of the table where it is as it is declared. */
  constructor(
    private readonly declared: DeclaredTable,
    private readonly found: FoundTable,
    private readonly wanted: FoundTable,
    private readonly quote: Quote,
  ) {
    this.name = quote(declared.table)
    this.lacking = declared.columns.filter(({ name }) => !found.columns.has(name))
    this.unfit = declared.columns.map(({ name }) => name).filter((name) => this.differences(name).length > 0)
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
    if (!this.found.constraints.has(constraint) || this.released.has(constraint)) return
    this.released.add(constraint)
    this.statements.push(alterText(this.name, `drop constraint ${this.quote(constraint)}`))
  }

  private add({ name, text, filledBy }: DeclaredColumn) {
    const bare = text.replace(/ not null$/, '')
    if (bare !== text) {
      this.demands.push({ kind: 'not null', name, text: '', columns: [name] })
      this.statements.push(
        `-- Every row needs a value: where there are rows, give them one between these two statements.\n${alterText(this.name, `add column ${this.quote(name)} ${bare}`)}\n${alterText(this.name, `alter column ${this.quote(name)} set not null`)}`,
      )
    } else this.statements.push(alterText(this.name, `add column ${this.quote(name)} ${text}`))
    if (filledBy && this.found.columns.has(filledBy.reference)) this.fill(name, filledBy)
    this.supposeRenamed(name)
  }

  private fill(name: string, { reference, table, column }: NonNullable<DeclaredColumn['filledBy']>) {
    const of = `${table}_${reference}`
    this.statements.push(
      `update ${this.name} set ${name} = ${of}.${column} from ${this.quote(table)} as ${of}\n  where ${of}.id = ${this.name}.${this.quote(reference)};`,
    )
  }

  /** A column that is new, beside one like it that no property has any longer, may be the same. */
  private supposeRenamed(name: string) {
    const should = this.wanted.columns.get(name)
    const before = [...this.found.columns.values()].filter(
      (column) => !this.wanted.columns.has(column.name) && should && column.made === null && should.made === null,
    )
    for (const column of before)
      if (column.type === should?.type && !/_key$/.test(name))
        this.remarks.push(
          `${this.table}.${name} is new. If it is ${this.table}.${column.name} by another name, delete the file, put "alter table ${this.name} rename column ${this.quote(column.name)} to ${this.quote(name)};" into one of its number, and run this command again.`,
        )
  }

  /** In what a column is not as it is declared, but for what can be made so. */
  private differences(name: string) {
    const [is, should] = [this.found.columns.get(name), this.wanted.columns.get(name)]
    if (!is || !should) return []
    return ASPECTS.filter((aspect) => is[aspect] !== should[aspect]).map((aspect) =>
      aspect === 'identity'
        ? `${this.table}.${name} is ${is.identity ? 'an' : 'no'} identity column`
        : `${this.table}.${name} has the ${WORDS[aspect]} ${is[aspect] ?? 'of none'}, not ${should[aspect] ?? 'none'}`,
    )
  }

  private compare(name: string) {
    const [is, should] = [this.found.columns.get(name), this.wanted.columns.get(name)]
    if (!is || !should) return
    this.remarks.push(
      ...this.differences(name).map((text) => `${text}, as is declared; it is left as it is, for you to change.`),
    )
    if (this.unfit.includes(name)) return
    const alter = (action: string) =>
      this.statements.push(alterText(this.name, `alter column ${this.quote(name)} ${action}`))
    if (is.fallback !== should.fallback)
      alter(should.fallback === null ? 'drop default' : `set default ${should.fallback}`)
    if (is.required === should.required) return
    alter(`${should.required ? 'set' : 'drop'} not null`)
    if (should.required) this.demands.push({ kind: 'not null', name, text: '', columns: [name] })
  }

  private constrain(part: ColumnPart & { readonly table?: string }) {
    const [is, should] = [this.found.constraints.get(part.name), this.wanted.constraints.get(part.name)]
    if (is === should || this.done.has(part.name) || this.standsOnUnfit(part)) return
    this.done.add(part.name)
    const before = is === undefined && this.sameByAnotherName(should)
    if (before) {
      this.released.add(before)
      this.statements.push(alterText(this.name, `rename constraint ${this.quote(before)} to ${part.name}`))
      return
    }
    this.demands.push({ ...part, kind: 'constraint' })
    const isThere = is !== undefined && !this.released.has(part.name)
    const filled = this.declared.columns.find(({ name, filledBy }) => filledBy && part.columns.includes(name))
    if (isThere && part.table !== undefined && filled?.filledBy && !this.lacking.includes(filled)) {
      // What is copied is another column from now on.
      this.release(part.name)
      this.fill(filled.name, filled.filledBy)
    }
    const actions = [`add ${constraintText(part)}`]
    if (isThere && !this.released.has(part.name)) actions.unshift(`drop constraint ${part.name}`)
    this.statements.push(alterText(this.name, ...actions))
  }

  /** That of a column which was renamed, for one. */
  private sameByAnotherName(definition: string | undefined): string | undefined {
    for (const [name, is] of this.found.constraints)
      if (is === definition && !this.wanted.constraints.has(name) && !this.released.has(name)) return name
    return undefined
  }

  private standsOnUnfit({ columns }: ColumnPart): boolean {
    return columns.some((column) => this.unfit.includes(column))
  }

  private index() {
    const there = new Set(this.found.indexes.values())
    const lacking = this.declared.indexes.filter(
      (part) => !there.has(this.wanted.indexes.get(part.name) as string) && !this.standsOnUnfit(part),
    )
    if (lacking.length > 0) this.statements.push(indexText(this.declared.table, lacking, this.quote))
  }

  /** What is beyond the declaration: what would keep new rows out goes, all else stays. */
  private leave() {
    const { table } = this.declared
    for (const [name, column] of this.found.columns) {
      if (this.wanted.columns.has(name)) continue
      this.remarks.push(`${table}.${name}: no property has this column; it is left, with its values.`)
      if (column.required && column.fallback === null && column.made === null && !column.identity)
        this.statements.push(alterText(this.name, `alter column ${this.quote(name)} drop not null`))
    }
    for (const name of this.found.constraints.keys()) {
      if (this.wanted.constraints.has(name) || this.released.has(name)) continue
      if (this.isInTheWay(name)) this.release(name)
      else this.remarks.push(`${table}: nothing declares the constraint ${name}; it is left as it is.`)
    }
    const wanted = new Set(this.wanted.indexes.values())
    for (const [name, definition] of this.found.indexes)
      if (!wanted.has(definition)) this.remarks.push(`${table}: no list needs the index ${name}; it is left as it is.`)
  }

  /**
   * Whether a constraint has the name that a declaration gives, and keeps out what is allowed now: of columns that no property
   * has any longer only references do, which hold the rows that they name.
   */
  private isInTheWay(constraint: string): boolean {
    const { table } = this.declared
    const isReference = this.found.constraints.get(constraint)?.startsWith('FOREIGN KEY') === true
    return [...this.found.columns.keys()].some(
      (column) =>
        (isReference || this.wanted.columns.has(column)) &&
        constraint.startsWith(`${table}_${column}_`) &&
        OUR_END.test(constraint.slice(table.length + 1 + column.length)),
    )
  }
}

const OUR_END = /^_(known|range|unique|found|current|not_before_\w+)$/
const ASPECTS = ['type', 'collation', 'identity', 'made'] as const
const WORDS = { type: 'type', collation: 'collation', made: 'expression' }

export function indexText(table: string, indexes: readonly Part[], quote: Quote): string {
  return indexes.map(({ name, text }) => `create index ${name} on ${quote(table)} ${text};`).join('\n')
}

export function constraintText({ name, text }: Part): string {
  return `constraint ${name} ${text}`
}

export function alterText(table: string, ...actions: readonly string[]): string {
  return `alter table ${table}${actions.length === 1 ? ' ' : '\n  '}${actions.join(',\n  ')};`
}
