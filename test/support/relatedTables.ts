// Three random tables that refer to each other, in PostgreSQL and as columns. Answers of the columns are compared with those of
// PostgreSQL.
import type postgres from 'postgres'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { Reason } from '../../src/columns/conditions.ts'
import type { Grouping } from '../../src/columns/grouping.ts'
import { Slices } from '../../src/columns/slices.ts'
import { withZonedStarts } from '../../src/columns/zonedStarts.ts'
import { compileList } from '../../src/compile/list.ts'
import { compileSummary } from '../../src/compile/summary.ts'
import type { Database } from '../../src/execute/database.ts'
import {
  boolean,
  copied,
  decimal,
  defineEntity,
  type Entity,
  identity,
  instant,
  integer,
  linkReferences,
  type Property,
  reference,
  relatedProperty,
  text,
  type View,
} from '../../src/model/entity.ts'
import { isSurelyFolded } from '../../src/model/fold.ts'
import { JsonWriter } from '../../src/model/jsonWriter.ts'
import { equality, operators } from '../../src/model/operators.ts'
import { type Filter, type ListQuery, unionFilter } from '../../src/model/query.ts'
import { arrayText, type Row } from '../../src/model/sql.ts'
import { type Figure, type GroupKey, PERIODS, type SummaryQuery } from '../../src/model/summary.ts'
import { viewOf, wholeView } from '../../src/model/view.ts'
import { Zone } from '../../src/model/zone.ts'
import { rowWriter } from '../../src/respond/json.ts'
import { codedWriter } from '../../src/respond/page.ts'
import { copyBytes } from './codeUnitOrder.ts'
import type { Random } from './random.ts'
import { randomFilter } from './randomFilter.ts'
import { caller, type Odd, RandomTable } from './randomTable.ts'
import { textStream } from './textStream.ts'

const site = defineEntity('Site', {
  id: identity(),
  label: text(),
  open: boolean(),
  level: integer({ min: -1_000, max: 1_000 }),
  headId: reference('Person'),
})
const person = defineEntity('Person', {
  id: identity(),
  label: text(),
  amount: decimal(8),
  siteId: reference('Site'),
  site: copied('siteId', 'label'),
  bossId: reference('Person'),
  boss: copied('bossId', 'label'),
  at: instant(),
})
const visit = defineEntity('Visit', {
  id: identity(),
  label: text(),
  personId: reference('Person'),
  person: copied('personId', 'label'),
  at: instant(),
  amount: decimal(8),
})
const ENTITIES = [site, person, visit]
linkReferences(ENTITIES)

const CHAIN = operators.find(({ isChain }) => isChain) as Filter['operator']
/** Maximum attempts to find a list while indexes are built, or orders are read. */
const ATTEMPTS_MAX = 2_000

/** One of the tables. */
export interface Side {
  readonly entity: Entity
  readonly rows: RandomTable
  columns: ColumnTable
}

export class RelatedTables {
  readonly sides: readonly Side[]

  constructor(
    readonly random: Random,
    private readonly sql: postgres.Sql,
    private readonly database: Database,
    counts: readonly number[],
    odd: Odd,
  ) {
    this.sides = ENTITIES.map((entity, index) => {
      const rows = new RandomTable(entity, random, counts[index] as number, odd)
      return { entity, rows, columns: null as unknown as ColumnTable }
    })
  }

  /** Makes the tables, and loads them. */
  async create(hasVectors = true): Promise<void> {
    const { sql } = this
    for (const { entity, rows } of this.sides) {
      const types = entity.properties.map((property) => `${property.column} ${typeOf(property)}`)
      await sql.unsafe(`drop table if exists ${entity.table}; create table ${entity.table} (${types.join()}, primary key (id))`)
      for (const row of rows.rows) rows.put(this.withReferences(entity, row))
    }
    for (const side of this.sides) for (const row of side.rows.rows) side.rows.put(this.withCopies(side.entity, row))
    for (const side of this.sides) {
      await this.write(side.entity, side.rows.rows, [])
      side.columns = this.load(side, hasVectors)
    }
  }

