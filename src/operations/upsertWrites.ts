// Writes of upserts: divides rows into new and stored ones, compiles and runs the statement, and explains refusals. D115
import { writableOf } from '../compile/createRows.ts'
import { checkedGuard } from '../compile/guard.ts'
import { compileMatchedRows } from '../compile/matchedRows.ts'
import { compileUpsert, compileUpsertCheck } from '../compile/upsert.ts'
import type { UpsertShape } from '../compile/upsertChanges.ts'
import { ApiError, FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { BatchableStatement, IdempotencyClaim } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { arrayText, type Row } from '../model/sql.ts'
import type { MatchedRow, UpsertRows } from '../parse/upsert.ts'
import { arraysOf } from './bulkCreates.ts'
import type { FaultOf } from './guardRefusals.ts'
import { conflict, type Idempotency, type Written } from './idempotency.ts'
import type { RefusedUpdate } from './refusals.ts'
import { accessFor, type ResourceParts, type ResourceRequest, viewFor } from './resourceRequest.ts'
import { type RowWrites, runStatement } from './rowWrites.ts'

/**
 * Maximum stored rows that have one of the values in a body. More rows make the statement slow, and mean that the values do not
 * tell rows apart.
 */
const STORED_MAX = 10_000
/** Maximum ids that a message lists. */
const IDS_MAX = 5

/** Division of a body's rows into new and stored ones. */
export interface Division {
  /** Id of the stored row for each row of the body, by index; null: the row is new. */
  readonly ids: readonly (string | null)[]
  /** Ids of all rows that the key may read and that have one of the body's values. */
  readonly known: readonly string[]
}

export interface Upsert {
  readonly matched: Property
  readonly rows: UpsertRows
  readonly division: Division
  readonly claim: IdempotencyClaim | null
  readonly faultOf: FaultOf
}

/**
 * Result of a check. `refused`: rows of the body, by index, whose stored rows may not be updated. `differing`: number of stored
 * rows that the upsert would change. `equal`: number of stored rows that the upsert would leave as they are.
 */
interface Checked {
  readonly refused: readonly number[]
  readonly differing: number
  readonly equal: number
}

export class UpsertWrites {
  constructor(
    private readonly entity: Entity,
    private readonly writes: RowWrites,
    private readonly idempotency: Idempotency,
    private readonly parts: ResourceParts,
  ) {}

  /**
   * Divides the rows of a body into new rows and rows that are stored already. Stored rows that the key may not read do not
   * count. @throws ApiError with a fault for each value that several stored rows have
   */
  async divide(call: ResourceRequest, matched: Property, rows: readonly MatchedRow[], faultOf: FaultOf): Promise<Division> {
    const valued = rows.filter(({ value }) => value !== null)
    const ids: (string | null)[] = rows.map(() => null)
    if (valued.length === 0) return { ids, known: [] }
    const values = valued.map(({ value }) => value as string)
    const found = await this.parts.database.read(compileMatchedRows(viewFor(call), matched, values, STORED_MAX + 1))
    if (found.length > STORED_MAX) {
      const message = `match must tell rows apart: the values of this body are those of more than 10,000 ${this.entity.plural}.`
      throw new ApiError('InvalidMatch', message, { target: 'match' })
    }
    const faults: Fault[] = []
    for (const [number, stored] of Map.groupBy(found, ([number]) => Number(number))) {
      const { index } = valued[number - 1] as MatchedRow
      ids[index] = stored[0]?.[1] as string
      if (stored.length > 1) faults.push(faultOf(index, sharedValue(this.entity, matched, stored)))
    }
    if (faults.length > 0) throw faultsError(faults.slice(0, FAULTS_MAX))
    return { ids, known: found.map(([, id]) => id as string) }
  }

  /**
   * Writes the rows once. Returns null if the write was refused and the cause is gone. `again`: divides the rows of the body
   * again. @throws ApiError with the cause
   */
  async attempt(call: ResourceRequest, upsert: Upsert, isLong: boolean, again: () => Promise<Division>): Promise<Written | null> {
    const statement = await this.compile(call, upsert, isLong)
    const writer = isLong ? this.writes.longWriter(call) : this.parts.database
    const { rows, violation } = await runStatement(statement, writer)
    if (rows.length > 0) return { rows, isReplayed: false }
    const isSame = isSameDivision(upsert.division, await again())
    const refusal = isSame ? await this.explain(call, upsert) : null
    // The stored answer is read after the search for a cause. A write with the same Idempotency-Key may have ended in the
    // meantime, and may be the cause.
    const stored = await this.idempotency.findStoredAfterWrite(upsert.claim)
    if (stored !== null) return { rows: stored, isReplayed: true }
    if (refusal !== null) throw refusal
    if (isSame && violation !== null) throw conflict(violation)
    return null
  }

  /** Returns whether the upsert can change copies of names, which may take long. */
  mayRename({ rows: { changed } }: Upsert): boolean {
    return this.writes.copying.length > 0 && this.writes.renaming(changed).length > 0
  }

  /**
   * Checks an upsert without writing; returns how many stored rows it would change, and how many it would leave as they are.
   * @throws ApiError
   */
  async check(call: ResourceRequest, upsert: Upsert): Promise<Checked> {
    const refusal = await this.explain(call, upsert)
    if (refusal !== null) throw refusal
    return this.checkStored(call, upsert)
  }

  private shapeOf(call: ResourceRequest, { matched, rows }: Upsert, isLong: boolean): UpsertShape {
    const { entity, writes } = this
    const { creates, right, updates, changed } = rows
    const { properties, filters: shown } = viewFor(call)
    const visible = new Set(properties)
    const renaming = writes.renaming(changed)
    const ofUpdate = updates.length === 0 ? null : accessFor(call, 'update').guardOf(changed)
    return {
      entity,
      matched,
      shown,
      hasCreates: creates.length > 0,
      hasUpdates: updates.length > 0,
      changed,
      isUniform: updates.every(({ values }) => values.size === changed.length),
      hidden: changed.filter((property) => !visible.has(property)),
      renaming,
      copying: isLong || renaming.length === 0 ? null : writes.copying,
      ofCreate: right && checkedGuard(entity, right.guard, valuesOf(creates)),
      ofUpdate: checkedGuard(entity, ofUpdate, valuesOf(updates)),
    }
  }

  private async compile(call: ResourceRequest, upsert: Upsert, isLong: boolean): Promise<BatchableStatement> {
    const { rows, division, claim } = upsert
    const { creates, updates, changed } = rows
    const created = await arraysOf(valuesOf(creates), writableOf(this.entity))
    const matched = [
      ...valuesOf(creates).map((values) => values.get(upsert.matched) ?? null),
      ...updates.map((row) => row.matched),
    ]
    const values = {
      created: [...created, arrayText(creates.map(({ index }) => String(index)))],
      updated: await updateArrays(rows, changed),
      matched: arrayText(matched),
      known: arrayText(division.known),
    }
    return compileUpsert(this.shapeOf(call, upsert, isLong), values, claim, call.key)
  }

  private async checkStored(call: ResourceRequest, upsert: Upsert): Promise<Checked> {
    const { rows } = upsert
    if (rows.updates.length === 0) return { refused: [], differing: 0, equal: 0 }
    const statement = compileUpsertCheck(this.shapeOf(call, upsert, true), await updateArrays(rows, rows.changed))
    const checked = await this.parts.database.read(statement)
    const differing = checked.filter(([, , differs]) => differs === 't').length
    const refused = checked.flatMap(([index, isRight]) => (isRight === 't' ? [] : Number(index)))
    return { refused, differing, equal: checked.length - differing }
  }

  /** Returns an error that names each row that may not be written, up to a maximum; null if all rows may be written. */
  private async explain(call: ResourceRequest, upsert: Upsert): Promise<ApiError | null> {
    const { refusals } = this.writes
    const { rows, faultOf } = upsert
    const { creates, right, updates, changed } = rows
    const faults: Fault[] = []
    if (right !== null) {
      const faultOfCreate: FaultOf = (number, fault) => faultOf(creates[number]?.index ?? number, fault)
      const seen = accessFor(call, 'create').body
      const refused = { verb: 'createRows', rows: valuesOf(creates), guard: right.guard, seen, faultOf: faultOfCreate } as const
      const refusal = await refusals.explainRefusal(refused, null)
      if (refusal !== null && refusal.details === null) return refusal
      faults.push(...(refusal?.details ?? []))
    }
    const { refused } = await this.checkStored(call, upsert)
    for (const index of refused) {
      if (faults.length >= FAULTS_MAX) break
      const { body, guardOf } = accessFor(call, 'update')
      const { id, values } = updates.find((row) => row.index === index) as UpsertRows['updates'][number]
      const plan = { id, values, versions: null, claim: null, keyId: call.key, guard: guardOf(changed) }
      const update: RefusedUpdate = { verb: 'update', plan, expected: null, reach: guardOf([]), seen: body }
      const refusal = await refusals.explainRefusal(update, null)
      if (refusal === null) continue
      const { code, message, details } = refusal
      faults.push(...(details ?? [{ code, target: 'Body', message }]).map((fault) => faultOf(index, fault)))
    }
    return faults.length === 0 ? null : faultsError(faults.slice(0, FAULTS_MAX))
  }
}

const valuesOf = (rows: UpsertRows['creates']) => rows.map(({ values }) => values)

/** Returns the values for stored rows as arrays, in the order of `UpsertValues.updated`. */
async function updateArrays({ updates }: UpsertRows, changed: readonly Property[]): Promise<string[]> {
  const masks = updates.map(({ values }) => changed.map((property) => (values.has(property) ? '1' : '0')).join(''))
  return [
    arrayText(updates.map(({ id }) => id)),
    arrayText(updates.map(({ matched }) => matched)),
    arrayText(updates.map(({ index }) => String(index))),
    arrayText(masks),
    ...(await arraysOf(valuesOf(updates), changed)),
  ]
}

function sharedValue({ name }: Entity, matched: Property, stored: readonly Row[]): Fault {
  const ids = stored.slice(0, IDS_MAX).map(([, id]) => id)
  const others = stored.length > IDS_MAX ? ` and ${stored.length - IDS_MAX} more` : ''
  const message = `${matched.name} does not tell which ${name} is meant: ${ids.join(', ')}${others} have this value.`
  return { code: 'AlreadyExists', target: matched.name, message }
}

function isSameDivision(one: Division, other: Division): boolean {
  return one.ids.join() === other.ids.join() && one.known.toSorted().join() === other.known.toSorted().join()
}
