// The canonical text of a right: names as the entity spells them, values as the query string needs them.
import type { Right } from '../model/access.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { equality, prefixes } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'

/** Prints a right, so that parsing the text gives the same right. */
export function printRight({ verb, entity, filters, properties, becomes }: Omit<Right, 'text'>): string {
  const conditions = filters.map(printFilter)
  const fields = properties === null ? [] : [`fields=${printProperties(entity, properties, verb !== 'read')}`]
  const query = [...conditions, ...fields].join('&')
  const after = becomes === null ? '' : ` becomes ${becomes.map(printFilter).join('&')}`
  return `${verb} ${entity.plural}${query === '' ? '' : `?${query}`}${after}`
}

/** Prints a filter as a parameter; `[]` as one for each value. */
export function printFilter({ property, operator, value, anyOf }: Filter): string {
  if (anyOf) return anyOf.map((one) => `${property.name}${operator.sign}=${encode(one ?? '')}`).join('&')
  if (operator.sign.startsWith('[')) return `${property.name}${operator.sign}=${encode(value ?? '')}`
  // A value such as `>5` would else be read as an operator.
  const isPlain = operator === equality && !prefixes.some(({ sign }) => value?.startsWith(sign))
  return `${property.name}=${isPlain ? '' : operator.sign}${encode(value ?? '')}`
}

/** Prints properties, and an object in place of all its parts. `isWrite`: the parts that clients write are all. */
function printProperties(entity: Entity, properties: readonly Property[], isWrite: boolean): string {
  const chosen = new Set(properties)
  const names = entity.members.flatMap((member) => {
    if (!isGroup(member)) return chosen.has(member) ? member.name : []
    const parts = member.properties.filter((part) => part.writable || !isWrite)
    const isWhole = parts.length > 0 && parts.every((part) => chosen.has(part))
    return isWhole ? member.name : parts.filter((part) => chosen.has(part)).map((part) => part.name)
  })
  return names.join()
}

/** Characters with a meaning in a query string or a shell's line, and those that nobody sees. */
const ENCODED = /[%&+#\p{C}\p{Z}]+/gu

function encode(value: string): string {
  return value.replace(ENCODED, (text) => encodeURIComponent(text))
}
