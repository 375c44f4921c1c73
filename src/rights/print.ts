// The canonical text of a right: names as the entity spells them, values as the query string needs them.
import type { Right } from '../model/access.ts'
import type { Property } from '../model/entity.ts'
import type { Collection } from '../model/namedView.ts'
import { equality, prefixes } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { isOpen, type OpenFilter } from './openFilter.ts'

/** Returns a right as text; parsing the text gives the same right. */
export function printRight({ verb, collection, filters, properties, becomes }: Omit<Right, 'text'>): string {
  const after = becomes === null ? '' : ` becomes ${becomes.map(printFilter).join('&')}`
  return `${verb} ${printAddress(collection, filters, properties)}${after}`
}

/** Returns the address of a list as text. `properties`: null for all properties. */
export function printAddress({ plural }: Collection, filters: readonly Filter[], properties: readonly Property[] | null): string {
  const conditions = filters.map(printFilter)
  // The parts of an object are named one by one, because its name would also mean parts that are declared later.
  const fields = properties === null ? [] : [`fields=${properties.map(({ name }) => name).join()}`]
  const query = [...conditions, ...fields].join('&')
  return query === '' ? plural : `${plural}?${query}`
}

/** Returns a filter as a parameter; a filter with `[]` as one parameter for each value. */
export function printFilter(filter: Filter): string {
  const { property, operator, either } = filter
  // Unions are printed for messages only: stored rights have none.
  if (either) return either.map((filters) => `(${filters.map(printFilter).join('&')})`).join(' or ')
  if (isOpen(filter)) return printOpen(filter)
  const { value, anyOf } = filter
  if (anyOf) return anyOf.map((one) => `${property.name}${operator.sign}=${encode(one ?? '')}`).join('&')
  if (operator.sign.startsWith('[')) return `${property.name}${operator.sign}=${encode(value ?? '')}`
  // Without the operator's sign, a value such as `>5` would be read as an operator.
  const isPlain = operator === equality && !prefixes.some(({ sign }) => value?.startsWith(sign))
  return `${property.name}=${isPlain ? '' : operator.sign}${encode(value ?? '')}`
}

function printOpen({ property, operator, variable }: OpenFilter): string {
  const isPlain = operator === equality
  const sign = operator.sign.startsWith('[') ? `${operator.sign}=` : `=${isPlain ? '' : operator.sign}`
  return `${property.name}${sign}{${variable.name}}`
}

/** Matches characters that mean something in a query string, in the roles file or in a shell, and characters that nobody sees. */
const ENCODED = /[%&+#{}\p{C}\p{Z}]+/gu

function encode(value: string): string {
  return value.replace(ENCODED, (text) => encodeURIComponent(text))
}
