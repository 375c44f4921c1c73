import type { Connection } from './connection.ts'
import { unexpected } from './error.ts'
import { pause } from './exchange.ts'
import { queryString, type RosterCall } from './query.ts'

/** A row that was created, changed or deleted. */
export interface RosterChanged<Entity extends string = string> {
  /** For `after`: what lies behind this change. */
  readonly token: string
  readonly entity: Entity
  readonly id: number
  readonly action: 'create' | 'update' | 'delete'
  readonly at: string
  /** The id of the key that has asked for it; null: a write past the service. */
  readonly key: string | null
  /** The properties whose values differ, of an update. */
  readonly changed: string[]
  /** The row as it is now, null if it is gone; only with `rows: 'current'`. */
  readonly row?: Readonly<Record<string, unknown>> | null
}

/** A change in the history of its row, with values where the server keeps them. */
export interface RosterPast extends RosterChanged {
  readonly before?: Readonly<Record<string, unknown>> | null
  readonly after?: Readonly<Record<string, unknown>> | null
}

/** One page of changes. */
export interface RosterChangesPage<Change, Next = string> {
  readonly changes: Change[]
  /** For `after`: what comes behind this page. */
  readonly next: Next
  /** True if there are more changes by now. */
  readonly more: boolean
}

/** Which changes of one row. */
export interface RosterPastQuery extends RosterCall {
  /** A token, or now; from the first change that is kept without it. */
  readonly after?: string | undefined
  /** 1 to 500; 100 without it. */
  readonly pageSize?: number | undefined
}

/** Which changes. */
export interface RosterChangesQuery<Entity extends string> extends RosterPastQuery {
  /** Only changes of these entities. */
  readonly entity?: Entity | readonly Entity[] | undefined
  /** Seconds to wait where there is none, up to 30. */
  readonly wait?: number | undefined
  /** Brings each change with its row as it is now. */
  readonly rows?: 'current' | undefined
}

/** The change feed of all entities. */
export interface RosterChanges<Entity extends string> {
  list(query?: RosterChangesQuery<Entity>): Promise<RosterChangesPage<RosterChanged<Entity>>>
  /** Every change, page after page, up to the last one; with `wait` it goes on with those to come, until the loop ends. */
  all(query?: RosterChangesQuery<Entity>): AsyncGenerator<RosterChanged<Entity>, void, undefined>
}

export const CHANGES_PAGE_MAX = 500
const PAUSE_MS = 1_000

/** The changes of the server. */
export function changesOf<Entity extends string>(connection: Connection): RosterChanges<Entity> {
  const list = async (query: RosterChangesQuery<Entity> = {}) =>
    changesPage<RosterChangesPage<RosterChanged<Entity>>>(connection, '/Changes', query)
  return {
    list,
    async *all(query = {}) {
      let { after } = query
      for (;;) {
        const askedMs = Date.now()
        const page = await list({ ...query, after, pageSize: query.pageSize ?? CHANGES_PAGE_MAX })
        yield* page.changes
        if (!page.more && query.wait === undefined) return
        after = page.next
        // The server answers at once while it stops, or when too many requests wait.
        if (!page.more && page.changes.length === 0 && Date.now() - askedMs < PAUSE_MS) await pause(PAUSE_MS, query.signal)
      }
    },
  }
}

/** The changes at `path`. */
export async function changesPage<Page extends { changes: unknown[] }>(
  connection: Connection,
  path: string,
  { after, entity, pageSize, wait, rows, signal }: RosterChangesQuery<string>,
): Promise<Page> {
  // Without any entity there would be more changes, not fewer: an empty list is sent, too.
  const others = { after, entity: entity === undefined ? undefined : [entity].flat().join(), wait, rows }
  const target = path + queryString({ pageSize }, others)
  const answer = await connection.send({ method: 'GET', path: target, waitMs: 1_000 * (wait ?? 0), signal })
  const page = answer.body as Page | null
  if (!Array.isArray(page?.changes)) throw unexpected(answer, 'was answered without changes')
  return page
}