  /** Loads the columns of a table anew, in place of those that it has. */
  load({ entity, rows }: Side, hasVectors = true): ColumnTable {
    const texts = {
      database: this.database,
      slices: new Slices(),
      readOrder: ({ column }: Property) => textStream(this.sql, entity.table, column),
    }
    const columns = new ColumnTable(entity, rows.rows.length, texts, { has: () => true }, hasVectors)
    for (const row of [...rows.rows].sort((one, other) => Number(one[0]) - Number(other[0]))) {
      const bytes = copyBytes(row)
      columns.addLine(bytes, 0, bytes.length)
    }
    return columns
  }

  readonly tables = (name: string): ColumnTable | undefined => this.sides.find(({ entity }) => entity.table === name)?.columns

  sideOf(entity: Entity): Side {
    return this.sides.find(({ entity: own }) => own.table === entity.table) as Side
  }

  /** Changes some rows of a table, and the copies of their texts elsewhere. */
  async change(side: Side, count: number): Promise<void> {
    const changed = new Map<Side, Map<string, Row | null>>(this.sides.map((one) => [one, new Map()]))
    // Rows are changed one at a time, because a row may change several times.
    for (let left = count; left > 0; left--) {
      const [{ before, after } = { before: null, after: null }] = side.rows.change(1)
      const id = (after ?? before)?.[0] as string
      const known = after === null ? null : this.withReferences(side.entity, after, before)
      if (known !== null) side.rows.put(known)
      changed.get(side)?.set(id, known)
    }
    for (const one of this.sides)
      for (const row of one.rows.rows) {
        const copied = this.withCopies(one.entity, row)
        if (copied === row) continue
        one.rows.put(copied)
        changed.get(one)?.set(copied[0] as string, copied)
      }
    for (const [one, rows] of changed) {
      const put = [...rows.values()].filter((row) => row !== null)
      await this.write(one.entity, put, [...rows.keys()])
      for (const [id, row] of rows)
        if (row === null) one.columns.remove(id)
        else one.columns.put(row)
    }
  }

  /** Replaces a row by this row. Copies of its texts in other tables stay as they are. */
  async putRow(side: Side, row: Row): Promise<void> {
    side.rows.put(row)
    await this.write(side.entity, [row], [row[0] as string])
    side.columns.put(row)
  }

  async removeRow(side: Side, row: Row): Promise<void> {
    const id = row[0] as string
    side.rows.remove(Number(id))
    await this.write(side.entity, [], [id])
    side.columns.remove(id)
  }

  private async write({ table, properties }: Entity, rows: readonly Row[], gone: readonly string[]): Promise<void> {
    await this.sql.begin(async (transaction) => {
      await transaction.unsafe(`delete from ${table} where id = any ($1::text::bigint[])`, [arrayText(gone)])
      const columns = properties.map((property, at) => `$${at + 1}::text::${typeOf(property)}[]`)
      const values = properties.map((_, at) => arrayText(rows.map((row) => row[at] as string | null)))
      await transaction.unsafe(`insert into ${table} select * from unnest(${columns.join()})`, values)
    })
  }

  /** Makes most references of a row lead to existing rows. References that have not changed since `before` stay. */
  private withReferences({ properties }: Entity, row: Row, before: Row | null = null): Row {
    const { random } = this
    return properties.map(({ reference: own }, at) => {
      const value = row[at] ?? null
      if (own === null || value === null || (before !== null && before[at] === value)) return value
      // Some references lead to no row.
      if (random.chance(10)) return value
      const { rows } = this.sideOf(own.target as Entity).rows
      return rows.length === 0 ? null : (random.pick(rows.slice(0, random.pick([3, rows.length])))[0] as string)
    })
  }

