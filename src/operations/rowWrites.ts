// Writes of single rows: creates, updates and deletes them, takes copies along, and says why a write was refused. D13, D16.
import { compileCreate, compileUpdate } from '../compile/entity.ts'
import { compileRefusals } from '../compile/refusals.ts'
import { compileRemove } from '../compile/remove.ts'
import { type ApiError, type Fault, faultsError } from '../errors.ts'
import { LONG_WRITE_MS_MAX, type LongWrites } from '../execute/longWrites.ts'
import type { ConstraintViolation } from '../execute/outcomes.ts'
import type { Once, WritePlan } from '../model/batch.ts'
import { copiedProperties, ownCopiesOf, type ReferringColumn, referringColumns, writtenBehind } from '../model/copies.ts'
import type { Entity, Rule } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { Explain, Repeats } from './repeats.ts'
import type { ResourceParts, ResourceRequest } from './resourceRequest.ts'
import type { RowReads, VersionAsked } from './rowReads.ts'
import { countReferring, stillReferenced } from './stillReferenced.ts'

const NOTHING: Assignments = new Map()

/** A statement does not say why it was refused; another one finds the cause. */
export class RowWrites {
  /** Columns of any entity that refer to this one's rows. */
  private readonly referring: readonly ReferringColumn[]
  /** Columns whose values other rows copy, as they are or in a text that is computed from them; and the columns of those rows. */
  private readonly behindCopied: ReadonlySet<string>
  private readonly copying: readonly ReferringColumn[]
  private readonly own: ReturnType<typeof ownCopiesOf>
  /**
   * True if renames may be part of a batch: what is copied is what clients write, and no text that is computed; and no row of
   * the batch gets a copy of another one, behind the statement that has returned it with its version.
   */
  private readonly areBatched: boolean

  constructor(
    private readonly entity: Entity,
    entities: readonly Entity[],
    private readonly reads: RowReads,
    private readonly repeats: Repeats,
    private readonly parts: ResourceParts,
  ) {
    this.referring = referringColumns(entity, entities)
    const copied = copiedProperties(entity, entities)
    this.behindCopied = new Set(copied.flatMap((property) => writtenBehind(entity, property)))
    this.copying = this.referring.filter(({ isCopying }) => isCopying)
    this.own = ownCopiesOf(entity)
    this.areBatched = this.own.length === 0 && copied.every(({ writable }) => writable)
  }

  /** Creates a row; returns it as it is now, and the transaction that wrote it. @throws ApiError */
  async create({ key }: ResourceRequest, values: Assignments, once: Once | null): Promise<Row> {
    const plan = { id: '', values, versions: null, once, asker: key }
    const [row] = await this.repeats.write(compileCreate(this.entity, plan), (violation) => this.explain(plan, null, violation))
    return row as Row
  }

  /** Changes a row; returns it as its statement does, and the transaction that wrote it. @throws ApiError */
  async update(call: ResourceRequest, id: string, values: Assignments, once: Once | null): Promise<Row> {
    const asked = await this.asked(call, id, once)
    if (values.size === 0) {
      if (once !== null) await this.repeats.look(once)
      return (asked ?? this.reads).find(id)
    }
    const plan = { id, values, versions: asked?.versions ?? null, once, asker: call.key }
    const explain: Explain = (violation) => this.explain(plan, asked, violation)
    const { longWrites } = this.parts
    const isRename = longWrites !== null && this.reachesCopies(values)
    const [row] = isRename
      ? await this.rename(call, plan, explain, longWrites)
      : await this.repeats.write(compileUpdate(this.entity, plan), explain)
    return row as Row
  }

