import { CHANGES_PAGE_MAX, changesPage, type RosterChanged, type RosterChangesPage } from './changes.ts'
import type { Connection } from './connection.ts'
import { RosterError, unexpected } from './error.ts'
import type { RosterCall } from './query.ts'
import { rowsOf } from './stream.ts'

/** A step to update a copy: apply it, and store `state` in the same transaction. */
export interface RosterStep<Row> {
  /** True if the copy must be emptied first, because it is new, or because changes were missed. */
  readonly isReset: boolean
  /** Rows to insert, or to update if their ids exist. */
  readonly rows: Row[]
  /** Ids of rows to delete, if they exist. */
  readonly deleted: number[]
  /** State for the next call, once this step is applied. */
  readonly state: string
}

/** Options of `sync`. */
export interface RosterSync extends RosterCall {
  /** `state` of the last step that was applied; null or left out for a new copy. */
  readonly state?: string | null | undefined
}

/** Progress of a copy: its path, its token, and, while all rows are read, the id of the last row. */
interface Progress {
  readonly path: string
  readonly after: string
  readonly last?: number
}

const STEP_ROWS = 500

/** Yields the steps that update a copy of the rows at `path`. @throws RosterError, TypeError for a state that is not valid */
export async function* stepsOf<Row>(
  connection: Connection,
  path: string,
  { state, signal }: RosterSync,
): AsyncGenerator<RosterStep<Row>, void, undefined> {
  let progress = state == null ? null : progressOf(path, state)
  for (;;) {
    try {
      if (progress === null || progress.last !== undefined)
        for await (const step of copied<Row>(connection, path, progress, signal)) {
          progress = progressOf(path, step.state)
          yield step
        }
      yield* changed<Row>(connection, path, progress as Progress, signal)
      return
    } catch (error) {
      if (!(error instanceof RosterError) || error.code !== 'TokenExpired') throw error
      progress = null
    }
  }
}

/** Yields all rows in the order of ids. If a stream ends early, continues after the last row. */
async function* copied<Row>(connection: Connection, path: string, from: Progress | null, signal: AbortSignal | undefined) {
  let { after, last = 0 } = from ?? { after: null }
  let isReset = from === null
  for (;;) {
    const before = last
    const opened = await connection.open({ method: 'GET', path: `${path}?Id=%3E${last}`, signal })
    // The token of the first stream is kept: all changes since then are read after the rows.
    after ??= opened.headers.get('X-Changes-After')
    if (after === null) {
      opened.close()
      // If the server records no changes, as with CHANGES_DAYS=0, this request fails, and the server's error says why.
      await changesPage(connection, '/Changes', { after: 'now', entity: path.slice(1), signal })
      throw unexpected(opened, 'was answered without X-Changes-After')
    }
    const stepOf = (rows: Row[], progress: Progress): RosterStep<Row> => {
      const step = { isReset, rows, deleted: [], state: JSON.stringify(progress) }
      isReset = false
      return step
    }
    const rows: Row[] = []
    try {
      for await (const row of rowsOf<Row & { id: number }>(opened)) {
        rows.push(row)
        last = row.id
        if (rows.length === STEP_ROWS) yield stepOf(rows.splice(0), { path, after, last })
      }
      yield stepOf(rows, { path, after })
      return
    } catch (error) {
      if (!(error instanceof RosterError) || last === before) throw error
      if (rows.length > 0) yield stepOf(rows, { path, after, last })
    }
  }
}

async function* changed<Row>(connection: Connection, path: string, from: Progress, signal: AbortSignal | undefined) {
  let { after } = from
  let more = true
  while (more) {
    const query = { after, entity: path.slice(1), rows: 'current', pageSize: CHANGES_PAGE_MAX, signal } as const
    const page = await changesPage<RosterChangesPage<RosterChanged & { row: Row | null }>>(connection, '/Changes', query)
    const now = new Map(page.changes.map(({ id, row }) => [id, row]))
    const rows = [...now.values()].filter((row) => row !== null)
    const deleted = [...now].flatMap(([id, row]) => (row === null ? [id] : []))
    more = page.more
    after = page.next
    yield { isReset: false, rows, deleted, state: JSON.stringify({ path, after }) }
  }
}

function progressOf(path: string, state: string): Progress {
  try {
    const { path: own, after, last } = JSON.parse(state)
    if (own === path && typeof after === 'string') return typeof last === 'number' ? { path, after, last } : { path, after }
  } catch {}
  throw new TypeError(`the state is not one that sync of ${path.slice(1)} has returned`)
}
