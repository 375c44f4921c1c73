// Names of rows for people: the property that names a row, and one more fact that tells rows with the same name apart.
import { formatValue } from './format.ts'
import { findNamed, type Property, type Resource, type Row, valueIn, wordsOf } from './resources.ts'

/** Properties that name a row, the best first. */
const NAMING = [/^(display|full)name$/i, /^name$/i, /name$/i, /^(title|subject|label)$/i]
/** Properties that tell rows with the same name apart, the best first. */
const TELLING = [/jobtitle/i, /department/i, /mail/i, /number/i, /location/i, /^(company|manager|employee)$/i]

/** Returns the property that names a row; null if the resource has none. */
export function namingProperty({ properties }: Resource): Property | null {
  const texts = properties.filter(({ kind, copiedThrough }) => kind === 'text' && copiedThrough === null)
  return best(texts, NAMING)
}

const WHOLE = /^((display|full)?name)$/i

/**
 * Returns the properties that make up a row's name. Usually this is one property. For a person whose whole name the reader may
 * not see, these are `KnownAs`, `FirstName` and `LastName`.
 */
export function nameParts(resource: Resource): readonly Property[] {
  const naming = namingProperty(resource)
  if (naming === null) return []
  const parts = ['KnownAs', 'FirstName', 'LastName'].flatMap((name) => findNamed(resource.properties, name) ?? [])
  return WHOLE.test(naming.name) || !parts.includes(naming) ? [naming] : parts
}

/**
 * Returns the name of a row; empty if it has none. A name of several properties is written as `DisplayName` is: `KnownAs`, or
 * `FirstName` if there is no `KnownAs`, and then `LastName`.
 */
export function nameIn(resource: Resource, row: Row): string {
  const parts = nameParts(resource)
  const textOf = (name: string) => {
    const part = findNamed(parts, name)
    return part ? String(valueIn(row, part) ?? '') : ''
  }
  const [whole] = parts
  if (parts.length === 1 && whole) return textOf(whole.name)
  return [textOf('KnownAs') || textOf('FirstName'), textOf('LastName')].filter(Boolean).join(' ')
}

/** Returns the property that is shown beside a name to tell namesakes apart; null if there is none. */
export function tellingProperty({ properties }: Resource): Property | null {
  const texts = properties.filter(({ kind }) => kind === 'text')
  return best(texts, TELLING)
}

function best(properties: readonly Property[], patterns: readonly RegExp[]): Property | null {
  for (const pattern of patterns) {
    const found = properties.find(({ name }) => pattern.test(name))
    if (found) return found
  }
  return null
}

/** Returns words for a row: `Company 5 (Acme)`, `Absence 7 (Ada Byron, 5 Jan 2026)`. */
export function nameOfRow(resource: Resource, row: Row): string {
  const whole = `${wordsOf(resource.entity)} ${row.id}`
  const name = nameIn(resource, row)
  const facts =
    name !== ''
      ? [name]
      : factsOf(resource).flatMap((property) => {
          const value = valueIn(row, property)
          return value === null || value === '' ? [] : formatValue(property, value)
        })
  return facts.length > 0 ? `${whole} (${facts.join(', ')})` : whole
}

/**
 * Returns the properties by which people recognize a row without a name: the first copied name, such as an employee's, and the
 * first date.
 */
function factsOf(resource: Resource): Property[] {
  const whose = resource.properties.find(({ copiedThrough }) => copiedThrough !== null)
  const when = resource.properties.find(({ kind }) => kind === 'instant' || kind === 'date')
  return [whose, when].filter((property) => property !== undefined)
}
