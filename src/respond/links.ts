import { encodeRaw } from '../model/uri.ts'
import type { PageLinks } from './pageLinks.ts'

/** The cursors of a page's links; null: it has none. */
export interface LinkCursors {
  readonly previous: string | null
  readonly next: string | null
}

/** Spec 4.3: each link only where it applies, in this order; `Link` is the standard's spelling of it (RFC 8288). */
export function addLinks(
  headers: Record<string, string>,
  links: PageLinks,
  cursors: LinkCursors,
  url: string,
  kept: string,
) {
  const address = `<${url}?${encodeRaw(kept)}${kept && '&'}page=`
  const { previous, next, isFirst, isLast, last } = links
  const first = isFirst ? '' : `${address}1>; rel="first"`
  const back = previous === null ? '' : `${address}${previous}${parameter(cursors.previous)}>; rel=`
  let forth = next === null ? '' : `${address}${next}${parameter(cursors.next)}>; rel="next"`
  if (!isLast) forth += `${forth && ', '}${address}${last}>; rel="last"`
  if (first === '' && back === '' && forth === '') return
  headers.Location = joined(first, back && `${back}"previous"`, forth)
  headers.Link = joined(first, back && `${back}"prev"`, forth)
}

/** Without a cursor the page's number leads to the page. */
function parameter(cursor: string | null): string {
  return cursor === null ? '' : `&cursor=${cursor}`
}

function joined(...parts: string[]): string {
  return parts.filter(Boolean).join(', ')
}