  private withCopies({ properties }: Entity, row: Row): Row {
    let copy = row
    for (const [at, { reference: own }] of properties.entries()) {
      if (!own?.copy) continue
      const target = own.target as Entity
      const referred = row[at] === null ? undefined : this.sideOf(target).rows.row(Number(row[at]))
      const source = target.properties.findIndex(({ column }) => column === own.copy?.source)
      const place = properties.findIndex(({ column }) => column === own.copy?.column)
      const value = referred?.[source] ?? null
      if (copy[place] !== value) copy = copy.map((known, other) => (other === place ? value : known))
    }
    return copy
  }

  /** Draws a filter of an entity: on an own property, by a path through up to `references` references, or by a chain. */
  filter(entity: Entity, references = 2): Filter {
    const { random } = this
    const { rows } = this.sideOf(entity)
    const own = entity.properties.filter(({ reference }) => reference?.target)
    if (references === 0 || own.length === 0 || random.chance(30)) {
      const property = random.pick(entity.properties)
      const place = entity.properties.indexOf(property)
      return randomFilter(entity, property, random, () => (rows.rows.length === 0 ? null : (rows.someRow()[place] ?? null)))
    }
    const property = random.pick(own)
    const target = property.reference?.target as Entity
    if (property.reference?.isToItself && random.chance(40)) {
      const targets = this.sideOf(target).rows
      const value =
        random.chance(80) && targets.rows.length > 0 ? (targets.someRow()[0] as string) : random.pick(['5', '9007199254740991'])
      return { property, operator: CHAIN, value, chain: this.view(target, references - 1) }
    }
    const behind = this.filter(target, references - 1)
    const related = relatedProperty(property, this.view(target, references - 1), behind.property)
    return { ...behind, property: related }
  }

  /**
   * Draws a union of two to four alternatives. Some alternatives select the rows of one reference or a few, as rights of persons
   * do.
   */
  union(entity: Entity, references = 2): Filter {
    const { random } = this
    const alternative = () =>
      Array.from({ length: random.pick([1, 1, 2]) }, () =>
        random.chance(40) ? this.key(entity, references) : this.filter(entity, references),
      )
    return unionFilter(entity, Array.from({ length: 2 + random.below(3) }, alternative))
  }

  /** Draws a filter by the id of the row, or of a row to which a reference leads. */
  private key(entity: Entity, references: number): Filter {
    const { random } = this
    const { rows } = this.sideOf(entity).rows
    const keys = entity.properties.filter((property) => property === entity.id || property.reference?.target)
    const property = random.pick(keys)
    if (property !== entity.id && references > 0 && random.chance(50)) {
      const target = property.reference?.target as Entity
      const behind = this.key(target, references - 1)
      return { ...behind, property: relatedProperty(property, this.view(target, references - 1), behind.property) }
    }
    const value = rows.length === 0 ? '1' : (random.pick(rows)[entity.properties.indexOf(property)] ?? '1')
    return { property, operator: equality, value }
  }

  /** Draws several filters. Two of them may be on the same related row. */
  filters(entity: Entity): Filter[] {
    const { random } = this
    const filters = random.times(3, () => this.filter(entity))
    const path = filters.find(({ property }) => property.related !== null)
    if (path?.property.related && random.chance(50)) {
      const { reference, view } = path.property.related
      const other = this.filter(view.whole, 1)
      filters.push({ ...other, property: relatedProperty(reference, view, other.property) })
    }
    if (random.chance(30)) filters.push(this.union(entity))
    return filters
  }

  private readonly views = new Map<Entity, View>()

  /** Draws a view of all rows, or of rows that match a filter, which may be by a path. */
  view(entity: Entity, references: number): View {
    const { random } = this
    if (random.chance(70)) return wholeView(entity)
    const known = this.views.get(entity)
    if (known && random.chance(60)) return known
    const further = Math.min(1, references)
    const filters = [random.chance(35) ? this.union(entity, further) : this.filter(entity, further)]
    const view = viewOf(entity, new Set(entity.properties), filters, `view ${random.below(2 ** 30)}`)
    this.views.set(entity, view)
    return view
  }

