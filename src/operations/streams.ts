// Streams of lists: reads all rows batch by batch, charges for every 1,000 rows, and pauses while other requests are served. D55
import { compileStreamBatch, streamColumns } from '../compile/stream.ts'
import { ApiError } from '../errors.ts'
import type { GrantedRights } from '../model/access.ts'
import { listCostOf } from '../model/listCost.ts'
import { isOfOtherRows, order, type Reach, type StreamQuery } from '../model/query.ts'
import { reachOfWrite } from '../model/reach.ts'
import type { Row } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import type { StreamForm } from '../parse/headers.ts'
import { parseStream } from '../parse/list.ts'
import type { Reply, StreamSlot } from '../respond/reply.ts'
import { type StreamWriter, streamHeaders, streamWriter } from '../respond/stream.ts'
import type { ConcurrencyLimit } from './concurrencyLimit.ts'
import { withFewIds } from './fewIds.ts'
import { suggestCheaperQuery, withAdvice } from './lists.ts'
import { type ResourceParts, type ResourceRequest, requireRight } from './resourceRequest.ts'

/** One read of a stream: up to `size` rows, plus one if more follow. */
interface StreamBatch {
  readonly rows: readonly Row[]
  readonly size: number
  readonly ms: number
}

/**
 * Streams a list. The first batch is read before the answer begins, so that an error of this read still gets its HTTP status.
 * @throws ApiError
 */
export function streamList(view: View, parts: ResourceParts, call: ResourceRequest, form: StreamForm): Promise<Reply> {
  const { listReads, keysInUse, streamLimit, changesToken } = parts
  const query = parseStream(view, call.query, form, call.access)
  const demand = listCostOf(view.whole, query)
  const headers = streamHeaders(view.plural, form, call.request.headers)
  const columns = streamColumns(view, query)
  const length = columns.reduce((sum, { kind }) => sum + (kind.lengthMax ?? VALUE_LENGTH), 0)
  // The size of the first batch assumes that texts have their maximum length. The size of a later batch assumes rows as long as
  // the longest row of the batch before, and is at most eight times `safeRows`.
  const safeRows = Math.max(1, Math.floor(BATCH_LENGTH_MAX / length))
  let rowsMax = safeRows
  let sized: StreamQuery | null = null
  const keys = order(view, query.sorts).map(({ property }) => columns.indexOf(property))

  async function readBatchAfter(last: Row | null, size: number): Promise<StreamBatch> {
    const startMs = performance.now()
    const position = last && keys.map((index) => last[index] as string | null)
    sized ??= await withFewIds(query, view.whole, parts.database)
    const statement = compileStreamBatch(view.whole, sized, columns, position, size)
    const advice = () => suggestCheaperQuery({ ...query, page: 1, seek: null })
    const rows = await listReads.read(statement, call, demand).catch(withAdvice(advice))
    if (safeRows < PAID_ROWS) rowsMax = Math.max(1, Math.min(8 * safeRows, Math.floor(BATCH_LENGTH_MAX / longestOf(rows))))
    return { rows, size, ms: performance.now() - startMs }
  }

  async function* batches(first: StreamBatch): AsyncGenerator<readonly Row[]> {
    let paidRows = PAID_ROWS
    let batch = first
    for (;;) {
      const { rows, size, ms } = batch
      const hasMore = rows.length > size
      yield hasMore ? rows.slice(0, size) : rows
      if (!hasMore) return
      paidRows -= size
      if (paidRows === 0) {
        const rights = await keysInUse?.charge(call.request)
        const hasPaths = columns.some(({ related }) => related !== null) || query.filters.some(isOfOtherRows)
        if (rights) requireSameRights(rights, view, query.may, hasPaths)
        paidRows = PAID_ROWS
      }
      batch = await readBatchAfter(rows[size - 1] as Row, Math.min(rowsMax, rowsOfBatch(paidRows, ms)))
    }
  }

  return replyStreamed(call, streamLimit, { headers, form }, async () => {
    // The token is read before the rows, so that all changes during the stream come after it.
    const token = form === 'ndjson' ? await changesToken?.(view, call.rights) : null
    if (token) headers['X-Changes-After'] = token
    const first = await readBatchAfter(null, Math.min(rowsMax, rowsOfBatch(PAID_ROWS, 0)))
    return textsOf(streamWriter(view, query, columns, form), batches(first))
  })
}

/**
 * Ends a stream if its key may now read other rows or properties than at the beginning. `may`: reach of the key's rights to
 * write, if the stream filters by it; the stream also ends if this reach has changed. `hasPaths`: the stream also reads rows to
 * which paths lead, so the rights to these rows count. @throws ApiError Forbidden
 */
export function requireSameRights(rights: GrantedRights, view: View, may: Reach | null, hasPaths: boolean) {
  const access = requireRight(rights, view.collection, 'read')
  const { read } = access
  if (read?.signedText !== view.signedText || (hasPaths && read.relatedSignedText !== view.relatedSignedText))
    throw new ApiError('Forbidden', `Your right to read ${view.plural} was changed.`)
  if (may !== null && reachOfWrite(view, access, may.write).signedText !== may.signedText)
    throw new ApiError('Forbidden', `Your right to ${may.write.verb} ${view.plural} was changed.`)
}

