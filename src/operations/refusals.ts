// Causes of refused writes: a statement only says that it wrote nothing, so other statements find out why. A refused deletion
// names the referring rows that the key may read. D13, D16, D65
import { compileRefusals, compileRowRefusals } from '../compile/refusals.ts'
import { compileDeleteBlockers } from '../compile/remove.ts'
import { ApiError, FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { ConstraintViolation } from '../execute/outcomes.ts'
import type { GrantedRights, Guard } from '../model/access.ts'
import type { WritePlan } from '../model/batch.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Entity, Property, Rule } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { arrayText, type Row } from '../model/sql.ts'
import { asSeen, type Extent, type FaultOf, GuardRefusals, type Seen } from './guardRefusals.ts'
import type { ExpectedVersion, RowReads } from './rowReads.ts'

/** A refused write: its plan, and the conditions of its request. */
export type RefusedWrite = RefusedCreate | RefusedUpdate | RefusedDeletion | RefusedRows

interface Refused {
  /** The entity as the key sees it: errors name only its properties. */
  readonly seen: Seen
}

interface RefusedCreate extends Refused {
  readonly verb: 'create'
  readonly plan: WritePlan
}

export interface RefusedRows extends Refused {
  readonly verb: 'createRows'
  readonly rows: readonly Assignments[]
  readonly guard: Guard | null
  readonly faultOf: FaultOf
}

export interface RefusedUpdate extends Refused {
  readonly verb: 'update'
  readonly plan: WritePlan
  readonly expected: ExpectedVersion | null
  /**
   * Guard of all rights to update; null: these rights admit every row. If this guard admits a row, the update of the row gets no
   * 404, even if the rights that the update uses do not admit the row.
   */
  readonly reach: Guard | null
}

export interface RefusedDeletion extends Refused {
  readonly verb: 'delete'
  readonly plan: WritePlan
  readonly expected: ExpectedVersion | null
  /** Rights of the key: the error counts only rows that the key may read. Null if the request has no rights. */
  readonly rights: GrantedRights | null
}

/** Explains the refused writes of one entity. */
export class Refusals {
  /** Properties whose values other writes may make invalid: references and unique values. */
  private readonly refusable: readonly Property[]
  /** Explains writes that a guard does not admit. */
  readonly guards: GuardRefusals

  constructor(
    private readonly entity: Entity,
    private readonly referring: readonly ReferringColumn[],
    private readonly reads: RowReads,
    private readonly database: Database,
  ) {
    this.refusable = entity.properties.filter(
      ({ writable, reference, unique }) => writable && (reference !== null || unique !== null),
    )
    this.guards = new GuardRefusals(entity, reads, database)
  }

  /**
   * Returns why a write was refused, such as NotFound, PreconditionFailed or ReferenceNotFound; null if the cause is gone. If the
   * database fails during the search for the cause, returns the error of the search, such as a 503. `violation`: the constraint
   * that refused the write, because other requests had written in the meantime; null: no constraint refused it.
   */
  async explainRefusal(write: RefusedWrite, violation: ConstraintViolation | null): Promise<ApiError | null> {
    try {
      return await this.causeOf(write, violation)
    } catch (error) {
      if (error instanceof ApiError) return error
      throw error
    }
  }

  private async causeOf(write: RefusedWrite, violation: ConstraintViolation | null): Promise<ApiError | null> {
    if (write.verb === 'createRows') return this.explainRows(write)
    if (write.verb === 'create') return this.explainCreate(write, violation)
    const row = await this.findRefused(write)
    const { plan, verb, seen } = write
    const refusalOfChange = (extent: Extent) => row && plan.guard && this.guards.refusalOfChange(row, plan.guard, seen, extent)
    const refusal = (row && plan.guard && this.guards.refusalOfReach(row, plan.guard, seen, verb)) ?? refusalOfChange('own')
    if (refusal !== null) return refusal
    if (verb === 'delete') return this.explainDeletion(write, violation)
    return (await this.explainValues(write, violation)) ?? refusalOfChange('all')
  }

  private async explainCreate(write: RefusedCreate, violation: ConstraintViolation | null): Promise<ApiError | null> {
    const { guard, values } = write.plan
    const refusalOfRow = (extent: Extent) =>
      guard && this.guards.refusalOfRows([values], guard, write.seen, extent, (_, fault) => fault)
    return (await refusalOfRow('own')) ?? (await this.explainValues(write, violation)) ?? refusalOfRow('all')
  }

  /** Finds the row of a refused write; returns null if the write has no guard. @throws ApiError NotFound, PreconditionFailed */
  private async findRefused(write: RefusedUpdate | RefusedDeletion): Promise<Row | null> {
    const { plan, expected } = write
    const { id, guard, values } = plan
    if (guard === null) {
      if (expected !== null) this.reads.requireExpected(await this.reads.find(id), id, expected)
      return null
    }
    const row = await this.guards.find(id, guard, values, write.verb === 'update' ? write.reach : guard)
    this.reads.requireExpected(row, id, expected)
    return row
  }

  private async explainDeletion(
    { plan: { id }, rights }: RefusedDeletion,
    violation: ConstraintViolation | null,
  ): Promise<ApiError | null> {
    if (violation && !violation.isForeignKey) return null
    const { entity, referring } = this
    const counts = await countReferring(this.database, entity, id, referring, rights)
    if (counts === null && violation === null) return this.reads.notFound(id)
    const isReferred = violation !== null || counts?.some((count) => count > 0)
    // If a foreign key was violated, the referring rows may be of a table that is not an entity, so `referring` may lack their
    // column.
    const isWhole = violation === null
    return isReferred ? stillReferenced(entity, id, referring, counts ?? [], rights, isWhole) : null
  }

  private async explainValues(
    { plan: { id, values, guard }, seen }: RefusedCreate | RefusedUpdate,
    violation: ConstraintViolation | null,
  ): Promise<ApiError | null> {
    const broken = violation && this.ruleOf(violation.constraint)
    if (broken) return brokenRule(broken)
    const statement = compileRefusals(this.entity, id === '' ? null : id, values, guard)
    const causes = statement ? (await this.database.read(statement)).map(([cause]) => cause as string) : []
    if (id !== '' && causes.includes('id')) return this.reads.notFound(id)
    const taken = causes.flatMap((cause) => takenValue(this.entity, cause) ?? [])
    const references = causes.filter((cause) => !this.ruleOf(cause) && !takenValue(this.entity, cause))
    const rule = causes.filter((cause) => this.ruleOf(cause)).sort()[0]
    // PostgreSQL checks constraints in the order of their names. So a broken rule is reported only if its name comes before the
    // names of all broken references.
    if (rule !== undefined && references.every((column) => rule < `${this.entity.table}_${column}_found`))
      return brokenRule(this.ruleOf(rule) as Rule)
    const faults = [...references.map((column) => missingReference(column, values)), ...taken]
    // A trigger may have changed the value, or the row that had the value may be gone. Then the constraint tells which value was
    // taken.
    const known = violation && takenValue(this.entity, violation.constraint)
    if (faults.length === 0 && known) faults.push(known)
    return faults.length === 0 ? null : faultsError(faults.map((fault) => asSeen(fault, seen)))
  }

  /**
   * Returns an error for the first of these causes, with a fault for each row that has it; null if no row has any.
   * - The guard does not admit the row's own values.
   * - A reference names a missing row, or another row has the unique value.
   * - The guard does not admit the rows that its references name.
   */
  private async explainRows(write: RefusedRows): Promise<ApiError | null> {
    const { rows, guard, faultOf, seen } = write
    const refusalOfRows = (extent: Extent) => guard && this.guards.refusalOfRows(rows, guard, seen, extent, faultOf)
    const refusal = await refusalOfRows('own')
    if (refusal) return refusal
    const values = this.refusable.map((property) => arrayText(rows.map((row) => row.get(property) ?? null)))
    const statement = compileRowRefusals(this.entity, this.refusable, values, guard, FAULTS_MAX)
    if (statement === null) return refusalOfRows('all')
    const faults = (await this.database.read(statement)).map(([number, cause]): Fault => {
      const index = Number(number) - 1
      const taken = takenValue(this.entity, cause as string)
      return faultOf(index, asSeen(taken ?? missingReference(cause as string, rows[index] as Assignments), seen))
    })
    return faults.length === 0 ? refusalOfRows('all') : faultsError(faults)
  }

  private ruleOf(name: string): Rule | undefined {
    return this.entity.rules.find(({ constraint }) => constraint === name)
  }
}

function brokenRule({ later, earlier }: Rule): ApiError {
  const message = `${later.name} must not be before ${earlier.name}.`
  return faultsError([{ code: 'InvalidValue', target: later.name, message }])
}

/** Returns the fault of a reference that names a missing row. `column`: column of the reference. */
function missingReference(column: string, assignments: Assignments): Fault {
  const [property, value] = [...assignments].find(([candidate]) => candidate.column === column) ?? []
  const message = `${property?.name} names no ${property?.reference?.entity}${value === '0' ? '' : `: there is none with id ${value}`}.`
  return { code: 'ReferenceNotFound', target: property?.name ?? 'Body', message }
}

/**
 * Returns the fault of a value that is not free, by the name of the unique constraint; null if the constraint is of another kind.
 */
function takenValue({ name, properties }: Entity, constraint: string): Fault | null {
  const property = properties.find(({ unique }) => unique === constraint)
  if (!property) return null
  const message = `${property.name} is not free: another ${name} has this value.`
  return { code: 'AlreadyExists', target: property.name, message }
}

/** Maximum number of referring rows to count for each column; a message calls more rows "over 1,000". */
const COUNTED_MAX = 1_000

/** Number of rows that refer to a row, for each referring column. */
type Counts = readonly number[]

/**
 * Counts for each column the rows that refer to a row. Counting stops above `COUNTED_MAX`, or at 1 if the key may see no count.
 * Returns null if the row does not exist.
 */
async function countReferring(
  database: Database,
  entity: Entity,
  id: string,
  referring: readonly ReferringColumn[],
  rights: GrantedRights | null,
): Promise<Counts | null> {
  const isCounted = referring.some((column) => isWhollyReadable(column, rights))
  const [found] = await database.read(compileDeleteBlockers(entity, id, referring, isCounted ? COUNTED_MAX + 1 : 1))
  return found ? referring.map((_, index) => Number(found[index])) : null
}

/** Returns whether the key may read the column in every row. Then the error may count the rows that refer by this column. */
function isWhollyReadable({ entity, property }: ReferringColumn, rights: GrantedRights | null): boolean {
  const read = rights?.accessTo(entity).read
  return read?.filters.length === 0 && read.properties.some(({ name }) => name === property)
}

/**
 * Returns the error of deleting a row to which other rows refer. The message counts only rows that the key may read. If hidden
 * rows could refer to the row, the message does not tell whether they do. `isWhole`: only rows of `referring` can refer to the
 * row.
 */
function stillReferenced(
  entity: Entity,
  id: string,
  referring: readonly ReferringColumn[],
  counts: Counts,
  rights: GrantedRights | null,
  isWhole: boolean,
): ApiError {
  const isReadable = (column: ReferringColumn) => isWhollyReadable(column, rights)
  const texts = referring.flatMap((column, index) => {
    const count = counts[index] ?? 0
    if (count === 0 || !isReadable(column)) return []
    return `${count > COUNTED_MAX ? 'over 1,000' : count} of ${column.entity.plural} (${column.property}=${id})`
  })
  const among = isWhole && referring.every(isReadable) ? ': ' : ', among them '
  const list = texts.length === 0 ? '' : among + texts.join(', ')
  return new ApiError('StillReferenced', `${entity.name} ${id} was not deleted: other rows refer to it${list}.`)
}
