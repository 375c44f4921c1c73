// Decides the rights of persons from rows. The rights are as fresh as any read. For a list from memory, the rights are of the
// same snapshot as the list's rows. D106
import { ApiError } from '../errors.ts'
import type { ListReads } from '../execute/listReads.ts'
import { retryLater } from '../execute/outcomes.ts'
import type { Version } from '../memory/questionQueue.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import type { TableCopy } from '../memory/tableCopy.ts'
import type { GrantedRights } from '../model/access.ts'
import type { BatchableStatement } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { RightsNow } from '../model/principal.ts'
import type { RowQuestions } from '../model/rowQuestions.ts'
import type { Row } from '../model/sql.ts'
import { type RequestTime, requestTime } from '../roles/requestTime.ts'
import type { Claims, Roles } from '../roles/roles.ts'
import { CopyQuestions } from './copyQuestions.ts'
import { DatabaseQuestions } from './databaseQuestions.ts'
import { RightsMoment } from './momentRights.ts'
import { waitForCopies } from './neededCopies.ts'

interface CurrentRightsParts {
  readonly roles: Pick<Roles, 'rightsOf' | 'sources'>
  /** Copies of tables that answer questions; null: the database answers every question. */
  readonly memory: TableCopies | null
  readonly listReads: Pick<ListReads, 'read'>
}

/** Rights that were decided from copies. They are valid while the copies have this `version`, in the minute of `time`. */
interface KeptRights {
  readonly version: Version
  readonly time: RequestTime
  readonly isEmailVerified: boolean
  /** A weak reference, because `Roles` decides how many rights stay in memory. */
  readonly granted: WeakRef<GrantedRights>
}

/** A person: the claims of her token, and the object that asks the database about her. */
interface Subject {
  readonly claims: Claims
  readonly isEmailVerified: boolean
  readonly database: RowQuestions
}

export class CurrentRights {
  /** Last rights of each person, by the claims of a token. Requests with the same token have the same `Claims` object. */
  private readonly kept = new WeakMap<Claims, KeptRights>()

  constructor(private readonly parts: CurrentRightsParts) {}

  /**
   * Returns the rights of a person at a time after this call. `reads`: entities that the request is about to list. Their copies
   * are refreshed together with the copies for the rights, so that the request need not wait again. @throws ApiError
   */
  of(claims: Claims, isEmailVerified: boolean, reads: readonly Entity[] = []): RightsNow | Promise<RightsNow> {
    const { roles, memory } = this.parts
    const subject = { claims, isEmailVerified, database: this.databaseQuestions(claims) }
    if (memory === null) return ofNoMoment(roles.rightsOf(claims, subject.database, isEmailVerified))
    if (roles.sources.length === 0) return ofNoMoment(this.ask(memory, subject, []))
    return this.decide(memory, subject, reads)
  }

  private async decide(memory: TableCopies, subject: Subject, reads: readonly Entity[]): Promise<RightsNow> {
    const { sources } = this.parts.roles
    const others = reads.filter((entity) => !sources.includes(entity))
    // If a table of the list has no usable copy, the rights are still decided from the copies of `sources`.
    const choices = others.length === 0 ? [sources] : [[...sources, ...others], sources]
    for (const tables of choices) {
      const copies = memory.allOf(tables)
      if (copies === null) continue
      await memory.refresh(copies)
      const wait = (attempt: number) => waitForCopies(memory, copies, () => null, attempt)
      for (let attempt = 1, waiting = wait(attempt); waiting; waiting = wait(++attempt)) await waiting
      // No `await` from here on, so that the copies stay as they are until the rights are decided.
      if (memory.versionOf(copies) === null) continue
      const granted = this.decideNow(memory, subject, copies)
      if (granted instanceof Promise) return ofNoMoment(granted)
      return { rights: granted, moment: new RightsMoment(copies, (all) => this.follow(memory, subject, all, granted)) }
    }
    return ofNoMoment(this.ask(memory, subject, []))
  }

  /** Decides rights from copies of one snapshot. Returns a promise only if questions need more than these copies. */
  private decideNow(memory: TableCopies, subject: Subject, copies: readonly TableCopy[]): GrantedRights | Promise<GrantedRights> {
    const { claims, isEmailVerified } = subject
    const { sources } = this.parts.roles
    const ofRights = copies.filter(({ entity }) => sources.includes(entity))
    const version = memory.versionOf(copies, ofRights) as Version
    const time = requestTime()
    const kept = this.kept.get(claims)
    const isKept = kept?.version === version && kept.time === time && kept.isEmailVerified === isEmailVerified
    const last = isKept ? kept.granted.deref() : undefined
    if (last) return last
    const startMs = performance.now()
    const granted = this.ask(memory, subject, copies)
    memory.slices.note(performance.now() - startMs)
    if (!(granted instanceof Promise)) this.kept.set(claims, { version, time, isEmailVerified, granted: new WeakRef(granted) })
    return granted
  }

  /** Returns whether the rights `granted` still follow from the copies in this turn of the event loop. */
  private follow(memory: TableCopies, subject: Subject, copies: readonly TableCopy[], granted: GrantedRights): boolean {
    const present = this.decideNow(memory, subject, copies)
    if (!(present instanceof Promise)) {
      const isSame = present.text === granted.text && present.signedText === granted.signedText
      return present === granted || isSame
    }
    // The copies do not have all answers. So the request begins anew and waits for the answers; an error of this promise is
    // ignored.
    present.catch(() => undefined)
    return false
  }

  private ask(
    memory: TableCopies,
    { claims, isEmailVerified, database }: Subject,
    copies: readonly TableCopy[],
  ): GrantedRights | Promise<GrantedRights> {
    const questions = new CopyQuestions(copies, { memory, caller: callerOf(claims), database })
    return this.parts.roles.rightsOf(claims, questions, isEmailVerified)
  }

  private databaseQuestions(claims: Claims): RowQuestions {
    const read = (statement: BatchableStatement): Promise<Row[]> => {
      // Statements are grouped by their text, because statements with the same text are likely to cost the same.
      const parentRow = `rights ${Bun.hash(statement.text)}`
      return this.parts.listReads.read(statement, callerOf(claims), { parentRow, isCostly: false }).catch(asUnavailable)
    }
    return new DatabaseQuestions(read)
  }
}

/** Returns the result for rights that were not decided from copies: its `moment` is null. */
function ofNoMoment(granted: GrantedRights | Promise<GrantedRights>): RightsNow | Promise<RightsNow> {
  if (granted instanceof Promise) return granted.then((rights) => ({ rights, moment: null }))
  return { rights: granted, moment: null }
}

const NEVER_ABORTED = new AbortController().signal

/** Returns the caller of statements about a person. Its signal is never aborted, because several requests share the answers. */
function callerOf({ iss, sub }: Claims) {
  return { key: JSON.stringify([iss, sub]), request: { signal: NEVER_ABORTED } }
}

/** Rethrows an error. TooCostly becomes a 503, because a question that takes too long is no fault of the request. */
function asUnavailable(error: unknown): never {
  if (!(error instanceof ApiError && error.code === 'TooCostly')) throw error
  throw retryLater('The rights of the person cannot be read in time; retry after the seconds in Retry-After.', error.cause)
}
