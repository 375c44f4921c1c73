import { ApiError } from '../errors.ts'
import { type Choice, choose } from '../model/choice.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import { shown } from '../model/shown.ts'
import { findMember } from './names.ts'
import { parseQueryString } from './queryString.ts'

/** What `fields`, decoded, chooses: `Id,Name,Period.Days`; an object's name stands for all its parts. D56 @throws ApiError InvalidFields */
export function parseFields(entity: Entity, text: string): Choice {
  const chosen = new Set<Property>()
  for (const name of text.split(',')) {
    const member = findMember(entity, name)
    if (!member) throw unknown(entity, name)
    for (const property of isGroup(member) ? member.properties : [member]) chosen.add(property)
  }
  return choose(entity, chosen)
}

/** The query string of one row's address: what `fields` chooses; null: everything. @throws ApiError */
export function parseRowFields(entity: Entity, query: string): Choice | null {
  if (query === '') return null
  let choice: Choice | null = null
  for (const { name, value } of parseQueryString(query)) {
    if (name.toLowerCase() !== 'fields') {
      const message = 'The address of a row takes no query parameter but fields.'
      throw new ApiError('UnknownParameter', message, { target: shown(name) })
    }
    if (choice !== null) throw invalid('fields is given twice.')
    choice = parseFields(entity, value)
  }
  return choice
}

function unknown(entity: Entity, name: string): ApiError {
  if (name === '') return invalid('fields is names of properties with commas between; one of them is empty.')
  const known = [...entity.members, ...entity.properties].map((member) => member.name)
  return invalid(`${entity.plural} have no property "${shown(name)}".${suggest(name, known)}`)
}

function invalid(message: string): ApiError {
  return new ApiError('InvalidFields', message, { target: 'fields' })
}
