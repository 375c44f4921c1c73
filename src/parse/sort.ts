import { ApiError } from '../errors.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import type { Sort } from '../model/query.ts'
import { shown } from '../model/shown.ts'
import { findMember } from './names.ts'

/** Adds the definitions of one `sort` parameter, decoded, to `sorts`. Spec 4.2, Sorting. @throws ApiError InvalidSort */
export function parseSort(entity: Entity, text: string, sorts: Sort[]): void {
  if (text === '') return
  for (const definition of text.includes(',') ? text.split(',') : [text]) {
    const property = findProperty(entity, SIGNS.has(definition.charCodeAt(0)) ? definition.slice(1) : definition)
    if (sorts.some((sort) => sort.property === property)) continue // only the first reference counts
    sorts.push({ property, direction: definition.startsWith('-') ? 'descending' : 'ascending' })
  }
}

// A + that was not percent-encoded has become a space.
const SIGNS = new Set(Array.from('+ -', (sign) => sign.charCodeAt(0)))

function findProperty(entity: Entity, name: string): Property {
  if (name === '') throw invalid('A sort definition is + or - and the name of a property; one of them is empty.')
  const member = findMember(entity, name)
  if (!member) {
    const known = entity.properties.map((property) => property.name)
    throw invalid(`${entity.plural} cannot be sorted by "${shown(name)}".${suggest(name, known)}`)
  }
  if (!isGroup(member)) return member
  const parts = member.properties.map((part) => part.name).join(', ')
  throw invalid(`${member.name} is an object: sort by one of ${parts}.`)
}

function invalid(reason: string): ApiError {
  return new ApiError('InvalidSort', reason, { target: 'sort' })
}
