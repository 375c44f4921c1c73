/** Schemes that other APIs take keys by. */
const OTHER_SCHEMES = ['Bearer', 'Basic', 'Token', 'Key', 'Api-Key', 'Digest']
/** Headers that other APIs take keys in. */
const OTHER_HEADERS = ['X-API-Key', 'Api-Key']

/**
 * ` The scheme is ApiKey, not Bearer.` for a key in the form of another API; '' where the form is ours, or unlike any. It
 * follows from the form alone: it neither repeats the key nor depends on whether there is such a key. D33
 */
export function hintForKey({ headers }: Request): string {
  const header = headers.get('authorization')
  if (header === null || header === '') return hintForHeader(headers)
  const [first = '', ...rest] = header.split(' ')
  if (/^ApiKey$/i.test(first)) return ''
  const scheme = OTHER_SCHEMES.find((other) => other.toLowerCase() === first.toLowerCase())
  if (scheme !== undefined) return ` The scheme is ApiKey, not ${scheme}.`
  return rest.length === 0 ? ' ApiKey and a space stand in front of the key.' : ''
}

function hintForHeader(headers: Headers): string {
  const name = OTHER_HEADERS.find((other) => headers.has(other))
  return name === undefined ? '' : ` A key in the header ${name} is not read.`
}
