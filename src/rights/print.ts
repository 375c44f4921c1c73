// The canonical text of a right: names as the entity spells them, values as the query string needs them.
import type { Right } from '../model/access.ts'
import type { Property } from '../model/entity.ts'
import type { Collection } from '../model/namedView.ts'
import { equality, prefixes } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { isOpen, type OpenFilter } from './openFilter.ts'

/** Prints a right, so that parsing the text gives the same right. */
export function printRight({ verb, collection, filters, properties, becomes }: Omit<Right, 'text'>): string {
  const after = becomes === null ? '' : ` becomes ${becomes.map(printFilter).join('&')}`
  return `${verb} ${printAddress(collection, filters, properties)}${after}`
}

/** Prints the address of a list. `properties`: null for all. */
export function printAddress({ plural }: Collection, filters: readonly Filter[], properties: readonly Property[] | null): string {
  const conditions = filters.map(printFilter)
  // Parts of an object one by one: its name would also stand for parts that are declared later.
  const fields = properties === null ? [] : [`fields=${properties.map(({ name }) => name).join()}`]
  const query = [...conditions, ...fields].join('&')
  return query === '' ? plural : `${plural}?${query}`
}

/** Prints a filter as a parameter; `[]` as one for each value. */
export function printFilter(filter: Filter): string {
  const { property, operator, either } = filter
  // For messages only: rights as they are stored have no unions.
  if (either) return either.map((filters) => `(${filters.map(printFilter).join('&')})`).join(' or ')
  if (isOpen(filter)) return printOpen(filter)
  const { value, anyOf } = filter
  if (anyOf) return anyOf.map((one) => `${property.name}${operator.sign}=${encode(one ?? '')}`).join('&')
  if (operator.sign.startsWith('[')) return `${property.name}${operator.sign}=${encode(value ?? '')}`
  // A value such as `>5` would else be read as an operator.
  const isPlain = operator === equality && !prefixes.some(({ sign }) => value?.startsWith(sign))
  return `${property.name}=${isPlain ? '' : operator.sign}${encode(value ?? '')}`
}

function printOpen({ property, operator, variable }: OpenFilter): string {
  const isPlain = operator === equality
  const sign = operator.sign.startsWith('[') ? `${operator.sign}=` : `=${isPlain ? '' : operator.sign}`
  return `${property.name}${sign}{${variable.name}}`
}

/** Characters with a meaning in a query string, the roles file or a shell's line, and those that nobody sees. */
const ENCODED = /[%&+#{}\p{C}\p{Z}]+/gu

function encode(value: string): string {
  return value.replace(ENCODED, (text) => encodeURIComponent(text))
}
