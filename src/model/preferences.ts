const WEIGHT = /^q\s*=\s*(0(?:\.\d*)?|1(?:\.0*)?)$/i

/**
 * The weights from 0 to 1 of the entries of `Accept` or `Accept-Encoding`: of the first of the names, in lower case, that the
 * list has, from the most to the least specific; 0: none. An entry without a weight, or with none that can be read, weighs 1.
 * RFC 9110, 12.4.2.
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

/** Returns whether a client would rather read HTML than JSON, as browsers do; one that takes both alike is a program. */
export function prefersHtml(accept: string | null): boolean {
  if (accept === null) return false
  const weightOf = weightsOf(accept)
  return weightOf('text/html', 'text/*', '*/*') > weightOf('application/json', 'application/*', '*/*')
}

/** Returns whether a client takes a gzipped body. RFC 9110, 12.5.3. */
export function takesGzip(acceptEncoding: string | null): boolean {
  return acceptEncoding !== null && weightsOf(acceptEncoding)('gzip', 'x-gzip', '*') > 0
}
