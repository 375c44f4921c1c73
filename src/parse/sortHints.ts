// Sort definitions in the notations of other APIs, such as `Start:desc`.

/**
 * Matches a name with a direction: `Start:desc`, `start desc`, `desc(Start)`, `Start-`. In our notation a sign precedes the name.
 */
const DIRECTED =
  /^(?<word>asc|desc)(?:ending)?\((?<inner>.+)\)$|^(?<name>.+?)[\s:.|_]+(?<last>asc|desc)(?:ending)?$|^(?<signed>.+)(?<sign>[-+ ])$/i
/** Matches a direction without a property, as in `Start,desc`. */
const DIRECTION = /^(asc|desc)(ending)?$/i
/** Maximum length of a text that is interpreted: matching `DIRECTED` takes quadratic time. */
const READ_LENGTH_MAX = 100

interface Directed {
  readonly name: string
  readonly isDescending: boolean
}

/**
 * Reads the name and the direction of a sort definition. Returns null if it has no direction. `before`: name in the preceding
 * definition, to which a definition such as `desc` belongs.
 */
export function readDirected(text: string, before?: string): Directed | null {
  if (text.length > READ_LENGTH_MAX) return null
  if (DIRECTION.test(text)) return before === undefined ? null : { name: before, isDescending: /^desc/i.test(text) }
  const { word, inner, name, last, signed, sign } = DIRECTED.exec(text)?.groups ?? {}
  const meant = inner ?? name ?? signed
  return meant === undefined ? null : { name: meant, isDescending: sign === '-' || /^desc/i.test(word ?? last ?? '') }
}

/** Returns a hint for the direction: ` Descending is -Name.` */
export function directionHint(name: string, isDescending: boolean): string {
  return isDescending ? ` Descending is -${name}.` : ` Ascending is ${name}, or +${name}.`
}
