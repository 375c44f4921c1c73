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
  const address = `<${url}?${encodeKept(kept)}${kept && '&'}page=`
  let forth = page < last ? `${address}${page + 1}>; rel="next"` : ''
  if (page !== last) forth += `${forth && ', '}${address}${last}>; rel="last"`
  if (page === 1) {
    if (forth === '') return
    headers.Location = forth
    headers.Link = forth
    return
  }
  const back = `${address}1>; rel="first", ${address}${Math.min(page - 1, last)}>; rel=`
  const rest = forth && `, ${forth}`
  headers.Location = `${back}"previous"${rest}`
  headers.Link = `${back}"prev"${rest}`
}

function encodeKept(kept: string): string {
  return kept.search(NOT_IN_URIS) === -1 ? kept : kept.replace(NOT_IN_URIS, encodeURIComponent)
}
