// Sort definitions in the notations of other APIs, such as `Start:desc`.

/** `Start:desc`, `start desc`, `desc(Start)`, `Start-`: what a sign in front says here. */
const DIRECTED =
  /^(?<word>asc|desc)(?:ending)?\((?<inner>.+)\)$|^(?<name>.+?)[\s:.|_]+(?<last>asc|desc)(?:ending)?$|^(?<signed>.+)(?<sign>[-+ ])$/i
/** `Start,desc`: the direction as a definition of its own. */
const DIRECTION = /^(asc|desc)(ending)?$/i
/** Maximum length of a text that is read: the time of the pattern is the square of the length. */
const READ_LENGTH_MAX = 100

interface Directed {
  readonly name: string
  readonly isDescending: boolean
}

/** Reads name and direction of a definition; null: it has no direction. `before`: the name of the definition before it. */
export function readDirected(text: string, before?: string): Directed | null {
  if (text.length > READ_LENGTH_MAX) return null
  if (DIRECTION.test(text)) return before === undefined ? null : { name: before, isDescending: /^desc/i.test(text) }
  const { word, inner, name, last, signed, sign } = DIRECTED.exec(text)?.groups ?? {}
  const meant = inner ?? name ?? signed
  return meant === undefined ? null : { name: meant, isDescending: sign === '-' || /^desc/i.test(word ?? last ?? '') }
}

/** ` Descending is -Name.` */
export function directionHint(name: string, isDescending: boolean): string {
  return isDescending ? ` Descending is -${name}.` : ` Ascending is ${name}, or +${name}.`
}
