/** An entry of `Accept` or `Accept-Encoding`: its name in lower case, without parameters, and its weight from 0 to 1. */
interface Preference {
  readonly name: string
  readonly weight: number
}

const WEIGHT = /^q\s*=\s*(0(?:\.\d*)?|1(?:\.0*)?)$/i

/** The entries of a list with weights; one that has none, or none that can be read, weighs 1. RFC 9110, 12.4.2. */
function parsePreferences(header: string): Preference[] {
  return header.split(',').map((entry) => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const weights = parameters.flatMap((parameter) => WEIGHT.exec(parameter)?.[1] ?? [])
    return { name: name.toLowerCase(), weight: weights.length === 0 ? 1 : Number(weights[0]) }
  })
}

/** The weight of the first of `names` that the list has, which stand from the most to the least specific; 0: none. */
function weightOf(preferences: readonly Preference[], names: readonly string[]): number {
  for (const name of names) {
    const weights = preferences.filter((preference) => preference.name === name).map(({ weight }) => weight)
    if (weights.length > 0) return Math.max(...weights)
  }
  return 0
}

/** Returns whether a client would rather read HTML than JSON, as browsers do; one that takes both alike is a program. */
export function prefersHtml(accept: string | null): boolean {
  if (accept === null) return false
  const preferences = parsePreferences(accept)
  const html = weightOf(preferences, ['text/html', 'text/*', '*/*'])
  return html > weightOf(preferences, ['application/json', 'application/*', '*/*'])
}

/** Returns whether a client takes a gzipped body. RFC 9110, 12.5.3. */
export function takesGzip(acceptEncoding: string | null): boolean {
  return acceptEncoding !== null && weightOf(parsePreferences(acceptEncoding), ['gzip', 'x-gzip', '*']) > 0
}

/** The weights of a list's entries: of the first of the names that it has, from the most to the least specific; 0: none. */
export function weightsOf(header: string): (...names: string[]) => number {
  const preferences = parsePreferences(header)
  return (...names) => weightOf(preferences, names)
}
