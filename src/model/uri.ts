/** How long a request target may be. A page's links repeat it up to four times, in a head that clients take 16 KiB of. */
export const TARGET_LENGTH_MAX = 3 * 1024

/** Characters that clients send raw although URIs do not allow them; a # would begin a fragment. RFC 3986, 2. */
const NOT_IN_URIS = /[#|\\^`{}]/g

/** Percent-encodes what no URI has, as far as the server has left that raw. */
export function encodeRaw(text: string): string {
  return text.search(NOT_IN_URIS) === -1 ? text : text.replace(NOT_IN_URIS, encodeURIComponent)
}
