import { encodeRaw, TARGET_LENGTH_MAX } from '../model/uri.ts'
import { HEAD_BYTES_MAX, OTHER_BYTES_MAX } from './head.ts'
import type { PageLinks } from './pageLinks.ts'

/** The cursors of a page's links; null: it has none. */
export interface LinkCursors {
  readonly previous: string | null
  readonly next: string | null
}

/** What `Location` has beside links. */
const NAME_BYTES = 'Location: \r\n'.length
/** What a link has beside its address up to the page's number, which is below 2^53. */
const LINK_REST_MAX = '9007199254740991>; rel="previous", '.length

/**
 * Spec 4.3: each link only where it applies, in this order; `Link` is the standard's spelling of it (RFC 8288).
 *
 * Four links of a target of 700 characters, on an address of 128, are 4 * (1 + 128 + 700 + 6 + 35) characters, which
 * with their header's name and all other headers are 4,087: a head within 4 KiB. Cursors have what is left of that, the
 * next page's first, and none takes a link over what the server takes as a target. Longer targets have longer heads.
 */
export function addLinks(
  headers: Record<string, string>,
  links: PageLinks,
  cursors: LinkCursors,
  url: string,
  kept: string,
) {
  const address = `<${url}?${encodeRaw(kept)}${kept && '&'}page=`
  const { previous, next, isFirst, isLast, last } = links
  const room = roomForCursors(address, links)
  const nextCursor = cursorWithin(room, address, cursors.next)
  const previousCursor = cursorWithin(room - nextCursor.length, address, cursors.previous)
  const first = isFirst ? '' : `${address}1>; rel="first"`
  const back = previous === null ? '' : `${address}${previous}${previousCursor}>; rel=`
  let forth = next === null ? '' : `${address}${next}${nextCursor}>; rel="next"`
  if (!isLast) forth += `${forth && ', '}${address}${last}>; rel="last"`
  if (first === '' && back === '' && forth === '') return
  headers.Location = joined(first, back && `${back}"previous"`, forth)
  headers.Link = joined(first, back && `${back}"prev"`, forth)
}

/** How many characters the links leave in a small head. One that is larger without cursors has no bound to keep. */
function roomForCursors(address: string, { previous, next, isFirst, isLast }: PageLinks): number {
  const links = (isFirst ? 0 : 1) + (previous === null ? 0 : 1) + (next === null ? 0 : 1) + (isLast ? 0 : 1)
  const room = HEAD_BYTES_MAX - OTHER_BYTES_MAX - NAME_BYTES - links * (address.length + LINK_REST_MAX)
  return room < 0 ? Number.POSITIVE_INFINITY : room
}

/** The parameter; '' where there is no cursor, or no room for one: the page's number leads there too. */
function cursorWithin(room: number, address: string, cursor: string | null): string {
  if (cursor === null) return ''
  const parameter = `&cursor=${cursor}`
  const isRoom = parameter.length <= room && address.length + LINK_REST_MAX + parameter.length <= TARGET_LENGTH_MAX
  return isRoom ? parameter : ''
}

function joined(...parts: string[]): string {
  return parts.filter(Boolean).join(', ')
}
