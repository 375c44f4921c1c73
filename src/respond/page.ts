import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { order } from '../model/order.ts'
import type { ListQuery, Seek } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { choiceWriter, writeEntity } from './json.ts'
import { addLinks, pageLinksOf } from './pageLinks.ts'
import { type BytesReply, JSON_TYPE, NO_STORE } from './reply.ts'

/** Rows of a list, each with the entity's columns first, and its total. */
export interface Found {
  readonly rows: readonly Row[]
  readonly total: number
  /** Returns the row of this index as PostgreSQL prints it; not there: `rows` are so printed, and not JSON. */
  readonly printed?: (index: number) => Row
}

/**
 * A page of a list: rows as `compileList` orders them. `url` is absolute, without query; without
 * `cursors` no link has one.
 */
export function respondPage(
  entity: Entity,
  query: ListQuery,
  { rows, total, printed }: Found,
  url: string,
  cursors: Cursors | null = null,
): BytesReply {
  const [begin, end] = shownRows(query, rows)
  const body = bodyOf(entity, query, rows.slice(begin, end), printed !== undefined)
  const headers: Record<string, string> = {
    'Content-Type': JSON_TYPE,
    'Cache-Control': NO_STORE,
    'X-Total-Count': String(total),
  }
  const links = pageLinksOf(query, total, end - begin, rows.length > end - begin)
  const cursorOf = (side: Seek['side'], index: number) => {
    if (cursors === null || begin === end) return null
    const row = printed ? printed(index) : (rows[index] as Row)
    return cursors.write(entity, query, { side, position: positionOf(entity, query, row) })
  }
  const linked = {
    previous: links.previous === null ? null : cursorOf('before', begin),
    next: links.next === null ? null : cursorOf('behind', end - 1),
  }
  addLinks(headers, links, linked, url, query.kept)
  headers.ETag = tagOf(body, headers)
  return { status: 200, headers, body }
}

function bodyOf(entity: Entity, { choice }: ListQuery, rows: readonly Row[], isJson: boolean): Uint8Array<ArrayBuffer> {
  const write = choice === null ? null : choiceWriter(choice, entity.properties, isJson)
  let body = '['
  for (const row of rows) {
    if (body.length > 1) body += ','
    body += write === null ? writeEntity(entity, row, isJson) : write(row)
  }
  return Buffer.from(`${body}]`)
}

/**
 * Entity tag of all that a page says, so that every process makes the same of the same; weak, because it is no proof. RFC 9110,
 * 8.8.3
 */
export function tagOf(body: Uint8Array<ArrayBuffer>, headers: Record<string, string>): string {
  const links = `${headers['X-Total-Count']} ${headers.Location ?? ''}`
  return `W/"${Bun.hash(links, Bun.hash(body) as bigint).toString(36)}"`
}

/** From where to where; not shown are a row that has the total alone, and the one beyond what was sought. */
function shownRows({ pageSize, seek }: ListQuery, rows: readonly Row[]): [begin: number, end: number] {
  if (rows[0]?.[0] === null) return [0, 0]
  const beyond = Math.max(rows.length - pageSize, 0)
  return seek?.side === 'before' ? [beyond, rows.length] : [0, rows.length - beyond]
}

/** The row's values of the order's keys. */
function positionOf(entity: Entity, { sorts }: ListQuery, row: Row): Seek['position'] {
  return order(entity, sorts).map(({ property }) => row[entity.properties.indexOf(property)] as string | null)
}