  /** Draws a path through one or two references. */
  path(entity: Entity, viewOfTarget = (target: Entity) => this.view(target, 1), references = 2): Property {
    const { random } = this
    const property = random.pick(entity.properties.filter(({ reference }) => reference?.target))
    const target = property.reference?.target as Entity
    const isFurther = references > 1 && random.chance(40)
    const behind = isFurther ? this.path(target, viewOfTarget, references - 1) : random.pick(target.properties)
    return relatedProperty(property, viewOfTarget(target), behind)
  }

  /** Draws a summary by own and related properties of the entity. */
  summary(entity: Entity): SummaryQuery {
    const { random } = this
    // Within a summary, each entity has one view.
    const views = new Map<Entity, View>()
    const viewOfTarget = (target: Entity) => views.getOrInsertComputed(target, () => this.view(target, 1))
    const properties = [...entity.properties, ...Array.from({ length: 4 }, () => this.path(entity, viewOfTarget))]
    const keys = new Map<string, GroupKey>()
    const zone = random.chance(50) ? Zone.named(random.pick(['Asia/Kolkata', 'America/New_York'])) : null
    for (const property of random.times(2, () => random.pick(properties))) {
      const period = property.kind.name === 'instant' && random.chance(70) ? random.pick(PERIODS) : null
      const reference = nameOf(entity, property)
      const names = reference && relatedLike(property, reference)
      keys.set(property.name, { property, period, zone: period && zone, names })
      if (names) keys.set(names.name, { property: names, period: null, zone: null, names: null })
    }
    const chosen = [...keys.values()].map((key) => ({ ...key, names: key.names && (keys.get(key.names.name)?.property ?? null) }))
    const figures: Figure[] = []
    for (const property of random.times(3, () => random.pick(properties))) {
      const isNumber =
        property.reference === null && !property.name.endsWith('Id') && ['decimal', 'integer'].includes(property.kind.name)
      const all = isNumber ? (['sum', 'minimum', 'maximum'] as const) : (['minimum', 'maximum'] as const)
      const name = random.pick(all)
      if (property.kind.name === 'boolean' || figures.some((figure) => figure.name === name && figure.property === property))
        continue
      figures.push({ name, property })
      if (name === 'sum' && random.chance(50)) figures.push({ name: 'values', property })
    }
    const sortable = [chosen.length, ...figures.flatMap(({ name }, at) => (name === 'sum' ? [chosen.length + 1 + at] : []))]
    const sorts = random.times(2, () => ({ column: random.pick(sortable), isDescending: random.chance(50) }))
    for (let column = 0; column < chosen.length; column++) sorts.push({ column, isDescending: random.chance(30) })
    const unique = sorts.filter(({ column }, at) => sorts.findIndex((one) => one.column === column) === at)
    const page = { pageSize: 1_000, page: 1, queryWithoutPaging: '' }
    const csv = { hasMark: false, isForExcel: false, hasDecimalComma: false }
    return { filters: this.filters(entity), may: null, keys: chosen, measures: [], figures, sorts: unique, ...page, ...csv }
  }

  /**
   * Returns how a list by the columns differs from PostgreSQL's list; null if both are equal. If columns do not find the list,
   * returns the reason.
   */
  async differenceOf(entity: Entity, query: ListQuery): Promise<string | { readonly reason: Reason } | null> {
    const { columns } = this.sideOf(entity)
    const prepare = () => columns.prepare(query, caller, this.tables)
    const attempts = query.filters.some(isUnsure) ? 20 : ATTEMPTS_MAX
    const found = await this.attempt(prepare, () => columns.lists.find(query, this.tables), attempts)
    if (typeof found === 'string') return { reason: found }
    const rows = await this.database.read(compileList(entity, query))
    const total = Number(rows[0]?.at(-1) ?? 0)
    if (found.total !== total) return `${found.total} rows, not ${total}`
    const wanted = rows[0]?.[0] === null ? [] : rows.map((row) => row.slice(0, -1))
    const places = entity.properties.length + (query.choice?.related.length ?? 0)
    const printed = Array.from({ length: found.rows.length }, (_, index) =>
      Array.from({ length: places }, (_, column) => found.rows.print(index, column)),
    )
    if (JSON.stringify(printed) !== JSON.stringify(wanted)) return `${JSON.stringify(printed)}, not ${JSON.stringify(wanted)}`
    const writer = new JsonWriter()
    for (const [index, row] of wanted.entries()) {
      codedWriter(wholeView(entity), query.choice)(found.rows, index, writer)
      const written = new TextDecoder('utf-8', { ignoreBOM: true }).decode(writer.take())
      const json = rowWriter(wholeView(entity), query.choice)(row)
      if (written !== json) return `${written} is written, not ${json}`
    }
    return null
  }

