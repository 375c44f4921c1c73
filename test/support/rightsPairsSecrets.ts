// Data that a key must not learn: cells and rows in which two databases may differ, although all answers to the key must be
// equal.
import type postgres from 'postgres'
import type { Verb } from '../../src/model/access.ts'
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseFilter } from '../../src/parse/filter.ts'
import { compilePredicate } from './predicate.ts'
import type { Random } from './random.ts'
import { endOf, type FindRow, isUnder, referencesOf, rowBehind } from './rightsPairsPaths.ts'
import { type Condition, parametersOf, type RandomKey, type RandomRight } from './rightsPairsRights.ts'
import { idMaxOf, keepRules, NEXT_ID, type Rows, randomCell, randomValue, rowOf, sourcesOf, targetOf } from './rightsPairsRows.ts'

type MutableRows = Map<Entity, Map<number, Map<Property, string | null>>>

/** Value of a hidden cell, which is written directly to the database. */
export interface HiddenWrite {
  readonly entity: Entity
  readonly id: number
  readonly property: Property
  readonly value: string | null
}

/** Decides what two databases must have in common for a key, and in what they may differ. */
export class Secrets {
  readonly entities: readonly Entity[]
  /**
   * True if the key may write. More data is then equal in both databases: data that the rights compare, and references that can
   * refuse a deletion.
   */
  private readonly mayWrite: boolean
  private readonly fixedColumns = new Map<Entity, Set<Property>>()
  private readonly fixedCells = new Map<Entity, Map<number, Set<Property>>>()
  private readonly fixedRows = new Map<Entity, Set<number>>()
  /**
   * Ids of rows to which a hidden reference may lead. Only if the key can learn whether a row is referred to, others are
   * excluded.
   */
  private readonly allowedTargets = new Map<Property, ReadonlySet<number>>()
  private readonly oneSided = new Map<Entity, readonly number[]>()
  private readonly reads = new Map<Entity, readonly RandomRight[]>()
  /** Ids of rows that the key may read by a right, now or after a write. */
  private readonly exposed = new Map<RandomRight, number[]>()

  constructor(
    private readonly rows: Rows,
    private readonly key: RandomKey,
  ) {
    this.entities = [...rows.keys()]
    this.mayWrite = key.rights.some(({ verbs }) => verbs.some((verb) => verb !== 'read'))
    for (const entity of this.entities) {
      this.fixedColumns.set(entity, new Set())
      this.fixedCells.set(entity, new Map())
      this.fixedRows.set(entity, new Set())
      this.reads.set(entity, this.rightsTo(entity, 'read'))
    }
    for (const entity of this.entities) this.fixComparedColumns(entity)
    for (const entity of this.entities) this.fixRows(entity)
    for (const entity of this.entities) this.fixVisibleCells(entity)
    for (const entity of this.entities) this.fixReferrers(entity)
    this.fixReferredRows()
  }

  /** Returns the ids of the rows that the key may read in an entity or a view of it. */
  readable(entity: Entity): number[] {
    const rights = this.reads.get(entity) as readonly RandomRight[]
    return this.idsOf(entity).filter((id) => rights.some((right) => this.admits(right, id)))
  }

  /** Returns the ids of the rows that a right admits, to read or to write. */
  reached(right: RandomRight): number[] {
    return this.idsOf(right.entity).filter((id) => this.admits(right, id))
  }

  /** Returns rows that differ from the given rows only in hidden cells and hidden rows. */
  private variant(random: Random): MutableRows {
    const varied: MutableRows = new Map()
    for (const entity of this.entities) {
      const own = new Map<number, Map<Property, string | null>>()
      const fixed = this.fixedRows.get(entity) as Set<number>
      for (const [id, cells] of this.rows.get(entity) ?? []) if (fixed.has(id) || !random.chance(25)) own.set(id, new Map(cells))
      varied.set(entity, own)
    }
    for (const [entity, own] of varied) for (const [id, cells] of own) this.vary(random, varied, entity, id, cells)
    return varied
  }

  /** Returns the rows of the two databases, and remembers which rows are in only one of them. */
  variants(random: Random): [MutableRows, MutableRows] {
    const pair: [MutableRows, MutableRows] = [this.variant(random), this.variant(random)]
    for (const entity of this.entities) {
      const [one, other] = pair.map((rows) => new Set(rows.get(entity)?.keys())) as [Set<number>, Set<number>]
      this.oneSided.set(entity, [...one.symmetricDifference(other)])
    }
    return pair
  }

  /** Returns whether only one of the databases has the row. */
  isOneSided(entity: Entity, id: number): boolean {
    return this.oneSided.get(entity)?.includes(id) === true
  }

