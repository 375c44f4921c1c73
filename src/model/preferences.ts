// Content negotiation: weights in Accept and Accept-Encoding. RFC 9110, 12.4.2 and 12.5

const WEIGHT = /^q\s*=\s*(0(?:\.\d*)?|1(?:\.0*)?)$/i

/**
 * Parses the weights of a header, 0 to 1. Returns a function that takes names in lower case, the most specific first, and returns
 * the weight of the first name that the header has; 0 if it has none of them. An invalid weight counts as 1.
 */
export function weightsOf(header: string): (...names: string[]) => number {
  const preferences = header.split(',').map((entry) => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const [weight = '1'] = parameters.flatMap((parameter) => WEIGHT.exec(parameter)?.[1] ?? [])
    return { name: name.toLowerCase(), weight: Number(weight) }
  })
  return (...names) => {
    const named = names.find((name) => preferences.some((preference) => preference.name === name))
    return Math.max(0, ...preferences.filter(({ name }) => name === named).map(({ weight }) => weight))
  }
}

/** Returns whether a client prefers HTML to JSON, as browsers do. If it accepts both equally, it is taken for a program. */
export function prefersHtml(accept: string | null): boolean {
  if (accept === null) return false
  const weightOf = weightsOf(accept)
  return weightOf('text/html', 'text/*', '*/*') > weightOf('application/json', 'application/*', '*/*')
}

/** Returns whether a client accepts gzip. */
export function takesGzip(acceptEncoding: string | null): boolean {
  return acceptEncoding !== null && weightsOf(acceptEncoding)('gzip', 'x-gzip', '*') > 0
}
