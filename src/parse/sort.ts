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
    const name = SIGNS.has(definition.charCodeAt(0)) ? definition.slice(1) : definition
    const property = findProperty(entity, name, sorts)
    if (sorts.some((sort) => sort.property === property)) continue // only the first reference counts
    sorts.push({ property, direction: definition.startsWith('-') ? 'descending' : 'ascending' })
  }
}

// A + that was not percent-encoded has become a space.
const SIGNS = new Set(Array.from('+ -', (sign) => sign.charCodeAt(0)))

function findProperty(entity: Entity, name: string, before: readonly Sort[]): Property {
  if (name === '') throw invalid('A sort definition is + or - and the name of a property; one of them is empty.')
  const member = findMember(entity, name)
  if (!member) {
    throw invalid(`${entity.plural} cannot be sorted by "${shown(name)}".${hintFor(entity, name, before)}`)
  }
  if (!isGroup(member)) return member
  const parts = member.properties.map((part) => part.name).join(', ')
  throw invalid(`${member.name} is an object: sort by one of ${parts}.`)
}

/** `Start:desc`, `start desc`, `desc(Start)`, `Start-`: what a sign in front says here. */
const DIRECTED =
  /^(?<word>asc|desc)(?:ending)?\((?<inner>.+)\)$|^(?<name>.+?)[\s:.|_]+(?<last>asc|desc)(?:ending)?$|^(?<signed>.+)(?<sign>[-+ ])$/i
/** `Start,desc`: the direction as a definition of its own. */
const DIRECTION = /^(asc|desc)(ending)?$/i
/** Longer ones are no slip of the pen, and the pattern's time is the square of the length. */
const HINTED_LENGTH_MAX = 100

function hintFor(entity: Entity, text: string, before: readonly Sort[]): string {
  if (text.length > HINTED_LENGTH_MAX) return ''
  const { word, inner, name, last, signed, sign } = DIRECTED.exec(text)?.groups ?? {}
  const meant = DIRECTION.test(text) ? before.at(-1)?.property.name : (inner ?? name ?? signed)
  const member = meant === undefined ? undefined : findMember(entity, meant)
  const known = entity.properties.map((property) => property.name)
  if (!member || isGroup(member)) return suggest(meant ?? text, known)
  const isDescending = sign === '-' || /^desc/i.test(word ?? last ?? text)
  return isDescending ? ` Descending is -${member.name}.` : ` Ascending is ${member.name}, or +${member.name}.`
}

function invalid(reason: string): ApiError {
  return new ApiError('InvalidSort', reason, { target: 'sort' })
}