  /** Draws an id, often of a row that is in only one of the databases: no answer may reveal this. */
  anyId(random: Random, entity: Entity): number {
    const oneSided = this.oneSided.get(entity) ?? []
    if (oneSided.length > 0 && random.chance(40)) return random.pick(oneSided)
    return random.chance(92) ? 1 + random.below(idMaxOf(entity, this.entities)) : NEXT_ID + random.below(4)
  }

  /** Draws writes of hidden cells that the key's rights do not compare. */
  hiddenWrites(random: Random, countMax: number): HiddenWrite[] {
    const writes: HiddenWrite[] = []
    for (let left = 4 * countMax; left > 0 && writes.length < countMax; left--) {
      const entity = random.pick(this.entities)
      const id = random.pick(this.idsOf(entity))
      const inRules = new Set(entity.rules.flatMap(({ later, earlier }) => [later, earlier]))
      const hidden = this.hiddenProperties(entity, id).filter((one) => !this.isCompared(entity, one) && !inRules.has(one))
      if (hidden.length === 0 || writes.some((one) => one.entity === entity && one.id === id)) continue
      const property = random.pick(hidden)
      if (property.reference) continue
      writes.push({ entity, id, property, value: randomCell(random, property, 60) })
    }
    return writes
  }

  /** Number of cells in which databases may differ. */
  get hiddenCells(): number {
    let count = 0
    for (const entity of this.entities) for (const id of this.idsOf(entity)) count += this.hiddenProperties(entity, id).length
    return count
  }

  private rightsTo(entity: Entity, verb: Verb): readonly RandomRight[] {
    return this.key.rights.filter((right) => right.entity === entity && right.verbs.includes(verb))
  }

  private idsOf(entity: Entity): number[] {
    return [...(this.rows.get(entity)?.keys() ?? [])]
  }

  private matches(rows: Rows, entity: Entity, id: number, conditions: readonly Condition[]): boolean {
    return rowMatches(entity, rowOf(rows, entity, id), conditions, finderIn(rows))
  }

  /** Returns the ids of referred rows with which a new row matches the conditions, even if it has no other value. */
  referable(entity: Entity, reference: Property, conditions: readonly Condition[]): number[] {
    const rowWith = (id: number) => entity.properties.map((property) => (property === reference ? String(id) : null))
    const find = finderIn(this.rows)
    return this.idsOf(targetOf(reference, this.entities)).filter((id) => rowMatches(entity, rowWith(id), conditions, find))
  }

  private admits({ entity, filters }: RandomRight, id: number): boolean {
    return this.matches(this.rows, entity, id, filters)
  }

  /**
   * Makes the columns equal in both databases that rights compare. If the key cannot write, only references and copied and
   * computed columns.
   */
  private fixComparedColumns(entity: Entity): void {
    for (const right of this.key.rights.filter((one) => one.entity === entity))
      for (const condition of [...right.filters, ...(right.becomes ?? [])]) {
        // References in paths are made equal. The values behind them may differ, as long as they match a condition in both
        // databases or in neither.
        for (const place of referencesOf(entity, condition.property)) this.fixColumn(place.entity, place.property)
        const end = endOf(entity, condition.property)
        const isPlain = end.property.writable && end.property.reference === null
        if (this.mayWrite || !isPlain) this.fixColumn(end.entity, end.property)
      }
    // By a write, a key can learn whether a unique value is used.
    if (this.mayWrite) for (const property of entity.properties) if (property.unique !== null) this.fixColumn(entity, property)
  }

  private fixColumn(entity: Entity, property: Property): void {
    const { own, through } = sourcesOf(entity, property, this.entities)
    for (const one of own) this.fixedColumns.get(entity)?.add(one)
    if (through) this.fixColumn(through.target, through.property)
  }

  /** Makes rows exist in both databases if the key could learn whether they exist. */
  private fixRows(entity: Entity): void {
    const reads = this.reads.get(entity) as readonly RandomRight[]
    const reach = [...this.rightsTo(entity, 'update'), ...this.rightsTo(entity, 'delete')]
    const isCopied = reads.some(({ filters }) => filters.some(({ property }) => !property.writable && property !== entity.id))
    const isUnique = this.mayWrite && entity.properties.some(({ unique }) => unique !== null)
    for (const read of reads) this.exposed.set(read, [])
    for (const id of this.idsOf(entity)) {
      const isReached = reach.some((right) => this.admits(right, id))
      for (const read of reads)
        if (this.admits(read, id) || isReached || (this.mayWrite && isCopied)) this.exposed.get(read)?.push(id)
      const isRead = reads.some((read) => this.admits(read, id))
      const isOpen = reads.length === 0 || reads.some(({ filters }) => filters.length === 0)
      if (isRead || isReached || isOpen || isUnique || (this.mayWrite && isCopied)) this.fixedRows.get(entity)?.add(id)
    }
  }

