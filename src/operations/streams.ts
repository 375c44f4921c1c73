import { compilePiece, streamColumns } from '../compile/stream.ts'
import type { ListReads } from '../execute/listReads.ts'
import type { Entity, Property } from '../model/entity.ts'
import { order } from '../model/order.ts'
import type { Seek, StreamQuery } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { StreamForm } from '../parse/headers.ts'
import { parseStream } from '../parse/list.ts'
import type { Reply } from '../respond/reply.ts'
import { type StreamWriter, streamHeaders, streamWriter } from '../respond/stream.ts'
import type { Places } from './places.ts'
import type { ResourceParts, ResourceRequest } from './resourceRequest.ts'
import { PAID_ROWS, rowsOfPiece, TEXT_ROWS } from './streamPace.ts'

/** Rows that were read at once, and one more than `size` if there are more behind them. */
interface Piece {
  readonly rows: readonly Row[]
  readonly size: number
  /** How long it took to read them. */
  readonly ms: number
}

/** Lists of one entity, every row of them: parse, then piece by piece compile, execute, respond. D55 */
export class Streams {
  constructor(
    private readonly entity: Entity,
    private readonly reads: ListReads,
    private readonly places: Places,
    private readonly parts: Pick<ResourceParts, 'readmit' | 'changesToken'>,
  ) {}

  /**
   * The first piece is there before the answer begins, so that what goes wrong with it is an answer of its own. @throws
   * ApiError
   */
  async read(call: ResourceRequest, form: StreamForm): Promise<Reply> {
    const query = parseStream(this.entity, call.query, form)
    const headers = streamHeaders(this.entity.plural, form, call.request.headers)
    const columns = streamColumns(this.entity, query)
    const writer = streamWriter(this.entity, query, columns, form)
    return replyStreamed(call, this.places, { headers, form }, async () => {
      // Before the first row is read, so that all that changes while rows are read lies behind it.
      const token = form === 'ndjson' ? await this.parts.changesToken?.(this.entity) : null
      if (token) headers['X-Changes-After'] = token
      const first = await this.piece(call, query, columns, null, rowsOfPiece(PAID_ROWS, 0))
      return this.texts(call, query, columns, writer, first)
    })
  }

  private async *texts(
    call: ResourceRequest,
    query: StreamQuery,
    columns: readonly Property[],
    { begin, write }: StreamWriter,
    first: Piece,
  ): AsyncGenerator<string> {
    const keys = order(this.entity, query.sorts).map(({ property }) => columns.indexOf(property))
    let text = begin
    let paidRows = PAID_ROWS
    for (let piece = first; ; ) {
      const { rows, size, ms } = piece
      const hasMore = rows.length > size
      const count = hasMore ? size : rows.length
      for (let at = 0; at < count; ) {
        const end = Math.min(at + TEXT_ROWS, count)
        for (; at < end; at++) text += write(rows[at] as Row)
        yield text
        text = ''
      }
      if (!hasMore) break
      const last = rows[size - 1] as Row
      const position = keys.map((index) => last[index] as string | null)
      paidRows -= size
      if (paidRows === 0) {
        await this.parts.readmit?.(call.request, this.entity.plural)
        paidRows = PAID_ROWS
      }
      piece = await this.piece(call, query, columns, position, rowsOfPiece(paidRows, ms))
    }
    // Of no rows at all.
    if (text !== '') yield text
  }

  private async piece(
    call: ResourceRequest,
    query: StreamQuery,
    columns: readonly Property[],
    position: Seek['position'] | null,
    size: number,
  ): Promise<Piece> {
    const startMs = performance.now()
    const statement = compilePiece(this.entity, query, columns, position, size)
    const rows = await this.reads.read({ ...statement, batch: null }, call)
    return { rows, size, ms: performance.now() - startMs }
  }
}

/** A streamed body, for which a place is taken before `begin` makes it. @throws ApiError, and what `begin` throws */
export async function replyStreamed(
  { request, key }: ResourceRequest,
  places: Places,
  { headers, form }: { readonly headers: Record<string, string>; readonly form: StreamForm },
  begin: () => Promise<AsyncGenerator<string>>,
): Promise<Reply> {
  // As GET has it: else the head would say that there are no bytes.
  if (request.method === 'HEAD') return { status: 200, headers: { ...headers, 'Transfer-Encoding': 'chunked' }, body: null }
  const place = places.take(key)
  try {
    const texts = await begin()
    const isGzipped = headers['Content-Encoding'] !== undefined
    return { status: 200, headers, body: { texts, place, isGzipped, saysFault: form === 'ndjson' } }
  } catch (error) {
    place.release()
    throw error
  }
}
