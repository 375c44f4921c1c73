import type { Entity } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { writeEntity } from './json.ts'
import { JSON_TYPE, type Reply } from './reply.ts'

/** A page of a list: rows of total and columns, as `compileList` orders them. `url` is absolute, without query. */
export function respondPage(entity: Entity, query: ListQuery, rows: readonly Row[], url: string): Reply {
  // No row at all happens on page 1 alone, and then nothing matches.
  const total = Number(rows[0]?.[0] ?? 0)
  let body = '['
  for (const row of rows) {
    if (row[1] === null) break // past the last page there is the total alone
    if (body.length > 1) body += ','
    body += writeEntity(entity, row, 1)
  }
  const headers: Record<string, string> = { 'Content-Type': JSON_TYPE, 'X-Total-Count': String(total) }
  addLinks(headers, query, total, url)
  return { status: 200, headers, body: `${body}]` }
}

/** What clients send raw although no URI has it; a # would make a fragment of what stands behind it. RFC 3986, 2. */
const NOT_IN_URIS = /[#|\\^`{}]/g

/** Spec 4.3: each link only where it applies, in this order; `Link` is the standard's spelling of it (RFC 8288). */
function addLinks(headers: Record<string, string>, { page, pageSize, kept }: ListQuery, total: number, url: string) {
  const last = Math.max(1, Math.ceil(total / pageSize))
  const address = `${url}?${kept.replace(NOT_IN_URIS, encodeURIComponent)}${kept && '&'}page=`
  let location = ''
  let link = ''
  const add = (relation: string, standard: string, target: number) => {
    const separator = link && ', '
    location += `${separator}<${address}${target}>; rel="${relation}"`
    link += `${separator}<${address}${target}>; rel="${standard}"`
  }
  if (page > 1) {
    add('first', 'first', 1)
    add('previous', 'prev', Math.min(page - 1, last))
  }
  if (page < last) add('next', 'next', page + 1)
  if (page !== last) add('last', 'last', last)
  if (link === '') return
  headers.Location = location
  headers.Link = link
}