  /** Deletes a row; returns it as it was. @throws ApiError NotFound, StillReferenced, PreconditionFailed; as `Repeats.write` */
  async remove(call: ResourceRequest, id: string, once: Once | null): Promise<Row> {
    const asked = await this.asked(call, id, once)
    const plan = { id, values: NOTHING, versions: asked?.versions ?? null, once, asker: call.key }
    const [row] = await this.repeats.write(compileRemove(this.entity, plan, this.referring), async (violation) => {
      await asked?.find(id)
      if (violation && !violation.isForeignKey) return
      const counts = await countReferring(this.parts.database, this.entity, id, this.referring, call)
      if (counts === null && !violation) throw this.reads.notFound(id)
      // A foreign key of a table that is no entity's may have refused it.
      const isWhole = violation === undefined
      if (violation || counts?.some((count) => count > 0))
        throw stillReferenced(this.entity, id, this.referring, counts ?? [], call, isWhole)
    })
    return row as Row
  }

  /** Reads the conditions of a request; a repeated one may ask for the version that its first one has replaced. */
  private async asked({ request }: ResourceRequest, id: string, once: Once | null): Promise<VersionAsked | null> {
    if (once !== null && request.headers.has('if-none-match')) await this.repeats.look(once)
    return this.reads.asked(request.headers, id)
  }

  /** Returns whether the values may reach rows that copy from this one. */
  private reachesCopies(values: Assignments): boolean {
    for (const { column } of values.keys()) if (this.behindCopied.has(column)) return true
    return false
  }

  /** A row that refers to itself gets its copies after the statement has returned it: they are added here. */
  withOwnCopies(row: Row): Row {
    let whole = row
    for (const { reference, copy, source } of this.own)
      if (row[reference] === row[0]) whole = whole.with(copy, row[source] as string | null)
    return whole
  }

  /** Updates all copies: few within a batch, many by a statement alone, very many one rename at a time. It assumes few first. */
  private async rename(call: ResourceRequest, plan: WritePlan, explain: Explain, longWrites: LongWrites): Promise<Row[]> {
    const few = compileUpdate(this.entity, plan, this.copying)
    const alone = { ...few, batch: null }
    // A computed text may or may not change, and a batch would be given up for one with many copies.
    for (const statement of this.areBatched ? [few, alone] : [alone]) {
      const rows = await this.repeats.attempt(statement, explain)
      if (rows.length > 0) return rows
      await this.repeats.refuse(explain, plan.once)
    }
    call.server?.timeout(call.request, LONG_WRITE_MS_MAX / 1_000)
    return this.repeats.write(compileUpdate(this.entity, plan), explain, longWrites)
  }

  /** Explains why a row was neither created nor changed. @throws ApiError */
  private async explain({ id, values }: WritePlan, asked: VersionAsked | null, violation?: ConstraintViolation): Promise<void> {
    await asked?.find(id)
    const broken = violation && this.ruleOf(violation.constraint)
    if (broken) throw brokenRule(broken)
    const statement = compileRefusals(this.entity, id === '' ? null : id, values)
    const causes = statement ? (await this.parts.database.read(statement)).map(([cause]) => cause as string) : []
    if (id !== '' && causes.includes('id')) throw this.reads.notFound(id)
    const taken = causes.flatMap((cause) => takenValue(this.entity, cause) ?? [])
    const references = causes.filter((cause) => !this.ruleOf(cause) && !takenValue(this.entity, cause))
    const rule = causes.filter((cause) => this.ruleOf(cause)).sort()[0]
    // As PostgreSQL, which holds a row against constraints by their names.
    if (rule !== undefined && references.every((column) => rule < `${this.entity.table}_${column}_found`))
      throw brokenRule(this.ruleOf(rule) as Rule)
    const faults = [...references.map((column) => missingReference(column, values)), ...taken]
    // A trigger may have changed the value, or the other row may be gone by now.
    const known = violation && takenValue(this.entity, violation.constraint)
    if (faults.length === 0 && known) faults.push(known)
    if (faults.length > 0) throw faultsError(faults as [Fault, ...Fault[]])
  }

  private ruleOf(name: string): Rule | undefined {
    return this.entity.rules.find(({ constraint }) => constraint === name)
  }
}

function brokenRule({ later, earlier }: Rule): ApiError {
  const [target, message] = [later.name, `${later.name} must not be before ${earlier.name}.`]
  return faultsError([{ code: 'InvalidValue', target, message }])
}

/** Fault of a reference, by its column, that names no row. */
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
