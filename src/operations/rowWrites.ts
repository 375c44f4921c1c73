import { compileRefusals } from '../compile/refusals.ts'
import { compileKept, compileRemove } from '../compile/remove.ts'
import { ApiError, type Fault, faultsError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { ConstraintViolation } from '../execute/sqlstate.ts'
import type { Batchable, Once } from '../model/batch.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Entity, Rule } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { WritePlan } from '../model/writePlan.ts'
import { inProgress, type Repeats } from './repeats.ts'
import type { VersionAsked } from './rowVersions.ts'

/** A write may be refused each time for what is no longer so. */
export const ATTEMPTS_MAX = 3

/** A plan with the versions that its request asks for. */
export interface CheckedPlan extends WritePlan {
  readonly asked: VersionAsked | null
}

/** Writes single rows of one entity; says why one was refused, which its statement does not. D13, D16. */
export class RowWrites {
  /** `notFound`: the error for a row that is not there. */
  constructor(
    private readonly entity: Entity,
    private readonly database: Database,
    private readonly repeats: Repeats,
    private readonly notFound: (id: string) => ApiError,
  ) {}

  /** Runs a write; again if it was refused for something that others have changed since. @throws ApiError */
  async write(plan: CheckedPlan, statement: Batchable, writes: Pick<Database, 'write'> = this.database): Promise<Row> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const [row] = await this.attempt(plan, statement, writes)
      if (row) return row
      await this.refuse(plan)
    }
    throw plan.once ? inProgress() : conflict()
  }

  /**
   * Runs a write once; no row if it was refused. A refusal that only a constraint has seen becomes the error that explains it.
   */
  attempt({ values }: WritePlan, statement: Batchable, writes: Pick<Database, 'write'> = this.database): Promise<Row[]> {
    return this.repeats.run(writes, statement).catch(async (error) => {
      throw error instanceof ConstraintViolation ? await this.explain(error, values) : error
    })
  }

  /** Deletes a row. @throws ApiError NotFound, StillReferenced, PreconditionFailed; as `Repeats.look`, InProgress */
  async remove(plan: CheckedPlan, referring: readonly ReferringColumn[]): Promise<Row> {
    const { id, asked, once } = plan
    const statement = compileRemove(this.entity, plan, referring)
    const [row] = await this.repeats.run(this.database, statement).catch((error) => {
      throw error instanceof ConstraintViolation && error.kind === 'foreignKey' ? this.stillReferenced(id) : error
    })
    if (row) return row
    const error = await this.reason(async () => {
      await asked?.find(id)
      const [found] = await this.database.read(compileKept(this.entity, id, referring))
      if (!found) return this.notFound(id)
      return once && found[0] !== 't' ? null : this.stillReferenced(id)
    }, once)
    throw error ?? inProgress()
  }

  /** @throws ApiError that says why a write was refused, if that still holds */
  async refuse({ id, values, asked, once }: CheckedPlan): Promise<void> {
    const error = await this.reason(async () => {
      await asked?.find(id)
      return this.find(id, values)
    }, once)
    if (error) throw error
  }

  /** Returns or throws what `find` does. A write under the same key may have ended a moment ago, and be the reason. */
  private async reason(find: () => Promise<ApiError | null>, once?: Once | null): Promise<ApiError | null> {
    const error = await find().catch((thrown: ApiError) => thrown)
    if (error && once) await this.repeats.look(once)
    return error
  }

  private async find(id: string, assignments: Assignments): Promise<ApiError | null> {
    const statement = compileRefusals(this.entity, id === '' ? null : id, assignments)
    const causes = statement ? (await this.database.read(statement)).map(([cause]) => cause as string) : []
    if (id !== '' && causes.includes('id')) return this.notFound(id)
    const taken = causes.flatMap((cause) => takenValue(this.entity, cause) ?? [])
    const references = causes.filter((cause) => !this.ruleOf(cause) && !takenValue(this.entity, cause))
    const rule = causes.filter((cause) => this.ruleOf(cause)).sort()[0]
    // As PostgreSQL, which holds a row against constraints by their names.
    if (rule !== undefined && references.every((column) => rule < `${this.entity.table}_${column}_found`))
      return brokenRule(this.ruleOf(rule) as Rule)
    const faults = [...references.map((column) => missingReference(column, assignments)), ...taken]
    return faults.length === 0 ? null : faultsError(faults as [Fault, ...Fault[]])
  }

  /** Error for a write that a constraint has refused, because others have written in the meantime. */
  private async explain(violation: ConstraintViolation, assignments: Assignments): Promise<ApiError> {
    const rule = this.ruleOf(violation.constraint)
    if (rule) return brokenRule(rule)
    const taken = takenValue(this.entity, violation.constraint)
    if (taken) return faultsError([taken])
    return (await this.find('', assignments)) ?? conflict(violation)
  }

  private stillReferenced(id: string): ApiError {
    const message = `${this.entity.name} ${id} was not deleted: other rows refer to it.`
    return new ApiError('StillReferenced', message)
  }

  private ruleOf(name: string): Rule | undefined {
    return this.entity.rules.find(({ constraint }) => constraint === name)
  }
}

/** Others keep changing what the write depends on. */
export function conflict(cause?: ConstraintViolation): ApiError {
  return new ApiError('Conflict', 'The write does not agree with what is stored; nothing was written.', { cause })
}

function brokenRule({ later, earlier }: Rule): ApiError {
  const [target, message] = [later.name, `${later.name} must not be before ${earlier.name}.`]
  return faultsError([{ code: 'InvalidValue', target, message }])
}

/** The reference in this column names no row. */
export function missingReference(column: string, assignments: Assignments): Fault {
  const [property, value] = [...assignments].find(([candidate]) => candidate.column === column) ?? []
  const message = `${property?.name} names no ${property?.reference?.entity}${value === '0' ? '' : `: there is none with id ${value}`}.`
  return { code: 'ReferenceNotFound', target: property?.name ?? 'Body', message }
}

/** Fault of a unique property's value by the name of its constraint; null: it is another constraint. */
export function takenValue({ name, properties }: Entity, constraint: string): Fault | null {
  const property = properties.find(({ unique }) => unique === constraint)
  if (!property) return null
  const message = `${property.name} is not free: another ${name} has this value.`
  return { code: 'AlreadyExists', target: property.name, message }
}
