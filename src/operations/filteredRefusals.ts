// Refusals of writes by filters: one refused row refuses the whole write, so the error names that row, and says how to leave it
// out. D113
import type { FilteredState } from '../compile/filteredRows.ts'
import { ApiError, type Fault, faultsError } from '../errors.ts'
import type { ConstraintViolation } from '../execute/outcomes.ts'
import type { GrantedRights, Guard } from '../model/access.ts'
import type { WritePlan } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Seen } from './guardRefusals.ts'
import { conflict } from './idempotency.ts'
import type { Refusals } from './refusals.ts'
import type { ExpectedVersion } from './rowReads.ts'

interface RefusedRow {
  readonly state: FilteredState
  readonly guard: Guard | null
  /** Version that each row must have; null: rows may have any version. */
  readonly expected: ExpectedVersion | null
  readonly seen: Seen
  readonly keyId: string
}

interface RefusedUpdate extends RefusedRow {
  /** Guard of all rights to update; null: these rights admit every row. */
  readonly reach: Guard | null
  readonly values: Assignments
}

interface RefusedDeletion extends RefusedRow {
  readonly rights: GrantedRights | null
}

const NOTHING: Assignments = new Map()

export class FilteredRefusals {
  constructor(
    private readonly entity: Entity,
    private readonly refusals: Refusals,
  ) {}

  /** Returns why the first refused row cannot be updated; null if the cause is gone. */
  async ofUpdate(refused: RefusedUpdate, violation: ConstraintViolation | null): Promise<ApiError | null> {
    const { state, values, guard, expected, reach, seen } = refused
    const plan = planOf(refused, values)
    const cause = await this.refusals.explainRefusal({ verb: 'update', plan, expected, reach, seen }, violation)
    if (cause !== null) {
      const names = [...values.keys()].map(({ name }) => name)
      return this.named(cause, state, guard && `update(${names.join()})`)
    }
    return state.found > 1 ? this.sharedValue(state, values) : null
  }

  /** Returns why the first refused row cannot be deleted; null if the cause is gone. */
  async ofDeletion(refused: RefusedDeletion, violation: ConstraintViolation | null): Promise<ApiError | null> {
    const { state, guard, expected, rights, seen } = refused
    const plan = planOf(refused, NOTHING)
    const cause = await this.refusals.explainRefusal({ verb: 'delete', plan, expected, rights, seen }, violation)
    return cause && this.named(cause, state, guard && 'delete')
  }

  /** Returns an error for a constraint that refused every attempt, although no refused row was found. */
  ofViolation(verb: 'update' | 'delete', violation: ConstraintViolation): ApiError {
    if (!violation.isForeignKey) return conflict(violation)
    if (verb === 'update') {
      const message = `Rows that match get other names, and one of them becomes what others refer to: send two requests.`
      return new ApiError('Conflict', message, { cause: violation })
    }
    return new ApiError('StillReferenced', `No ${this.entity.name} was deleted: rows of another table refer to one that matches.`)
  }

  /**
   * Returns `cause` with the id of the refused row in its message. Returns null if the row no longer matches. `may`: value that
   * the message can suggest for the query parameter `may`, such as `delete`, to leave out rows that the key has no right to
   * write. `may` is null if the key has the right to write every row.
   */
  private named(cause: ApiError, { refused, found, refusedId }: FilteredState, may: string | null): ApiError | null {
    const { code, details, target, headers } = cause
    // The key may no longer read or write the row, so the row does not match any more.
    if (code === 'NotFound') return null
    // The message names the missing row to which the body refers, so it needs no id of a refused row.
    if (code === 'ReferenceNotFound') return cause
    const hint = code === 'Forbidden' && may !== null && refused < found ? ` Add may=${may} to leave out such rows.` : ''
    const count = refused > 1 ? ` ${refused} of ${found} rows that match are refused.` : ''
    const row = `${this.entity.name} ${refusedId}`
    const about = (message: string) => (message.startsWith(`${row} `) ? message : `${row}: ${message}`)
    if (details === null) return new ApiError(code, about(cause.message) + count + hint, { target, headers })
    const faults = details.map((fault): Fault => ({ ...fault, message: about(fault.message) + count + hint }))
    return faultsError(faults)
  }

  /** Returns the error of a unique value that several rows would get; null if the write sets no unique value. */
  private sharedValue({ found }: FilteredState, values: Assignments): ApiError | null {
    const [property] = [...values].find(([{ unique }, value]) => unique !== null && value !== null) ?? []
    if (!property) return null
    const { name, plural } = { name: property.name, plural: this.entity.plural }
    const message = `${name} is not free: ${found} ${plural} match, and only one row may have this value.`
    return faultsError([{ code: 'AlreadyExists', target: name, message }])
  }
}

function planOf({ state, guard, expected, keyId }: RefusedRow, values: Assignments): WritePlan {
  return { id: state.refusedId ?? '', values, versions: expected?.versions ?? null, claim: null, keyId, guard }
}
