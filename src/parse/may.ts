// The parameter `may`, which restricts a list to rows that the caller may write. D109
import { ApiError } from '../errors.ts'
import type { Access } from '../model/access.ts'
import { type Entity, type Group, isGroup, type Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { haveOf } from '../model/names.ts'
import { suggest } from '../model/nearest.ts'
import type { Reach } from '../model/query.ts'
import { reachOfWrite } from '../model/reach.ts'
import type { View } from '../model/view.ts'
import { findMember } from './names.ts'
import { suggestOrList } from './nearestProperty.ts'
import { findRelated, isPath } from './paths.ts'

const VERBS = ['update', 'delete'] as const
const FORM = 'may is update, update with names of properties as in update(Status), or delete'
const WRITE = /^([^()]*)(?:\((.*)\))?$/s

/** Hints for values that `may` does not take: HTTP methods and other verbs. */
const HINTS = new Map([
  ['patch', ' For PATCH write update.'],
  ['put', ' For PUT write update.'],
  ['create', ' Whether a row may be created does not depend on others: GET /Rights says it.'],
  ['post', ' Whether a row may be created does not depend on others: GET /Rights says it.'],
  ['read', ' Each row of the answer may be read.'],
  ['get', ' Each row of the answer may be read.'],
  ['write', ' Ask for update, and for delete in a request of its own.'],
])

/**
 * Parses `update`, `update(Status,Reason)` or `delete`, in upper or lower case. Returns null if the request has no such
 * parameter. `access`: what the caller may write; null if the caller may write nothing. @throws ApiError InvalidMay
 */
export function parseMay(view: View, access: Access | null, text: string | undefined): Reach | null {
  if (text === undefined) return null
  const [, word = '', names] = WRITE.exec(text) ?? []
  const verb = VERBS.find((one) => one === word.toLowerCase())
  if (verb === undefined) throw invalid(faultOfWord(text, word))
  if (names === undefined) return reachOfWrite(view, access, { verb, properties: [] })
  if (verb === 'delete') throw invalid('delete takes no names of properties: a deletion removes whole rows.')
  // The caller can name every property that it may set, even one that it may not read.
  const named = access?.update?.body ?? view
  const properties = new Set(names.split(',').flatMap((name) => writableNamed(view, named, name)))
  return reachOfWrite(view, access, { verb, properties: [...properties] })
}

function faultOfWord(text: string, word: string): string {
  if (text === '') return `${FORM}.`
  return `${FORM}, not "${excerpt(text)}".${HINTS.get(word.toLowerCase()) ?? suggest(word, VERBS)}`
}

/** Finds the properties that a name stands for; for an object, its parts that clients write. @throws ApiError InvalidMay */
function writableNamed(view: View, named: Entity, name: string): readonly Property[] {
  const member = findMember(named, name)
  if (member === undefined) throw invalid(faultOfName(view, named, name))
  const properties = isGroup(member) ? member.properties : [member]
  const writable = properties.filter((property) => property.writable)
  if (writable.length > 0) return writable
  const source = named.properties.find(({ reference }) => reference && reference.copy?.column === properties[0]?.column)
  const hint = source ? ` It follows ${source.name}.` : ''
  throw invalid(`${member.name} is read-only, so no write sets it.${hint}`)
}

function faultOfName(view: View, named: Entity, name: string): string {
  if (name === '') return 'update() has names of properties with commas between; one of them is empty.'
  const path = findRelated(view, name)
  if (path || isPath(view, name))
    return `${path?.name ?? excerpt(name)} stands in another row, and an update sets properties of its own row.`
  return `${view.plural} ${haveOf(view)} no property "${excerpt(name)}".${suggestOrList(name, writableMembers(named))}`
}

/** Returns the names that `update()` takes. */
export function writableNames(entity: Entity): string[] {
  return writableMembers(entity).map(({ name }) => name)
}

function writableMembers({ members }: Entity): (Property | Group)[] {
  return members.flatMap((one) => (isGroup(one) ? [one, ...one.properties] : one)).filter(isWritable)
}

function isWritable(member: Property | Group): boolean {
  return isGroup(member) ? member.properties.some(({ writable }) => writable) : member.writable
}

function invalid(message: string): ApiError {
  return new ApiError('InvalidMay', message, { target: 'may' })
}
