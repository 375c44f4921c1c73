/** How many characters a request target has as a URI: what none has counts as the escapes that stand for it. RFC 3986, 2 */
export function uriLength(target: string): number {
  let length = 0
  for (const character of target) {
    const isUri = /[\w\-.~!$&'()*+,;=:@/?%[\]]/.test(character)
    length += isUri ? 1 : 3 * Buffer.byteLength(character)
  }
  return length
}
