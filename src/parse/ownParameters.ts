import { ApiError, type ErrorCode } from '../errors.ts'
import { type Choice, choose, type Entity, isGroup, type Property } from '../model/entity.ts'
import { shown } from '../model/shown.ts'
import { faultOfName, findMember } from './names.ts'
import { parseSwitch } from './parameters.ts'
import { parseQueryString } from './queryString.ts'

// Addresses that are no lists: of a row, and of a create.

const ID = /^[1-9]\d{0,15}$/

/** The id in a path, 1 to 2^53-1, as text for PostgreSQL; null: no row can have it. */
export function parseId(segment: string): string | null {
  return ID.test(segment) && Number(segment) <= Number.MAX_SAFE_INTEGER ? segment : null
}

/** For addresses that take no query parameters: one that is there was meant to do something. @throws ApiError UnknownParameter */
export function parseNoParameters(query: string): void {
  read(query, null, null, 'This address takes no query parameters.')
}

/** Parses `dryRun=1`: rows that are sent are only checked. No other parameter is accepted. D59 @throws ApiError */
export function parseDryRun(query: string): boolean {
  const text = read(query, 'dryRun', 'InvalidDryRun', 'To create takes no query parameter but dryRun.')
  return text !== null && parseSwitch('InvalidDryRun', 'dryRun', text)
}

/** The query string of one row's address: what `fields` chooses; null: everything. @throws ApiError */
export function parseRowFields(entity: Entity, query: string): Choice | null {
  return parseFields(entity, read(query, 'fields', null, 'The address of a row takes no query parameter but fields.'))
}

/**
 * The value of the one parameter that an address takes; null: it is not there. `code`: the error if it is repeated; null: it may
 * be, as values with commas between. `others`: the message about any other one.
 */
function read(query: string, allowed: string | null, code: ErrorCode | null, others: string): string | null {
  let found: string | null = null
  for (const { name, value } of parseQueryString(query)) {
    if (allowed === null || name.toLowerCase() !== allowed.toLowerCase())
      throw new ApiError('UnknownParameter', others, { target: shown(name) })
    if (found !== null && code !== null) throw new ApiError(code, `${allowed} is given twice.`, { target: allowed })
    found = found === null ? value : `${found},${value}`
  }
  return found
}

/** Parses `Id,Name,Period.Days`; an object stands for all its parts, null for everything. D56 @throws ApiError InvalidFields */
export function parseFields(entity: Entity, text: string | null): Choice | null {
  if (text === null) return null
  const chosen = new Set<Property>()
  for (const name of text.split(',')) {
    const member = findMember(entity, name)
    if (!member) {
      const message = faultOfName(entity, name, 'fields', [...entity.members, ...entity.properties])
      throw new ApiError('InvalidFields', message, { target: 'fields' })
    }
    for (const property of isGroup(member) ? member.properties : [member]) chosen.add(property)
  }
  return choose(entity, chosen)
}
