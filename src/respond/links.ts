import type { Place } from './place.ts'

/** The cursors of a page's links; null: it has none. */
export interface LinkCursors {
  readonly previous: string | null
  readonly next: string | null
}

/** What clients send raw although no URI has it; a # would make a fragment of what stands behind it. RFC 3986, 2. */
const NOT_IN_URIS = /[#|\\^`{}]/g
/** Longer ones would be refused when they come back. */
const LINK_LENGTH_MAX = 8 * 1024

/** Spec 4.3: each link only where it applies, in this order; `Link` is the standard's spelling of it (RFC 8288). */
export function addLinks(
  headers: Record<string, string>,
  { previous, next, isFirst, isLast, last }: Place,
  cursors: LinkCursors,
  url: string,
  kept: string,
) {
  const address = `<${url}?${encodeKept(kept)}${kept && '&'}page=`
  const first = isFirst ? '' : `${address}1>; rel="first"`
  const back = previous === null ? '' : `${linkTo(address + previous, cursors.previous)}; rel=`
  let forth = next === null ? '' : `${linkTo(address + next, cursors.next)}; rel="next"`
  if (!isLast) forth += `${forth && ', '}${address}${last}>; rel="last"`
  if (first === '' && back === '' && forth === '') return
  headers.Location = joined(first, back && `${back}"previous"`, forth)
  headers.Link = joined(first, back && `${back}"prev"`, forth)
}

function linkTo(address: string, cursor: string | null): string {
  if (cursor === null || address.length + cursor.length > LINK_LENGTH_MAX) return `${address}>`
  return `${address}&cursor=${cursor}>`
}

function joined(...parts: string[]): string {
  return parts.filter(Boolean).join(', ')
}

function encodeKept(kept: string): string {
  return kept.search(NOT_IN_URIS) === -1 ? kept : kept.replace(NOT_IN_URIS, encodeURIComponent)
}
