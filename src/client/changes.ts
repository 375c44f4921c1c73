import type { Connection } from './connection.ts'
import { unexpected } from './error.ts'
import { pause } from './exchange.ts'
import { queryString, type RosterCall } from './query.ts'

/** A change of a row: the row was created, updated or deleted. */
export interface RosterChanged<Entity extends string = string> {
  /** Token for `after`: the feed then continues after this change. */
  readonly token: string
  readonly entity: Entity
  readonly id: number
  readonly action: 'create' | 'update' | 'delete'
  readonly at: string
  /** Id of the API key that made the change; null if the change was not made through the server. */
  readonly key: string | null
  /** For an update, the properties whose values differ. */
  readonly changed: string[]
  /** Current row, only with `rows: 'current'`; null if the row no longer exists. */
  readonly row?: Readonly<Record<string, unknown>> | null
}

/** A change in the history of a row. `before` and `after`: values of the row, if the server keeps them. */
export interface RosterPast extends RosterChanged {
  readonly before?: Readonly<Record<string, unknown>> | null
  readonly after?: Readonly<Record<string, unknown>> | null
}

export interface RosterChangesPage<Change, Next = string> {
  readonly changes: Change[]
  /** Token for `after`, to continue after this page. */
  readonly next: Next
  /** True if there are more changes after this page. */
  readonly more: boolean
}

/** Query for changes of one row. */
export interface RosterPastQuery extends RosterCall {
  /** Token, or `now`: the changes after it are returned. Default: all changes that the server has kept. */
  readonly after?: string | undefined
  /** Maximum number of changes of a page, 1 to 500; default: 100. */
  readonly pageSize?: number | undefined
}

/** Query for changes. */
export interface RosterChangesQuery<Entity extends string> extends RosterPastQuery {
  /** Selects only changes of rows of these entities. */
  readonly entity?: Entity | readonly Entity[] | undefined
  /** Maximum seconds to wait if there is no new change, up to 30. */
  readonly wait?: number | undefined
  /** Adds the current row to each change. */
  readonly rows?: 'current' | undefined
}

export interface RosterChanges<Entity extends string> {
  list(query?: RosterChangesQuery<Entity>): Promise<RosterChangesPage<RosterChanged<Entity>>>
  /**
   * Yields every change, page after page, and ends after the last one. With `wait` it does not end: it waits for further changes
   * until the caller leaves the loop.
   */
  all(query?: RosterChangesQuery<Entity>): AsyncGenerator<RosterChanged<Entity>, void, undefined>
}

export const CHANGES_PAGE_MAX = 500
const PAUSE_MS = 1_000

/** Returns methods that read the change feed of the server page by page, and follow it. */
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
        // A server that stops, or has too many waiting requests, answers at once; the pause keeps this loop from spinning.
        if (!page.more && page.changes.length === 0 && Date.now() - askedMs < PAUSE_MS) await pause(PAUSE_MS, query.signal)
      }
    },
  }
}

/** Returns one page of the changes at `path`. */
export async function changesPage<Page extends { changes: unknown[] }>(
  connection: Connection,
  path: string,
  { after, entity, pageSize, wait, rows, signal }: RosterChangesQuery<string>,
): Promise<Page> {
  // An empty list of entities is sent, too: without the parameter, the server would return the changes of all entities.
  const others = { after, entity: entity === undefined ? undefined : [entity].flat().join(), wait, rows }
  const target = path + queryString({ pageSize }, others)
  const answer = await connection.send({ method: 'GET', path: target, waitMs: 1_000 * (wait ?? 0), signal })
  const page = answer.body as Page | null
  if (!Array.isArray(page?.changes)) throw unexpected(answer, 'was answered without changes')
  return page
}
