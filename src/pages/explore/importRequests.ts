// Sends requests of an import. If a rate limit or a failure of the server prevents a request, waits, and sends it again. The
// reader sees how long the import waits.
import { Problem, parseExact, send } from './api.ts'
import type { Row } from './resources.ts'
import { sessionStore } from './session.ts'
import { type Filter, printPath } from './view.ts'
import { isUncertain, problemOf } from './writes.ts'

/** Progress of an import: rows that are done, and all rows. */
export interface Progress {
  readonly done: number
  readonly total: number
  /** Reason for which the import waits, and the seconds that are left; null while it does not wait. */
  readonly waits: { readonly message: string; readonly seconds: number } | null
}

/** Lets the reader see the progress of some work, and stop it. */
export interface Watch {
  /** Session that has begun the work. If the session changes, the work stops. */
  readonly sessionId: string
  readonly signal: AbortSignal
  show(progress: Partial<Progress>): void
}

/** Maximum attempts of a request. An attempt that a rate limit refuses is not counted. */
const TRIES_MAX = 20
const PAUSE_SECONDS = 5
/** Longest wait for a rate limit. If the limit lasts longer, the import stops, and the reader decides when to continue it. */
const WAIT_SECONDS_MAX = 3_600

/**
 * Calls `run`, which sends a request, until it succeeds. @throws Problem if a retry does not help, or after too many attempts;
 * AbortError
 */
export async function untilAnswered<T>(run: () => Promise<T>, watch: Watch): Promise<T> {
  for (let tries = 1; ; tries++) {
    watch.signal.throwIfAborted()
    if (sessionStore.value.session?.id !== watch.sessionId) throw new Problem('You have signed out, or use another key now.', 401)
    try {
      return await run()
    } catch (error) {
      const problem = problemOf(error)
      const seconds = problem.retryAfter ?? (isUncertain(problem) ? PAUSE_SECONDS : null)
      if (seconds === null || seconds > WAIT_SECONDS_MAX || tries >= TRIES_MAX) throw problem
      if (problem.status === 429) tries--
      await wait(seconds, problem, watch)
    }
  }
}

/** Waits, and shows how many seconds are left. @throws AbortError */
async function wait(seconds: number, { message }: Problem, watch: Watch): Promise<void> {
  for (let left = seconds; left > 0; left--) {
    watch.show({ waits: { message, seconds: left } })
    await new Promise((done) => setTimeout(done, 1_000))
    watch.signal.throwIfAborted()
  }
  watch.show({ waits: null })
}

/** Reads up to 100 rows by their ids. Leaves out deleted rows, and rows that the reader may not see. @throws Problem */
export async function readByIds(plural: string, ids: readonly string[], watch: Watch): Promise<ReadonlyMap<string, Row>> {
  const rows = await readStream(plural, [{ name: 'Id', sign: '[]', values: ids }], {}, watch)
  return new Map(rows.map((row) => [String(row.id), row]))
}

/** Maximum rows of a collection that is read whole. Of a larger collection, only rows with values of the file are read. */
export const WHOLE_ROWS_MAX = 50_000
const VALUES_AT_ONCE = 40

/** Reads the properties `fields` of all rows, or only of the rows that have one of the values of `only`. @throws Problem */
export async function readStored(
  plural: string,
  fields: readonly string[],
  only: { readonly name: string; readonly values: readonly string[] } | null,
  watch: Watch,
): Promise<readonly Row[]> {
  const names = [...new Set(['Id', ...fields])].join()
  if (only === null) return readAll(plural, names, watch)
  const rows: Row[] = []
  for (let at = 0; at < only.values.length; at += VALUES_AT_ONCE) {
    const filter = { name: only.name, sign: '[]', values: only.values.slice(at, at + VALUES_AT_ONCE) }
    for (const part of await readStream(plural, [filter], { fields: names }, watch)) rows.push(part)
  }
  return rows
}

async function readAll(plural: string, fields: string, watch: Watch): Promise<readonly Row[]> {
  return readStream(plural, [], { fields, sort: 'Id' }, watch)
}

/**
 * Reads all rows of a list by streams. An error such as a rate limit can end a stream; then the next stream begins after the last
 * row. @throws Problem
 */
async function readStream(
  plural: string,
  filters: readonly Filter[],
  parameters: Readonly<Record<string, string>>,
  watch: Watch,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (;;) {
    const last = rows.at(-1)?.id
    const after = last === undefined ? [] : [{ name: 'Id', sign: '>', values: [String(last)] }]
    const path = printPath(plural, [...filters, ...after], { sort: 'Id', ...parameters })
    const headers = { Accept: 'application/x-ndjson' }
    const read = async () => readLines(await (await send(path, { headers, signal: watch.signal })).text())
    const { lines, end } = await untilAnswered(read, watch)
    for (const line of lines) rows.push(line)
    if (end === null) return rows
    await wait(end.seconds, { message: end.message } as Problem, watch)
  }
}

/** Returns the rows of a stream. `end`: the error that has cut the stream short; null if the stream is complete. */
function readLines(text: string) {
  const lines: Row[] = []
  for (const line of text.split('\n')) {
    if (line === '') continue
    const row = parseExact(line)
    const error = row.Error as { Message?: string; RetryAfter?: number } | undefined
    if (error !== undefined) return { lines, end: { message: error.Message ?? '', seconds: error.RetryAfter ?? PAUSE_SECONDS } }
    lines.push(row)
  }
  return { lines, end: null }
}
