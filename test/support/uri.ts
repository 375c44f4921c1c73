/**
 * Returns the length of a request target as a URI. Characters that a URI may not have count as their escapes; in a query string,
 * this includes an apostrophe, which URLs and Bun escape. RFC 3986, 2.
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