  private fixVisibleCells(entity: Entity): void {
    for (const read of this.reads.get(entity) as readonly RandomRight[]) {
      for (const id of this.exposed.get(read) ?? [])
        for (const property of read.fields ?? entity.properties) this.fixCell(entity, id, property)
      this.fixNamedRows(entity, read)
    }
  }

  /**
   * Makes rows equal that rights name: with `create Absences?EmployeeId=7`, the key learns the values that an absence copies from
   * this row.
   */
  private fixNamedRows(entity: Entity, read: RandomRight): void {
    const conditions = this.key.rights.flatMap((right) =>
      right.entity === entity && right !== read ? [...right.filters, ...(right.becomes ?? [])] : [],
    )
    for (const property of read.fields ?? entity.properties) {
      const { through } = sourcesOf(entity, property, this.entities)
      for (const { property: compared, sign, values } of conditions)
        if (through && compared === through.reference && sign === '=' && values[0] !== '') {
          this.fixCell(through.target, Number(values[0]), through.property)
          this.fixedRows.get(through.target)?.add(Number(values[0]))
        }
    }
  }

  private fixCell(entity: Entity, id: number, property: Property): void {
    const cells = this.fixedCells.get(entity) as Map<number, Set<Property>>
    const fixed = cells.get(id) ?? new Set()
    cells.set(id, fixed)
    const { own, through } = sourcesOf(entity, property, this.entities)
    for (const one of own) fixed.add(one)
    const referred = through && this.rows.get(entity)?.get(id)?.get(through.reference)
    if (through && referred) this.fixCell(through.target, Number(referred), through.property)
  }

  /**
   * Makes equal whether a row is referred to, because a deletion reveals this. It reveals neither the number of the referring
   * rows nor which rows they are.
   */
  private fixReferrers(target: Entity): void {
    if (this.rightsTo(target, 'delete').length === 0) return
    for (const entity of this.entities)
      for (const property of entity.properties) {
        if (!property.reference || targetOf(property, this.entities) !== target) continue
        const mayChange = ['update', 'delete'].some((verb) => this.rightsTo(entity, verb as Verb).length > 0)
        const kept = new Set<number>()
        for (const [id, cells] of this.rows.get(entity) ?? []) {
          const referred = cells.get(property) ?? null
          if (referred === null || (!mayChange && kept.has(Number(referred)) && !this.isFixed(entity, id, property))) continue
          kept.add(Number(referred))
          this.fixCell(entity, id, property)
          this.fixedRows.get(entity)?.add(id)
        }
        if (mayChange) this.fixedColumns.get(entity)?.add(property)
        this.allowedTargets.set(property, kept)
      }
  }

  private fixReferredRows(): void {
    for (const entity of this.entities)
      for (const [id, cells] of this.rows.get(entity) ?? [])
        for (const [property, value] of cells)
          if (property.reference && value !== null && this.isFixed(entity, id, property))
            this.fixedRows.get(targetOf(property, this.entities))?.add(Number(value))
  }

  private isFixed(entity: Entity, id: number, property: Property): boolean {
    return this.fixedColumns.get(entity)?.has(property) === true || this.fixedCells.get(entity)?.get(id)?.has(property) === true
  }

  private hiddenProperties(entity: Entity, id: number): Property[] {
    return entity.properties.filter((property) => property.writable && !this.isFixed(entity, id, property))
  }

  private isCompared(entity: Entity, property: Property): boolean {
    return this.key.rights.some((right) =>
      [...right.filters, ...(right.becomes ?? [])].some((one) => {
        const end = endOf(right.entity, one.property)
        return end.entity === entity && end.property === property
      }),
    )
  }

  /**
   * Returns conditions on the entity's rows that must match the same rows in both databases: of rights to read the entity, and of
   * paths to it.
   */
  private comparedIn(entity: Entity): (readonly Condition[])[] {
    const paths = [...this.reads.values()].flat().flatMap((right) =>
      right.filters.flatMap((condition) => {
        const end = endOf(right.entity, condition.property)
        return condition.property.related && end.entity === entity ? [[{ ...condition, property: end.property }]] : []
      }),
    )
    return [...(this.reads.get(entity) ?? []).map(({ filters }) => filters), ...paths]
  }