/**
 * Yields the batches, and calls `requireAllowed` after every `PAID_ROWS` rows: the key of a slow client may lose its right
 * meanwhile.
 */
export async function* whileAllowed(batches: RowBatches, requireAllowed: () => Promise<void>): AsyncGenerator<readonly Row[]> {
  let isFirst = true
  for await (const rows of batches)
    for (let at = 0; at < rows.length; at += PAID_ROWS) {
      if (!isFirst) await requireAllowed()
      isFirst = false
      yield rows.slice(at, at + PAID_ROWS)
    }
}

type RowBatches = AsyncIterable<readonly Row[]> | Iterable<readonly Row[] | Promise<readonly Row[]>>

/** Yields the text before the rows, if there is one, and then texts of up to `TEXT_ROWS` rows. */
export async function* textsOf({ begin, write }: StreamWriter, batches: RowBatches): AsyncGenerator<string> {
  if (begin !== '') yield begin
  for await (const rows of batches)
    for (let at = 0; at < rows.length; at += TEXT_ROWS)
      yield rows
        .slice(at, at + TEXT_ROWS)
        .map(write)
        .join('')
}

/** Answers with a stream; takes a slot before `begin` makes the stream. @throws ApiError, and errors of `begin` */
export async function replyStreamed(
  { request, key }: ResourceRequest,
  limit: ConcurrencyLimit,
  { headers, form }: { readonly headers: Record<string, string>; readonly form: StreamForm },
  begin: (slot: StreamSlot) => Promise<AsyncGenerator<string>>,
): Promise<Reply> {
  // HEAD has the headers of GET. Without `Transfer-Encoding`, the response would declare an empty body.
  if (request.method === 'HEAD') return { status: 200, headers: { ...headers, 'Transfer-Encoding': 'chunked' }, body: null }
  const slot = limit.take(key)
  try {
    const texts = await begin(slot)
    const isGzipped = headers['Content-Encoding'] !== undefined
    return { status: 200, headers, body: { texts, slot, isGzipped, reportsErrorInBody: form === 'ndjson' } }
  } catch (error) {
    slot.release()
    throw error
  }
}

/** Number of rows of a stream that are charged as one request. */
export const PAID_ROWS = 1_000
/** Number of rows to convert to text without a pause. Their conversion blocks the event loop for some hundred microseconds. */
export const TEXT_ROWS = 100
/** Minimum pause of a stream: timers are no finer than a millisecond. */
const PAUSE_MS_MIN = 2
const PAUSE_MS_MAX = 50
/** Pause per millisecond of work, so that other requests get two thirds of the time. */
const PAUSE_RATIO = 2
/** Assumed length of a value that is not a text, in characters. */
const VALUE_LENGTH = 30
function longestOf(rows: readonly Row[]): number {
  return Math.max(1, ...rows.map((row) => row.reduce((sum, value) => sum + (value?.length ?? 0), 0)))
}

/** Maximum characters of a batch if all texts have their maximum length. */
const BATCH_LENGTH_MAX = 8_000_000
/** Maximum rows of a batch while other requests are served: a thousand rows would block the event loop for some milliseconds. */
const BATCH_ROWS_SHARED = 100
/**
 * Maximum duration of a read after which the next batch is reduced to `BATCH_ROWS_SHARED`. A longer read is slow because it
 * sorts, and smaller batches would need more sorts.
 */
const QUICK_MS_MAX = 30
/** Time after a response during which other requests count as being served. */
const OTHERS_MS = 50

let lastAnswerMs = Number.NEGATIVE_INFINITY

/** Notes that this process has just answered a request. */
export function noteAnswered(nowMs: number): void {
  lastAnswerMs = nowMs
}

function areOthersServed(): boolean {
  return performance.now() - lastAnswerMs <= OTHERS_MS
}

/** Returns the size of the next batch, at most `paidRows`. `lastMs`: duration of the last read. */
function rowsOfBatch(paidRows: number, lastMs: number): number {
  return areOthersServed() && lastMs <= QUICK_MS_MAX ? Math.min(BATCH_ROWS_SHARED, paidRows) : paidRows
}

/** Slows a stream down while other requests are answered: it pauses twice as long as it has worked, up to `PAUSE_MS_MAX`. */
export class StreamPace {
  private owedMs = 0

  /** Adds time that this process or the database has worked for the stream. */
  note(ms: number): void {
    this.owedMs += PAUSE_RATIO * ms
  }

  /** Resolves when the stream may continue; always lets the event loop serve other requests first. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (!areOthersServed()) this.owedMs = 0
    if (this.owedMs < PAUSE_MS_MIN) return
    const pauseMs = Math.min(this.owedMs, PAUSE_MS_MAX)
    this.owedMs = 0
    await Bun.sleep(pauseMs)
  }
}
