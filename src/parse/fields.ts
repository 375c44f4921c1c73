import { ApiError } from '../errors.ts'
import { type Choice, choose } from '../model/choice.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import { shown } from '../model/shown.ts'
import { findMember } from './names.ts'

/**
 * Parses `fields`, decoded: `Id,Name,Period.Days`, in one parameter or several; an object's name stands for all its parts. D56
 * @throws ApiError InvalidFields
 */
export function parseFields(entity: Entity, text: string): Choice {
  const chosen = new Set<Property>()
  for (const name of text.split(',')) {
    const member = findMember(entity, name)
    if (!member) throw unknown(entity, name)
    for (const property of isGroup(member) ? member.properties : [member]) chosen.add(property)
  }
  return choose(entity, chosen)
}

function unknown(entity: Entity, name: string): ApiError {
  if (name === '') return invalid('fields is names of properties with commas between; one of them is empty.')
  const known = [...entity.members, ...entity.properties].map((member) => member.name)
  return invalid(`${entity.plural} have no property "${shown(name)}".${suggest(name, known)}`)
}

function invalid(message: string): ApiError {
  return new ApiError('InvalidFields', message, { target: 'fields' })
}