  /** Changes hidden cells of a row. Each right to read must match the row as before. */
  private vary(random: Random, varied: MutableRows, entity: Entity, id: number, cells: Map<Property, string | null>): void {
    const before = new Map(cells)
    const hidden = new Set(this.hiddenProperties(entity, id))
    for (const property of hidden) {
      const target = property.reference ? targetOf(property, this.entities) : entity
      if (property.reference) {
        const allowed = this.allowedTargets.get(property)
        const drawn = random.chance(40)
          ? randomValue(random, property, idMaxOf(target, this.entities))
          : (cells.get(property) ?? null)
        const isThere = drawn !== null && varied.get(target)?.has(Number(drawn)) && (allowed?.has(Number(drawn)) ?? true)
        cells.set(property, isThere ? drawn : null)
      } else if (random.chance(50)) cells.set(property, randomCell(random, property, 60))
      // This text is longer than others, and in no pool, so that an answer shows where it comes from.
      if (property.kind.name === 'text' && random.chance(15)) cells.set(property, `secret ${random.below(1_000_000)}`)
    }
    const undo = (properties: Iterable<Property>) => {
      for (const property of properties) cells.set(property, before.get(property) ?? null)
    }
    const compared = this.comparedIn(entity)
    const isSame = () =>
      compared.every(
        (filters) =>
          this.matches(varied, entity, id, filters) === this.matches(this.rows, entity, id, filters) ||
          !filters.some(({ property }) => property.writable),
      )
    if (!isSame()) undo(compared.flatMap((filters) => filters.map((one) => one.property)).filter((one) => one.writable))
    const ruled = new Map(cells)
    keepRules(entity, ruled)
    const isBroken = [...ruled].some(([property, value]) => cells.get(property) !== value)
    if (isBroken) undo(entity.rules.flatMap(({ later, earlier }) => [later, earlier]))
    if (!isSame()) undo(before.keys())
  }
}

/** Returns a function that finds the rows to which references lead. */
function finderIn(rows: Rows): FindRow {
  return (entity, id) => (rows.get(entity)?.has(id) ? rowOf(rows, entity, id) : null)
}

/**
 * Returns whether a row matches all conditions. `row`: values in the order of the entity's properties. `find`: finds the rows to
 * which paths lead.
 */
export function rowMatches(entity: Entity, row: Row, conditions: readonly Condition[], find: FindRow): boolean {
  return conditions.every((condition) => {
    const end = endOf(entity, condition.property)
    // If a path leads to no row, all its values are null.
    const behind = rowBehind(entity, row, condition.property, find) ?? end.entity.properties.map(() => null)
    if (condition.sign !== '[under]') return testOf(end.entity, condition, end.property)(behind)
    const value = behind[end.entity.properties.indexOf(end.property)] ?? null
    return isUnder(end, value, Number(condition.values[0]), find)
  })
}

const tests = new WeakMap<Condition, RowTest>()

type RowTest = (row: Row) => boolean

const collator = new Intl.Collator('und')

/** Returns a test of a condition that compares texts in the order of PostgreSQL's collation. */
function orderTest(entity: Entity, property: Property, { sign, values: [operand = ''] }: Condition): RowTest {
  const place = entity.properties.indexOf(property)
  return (row) => {
    const value = row[place] ?? null
    if (value === null) return false
    const order = collator.compare(value, operand) || Buffer.compare(Buffer.from(value), Buffer.from(operand))
    return sign.startsWith('<') ? order < 0 || (order === 0 && sign === '<=') : order > 0 || (order === 0 && sign === '>=')
  }
}

/** Returns a test of a condition for rows of `entity`. `property`: property that is compared, at the end of a path. */
function testOf(entity: Entity, condition: Condition, property: Property): RowTest {
  let known = tests.get(condition)
  if (!known) {
    const parsed = parametersOf({ ...condition, property }).map((parameter) => {
      const [name = '', ...rest] = parameter.split('=')
      return parseFilter(wholeView(entity), { name, value: decodeURIComponent(rest.join('=')), raw: '' })
    })
    const ways = parsed.map((filter) => compilePredicate(entity, [filter]) ?? orderTest(entity, property, condition))
    known = (row: Row) => ways.some((way) => way(row))
    tests.set(condition, known)
  }
  return known
}

/** Writes hidden values directly to the database. */
export async function applyHidden(sql: postgres.Sql, writes: readonly HiddenWrite[]): Promise<void> {
  for (const { entity, id, property, value } of writes) {
    const stored = value ?? property.kind.default
    await sql`update ${sql(entity.table)} set ${sql(property.column)} = ${stored} where id = ${id}`
  }
}
