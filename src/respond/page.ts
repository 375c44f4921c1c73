// Pages of lists: body, total, links and entity tag, from rows of PostgreSQL or of a copy in memory.
import type { Cursors } from '../model/cursor.ts'
import { type Group, isGroup, keyOf, type Projection, type Property } from '../model/entity.ts'
import { JsonWriter } from '../model/jsonWriter.ts'
import { type ListQuery, order, type Seek } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { rowWriter } from './json.ts'
import { addLinks, pageLinksOf } from './pageLinks.ts'
import { type BytesReply, JSON_TYPE, NO_STORE } from './reply.ts'

/** Result of a list: rows with the columns of the whole entity and of chosen related properties, and the total. */
export interface ListResult {
  readonly rows: readonly Row[] | CodedRows
  readonly total: number
}

/** Responds with a page. `found`: rows in the order of `compileList`; `url`: absolute, without a query. */
export function respondPage(view: View, query: ListQuery, found: ListResult, url: string, cursors: Cursors): BytesReply {
  const { rows, total } = found
  const [begin, end] = rangeOfPage(query, rows)
  const body = isCoded(rows) ? codedBody(view, query, rows, begin, end) : printedBody(view, query, rows.slice(begin, end))
  const links = pageLinksOf(query, total, end - begin, rows.length > end - begin)
  const cursorOf = (side: Seek['side'], page: number | null, index: number) => {
    if (page === null || begin === end) return null
    return cursors.write(view, query, { side, position: positionOf(view, query, rows, index) })
  }
  const linked = { previous: cursorOf('before', links.previous, begin), next: cursorOf('after', links.next, end - 1) }
  return respondPaged(body, total, (headers) => addLinks(headers, links, linked, url, query.queryWithoutPaging))
}

/** Responds with a body, the total, links, and a weak tag of all three. The tag is the same in every process. RFC 9110, 8.8.3 */
export function respondPaged(
  body: BytesReply['body'],
  total: number,
  link: (headers: Record<string, string>) => void,
): BytesReply {
  const headers: Record<string, string> = { 'Content-Type': JSON_TYPE, 'Cache-Control': NO_STORE, 'X-Total-Count': String(total) }
  link(headers)
  headers.ETag = `W/"${Bun.hash(`${total} ${headers.Location ?? ''}`, Bun.hash(body) as bigint).toString(36)}"`
  return { status: 200, headers, body }
}

function isCoded(rows: ListResult['rows']): rows is CodedRows {
  return 'write' in rows
}

function printedBody(view: View, { choice }: ListQuery, rows: readonly Row[]): Uint8Array<ArrayBuffer> {
  return Buffer.from(`[${rows.map(rowWriter(view, choice)).join(',')}]`)
}

const encoder = new TextEncoder()
const COMMA = encoder.encode(',')
const END = encoder.encode('}')
const NONE = encoder.encode('null')
/** The writer of all pages, which are written synchronously, one at a time. */
const writer = new JsonWriter()

function codedBody(view: View, { choice }: ListQuery, rows: CodedRows, begin: number, end: number): Uint8Array<ArrayBuffer> {
  const write = codedWriter(view, choice)
  // If an earlier page could not be written to its end, its beginning is still in the writer.
  writer.reset()
  writer.json('[')
  for (let index = begin; index < end; index++) {
    if (index > begin) writer.raw(COMMA)
    write(rows, index, writer)
  }
  writer.json(']')
  return writer.take()
}

/**
 * Returns the range of the rows to show: without a row that only carries the total, and without the extra row of a page by
 * cursor.
 */
function rangeOfPage({ pageSize, seek }: ListQuery, rows: ListResult['rows']): [begin: number, end: number] {
  if (!isCoded(rows) && rows[0]?.[0] === null) return [0, 0]
  const beyond = Math.max(rows.length - pageSize, 0)
  return seek?.side === 'before' ? [beyond, rows.length] : [0, rows.length - beyond]
}

/** Returns a row's values of the properties by which the list is sorted. */
function positionOf(view: View, { sorts }: ListQuery, rows: ListResult['rows'], index: number): Seek['position'] {
  return order(view, sorts).map(({ property }) => {
    const column = view.whole.properties.indexOf(property)
    return isCoded(rows) ? rows.print(index, column) : (rows[index]?.[column] as string | null)
  })
}

/**
 * Rows of a copy in memory. A value is addressed by the index of its row and by a column: the index of its property in the whole
 * entity. The columns of chosen related properties follow those of the entity.
 */
export interface CodedRows {
  readonly length: number
  /** Returns a value as PostgreSQL prints it; null if the row has none. */
  print(index: number, column: number): string | null
  hasValue(index: number, column: number): boolean
  /** Writes a value as JSON; `null` if the row has none. */
  write(index: number, column: number, into: JsonWriter): void
}

type WriteRow = (rows: CodedRows, index: number, into: JsonWriter) => void

/** Writers of whole views, by the members of the view. */
const writers = new WeakMap<View['members'], WriteRow>()

/**
 * Returns a writer of rows of a copy, with all members of a view or with chosen properties. Its JSON equals that of `rowWriter`.
 */
export function codedWriter(view: View, choice: Projection | null): WriteRow {
  const { members, whole } = view
  if (choice !== null) return compile(choice.members, [...whole.properties, ...choice.related])
  return writers.getOrInsertComputed(members, () => compile(members, whole.properties))
}

/** Returns a writer of `{"a":1,"b":{"c":2}}`. It writes an object as `null` if none of its parts has a value. */
function compile(members: readonly (Property | Group)[], columns: readonly Property[]): WriteRow {
  const columnOf = (property: Property) => columns.indexOf(property)
  const parts = members.map((member, index) => {
    const prefix = encoder.encode(`${index === 0 ? '{' : ','}${JSON.stringify(keyOf(member))}:`)
    if (!isGroup(member)) return { prefix, column: columnOf(member), ofObject: null, write: null }
    return { prefix, column: -1, ofObject: member.allProperties.map(columnOf), write: compile(member.properties, columns) }
  })
  return (rows, index, into) => {
    for (const { prefix, column, ofObject, write } of parts) {
      into.raw(prefix)
      if (write === null) rows.write(index, column, into)
      else if (hasAny(rows, index, ofObject)) write(rows, index, into)
      else into.raw(NONE)
    }
    into.raw(END)
  }
}

/**
 * Returns whether the row has a value in any of these columns. It uses a loop, because `some` would allocate a closure for each
 * row.
 */
function hasAny(rows: CodedRows, index: number, columns: readonly number[]): boolean {
  for (const column of columns) if (rows.hasValue(index, column)) return true
  return false
}