  /**
   * Compares a summary of the columns with PostgreSQL's, as `differenceOf` compares a list. `between`: called while groups are
   * formed.
   */
  async differenceOfGroups(
    entity: Entity,
    query: SummaryQuery,
    between: () => Promise<void> = async () => undefined,
  ): Promise<string | 'unknown' | null> {
    const { columns } = this.sideOf(entity)
    const begin = () => columns.group(query, this.tables)
    const grouping = await this.attempt(() => columns.prepareGroups(query, caller, this.tables), begin, 50)
    if (typeof grouping === 'string') return 'unknown'
    const range = { offset: (query.page - 1) * query.pageSize, size: query.pageSize }
    const wanted = await this.database.read(compileSummary(entity, query, range))
    const steps = grouping.steps()
    await between()
    try {
      for (let step = steps.next(); !step.done; step = steps.next()) await between()
      const rows = pageOf(grouping, range)
      const total = Number(wanted[0]?.[0])
      if (grouping.total !== total) return `${grouping.total} groups, not ${total}`
      const groups = wanted.filter((row) => row[1 + query.keys.length] !== null).map((row) => row.slice(1))
      const own = withZonedStarts(query, groups)
      return JSON.stringify(rows) === JSON.stringify(own) ? null : `${JSON.stringify(rows)}, not ${JSON.stringify(own)}`
    } finally {
      grouping.close()
    }
  }

  /** Resolves when no index is being built. */
  async indexesBuilt(): Promise<void> {
    for (const { columns } of this.sides) await columns.indexesBuilt()
  }

  private async attempt<Found>(
    prepare: () => Promise<void> | null,
    find: () => Found | Reason,
    attemptsMax: number,
  ): Promise<Found | Reason> {
    for (let left = attemptsMax; ; left--) {
      await prepare()
      const found = find()
      if ((found !== 'index' && found !== 'texts') || left === 0) return found
      if (found === 'index' || left % 10 === 0) await this.indexesBuilt()
      await Bun.sleep(1)
    }
  }
}

function pageOf(grouping: Grouping, { offset, size }: { readonly offset: number; readonly size: number }): Row[] {
  const page = grouping.page(offset, size)
  for (let step = page.next(); ; step = page.next()) if (step.done) return step.value
}

/** Returns the reference along which a property is copied; null if the property is not copied. */
function nameOf(entity: Entity, { column, related }: Property): Property | null {
  if (related !== null) return nameOf(related.view.whole, related.property)
  return entity.properties.find(({ reference }) => reference?.copy?.column === column) ?? null
}

/** Returns this property behind the same references as `like`. */
function relatedLike(like: Property, property: Property): Property {
  if (like.related === null) return property
  const { reference, view, property: behind } = like.related
  return relatedProperty(reference, view, relatedLike(behind, property))
}

/** Returns the type of a column, which can also hold decimals without a code. */
function typeOf({ kind }: Property): string {
  return kind.name === 'decimal' ? 'numeric(30,8)' : kind.columnType
}

/** Returns whether only PostgreSQL knows how an operand is folded. */
export function isUnsure({ operator, value, chain, property, either }: Filter): boolean {
  if (either) return either.flat().some(isUnsure)
  if (operator.folded !== null && !isSurelyFolded(value as string)) return true
  if (chain?.filters.some(isUnsure)) return true
  for (let own = property.related; own !== null; own = own.property.related) if (own.view.filters.some(isUnsure)) return true
  return false
}
