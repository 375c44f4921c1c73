/**
 * Returns the length of a request target as a URI, in which characters that are not allowed count as their escapes. RFC 3986, 2.
 * That includes an apostrophe in a query string, which URLs and Bun escape.
 */
export function uriLength(target: string): number {
  let length = 0
  let isQuery = false
  for (const character of target) {
    isQuery ||= character === '?'
    const isUri = !(isQuery && character === "'") && /[\w\-.~!$&'()*+,;=:@/?%[\]]/.test(character)
    length += isUri ? 1 : 3 * Buffer.byteLength(character)
  }
  return length
}
