/**
 * How many characters a request target has as a URI: what none has counts as the escapes that stand for it. RFC 3986, 2. An
 * apostrophe in a query string is one of them: URLs escape it there, and so does the server below ours.
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
