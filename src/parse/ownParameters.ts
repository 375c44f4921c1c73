import { ApiError } from '../errors.ts'
import { type Choice, choose, type Entity, isGroup, type Property } from '../model/entity.ts'
import { faultOfName, findMember } from './names.ts'
import { parseSwitch, readNamed } from './parameters.ts'

// Addresses that are no lists: of a row, and of a create.

const ID = /^[1-9]\d{0,15}$/

/** The id in a path, 1 to 2^53-1, as text for PostgreSQL; null: no row can have it. */
export function parseId(segment: string): string | null {
  return ID.test(segment) && Number(segment) <= Number.MAX_SAFE_INTEGER ? segment : null
}

/** For addresses that take no query parameters: one that is there was meant to do something. @throws ApiError UnknownParameter */
export function parseNoParameters(query: string): void {
  readNamed(query, {}, () => 'This address takes no query parameters.')
}

/** Parses `dryRun=1`: rows that are sent are only checked. No other parameter is accepted. D59 @throws ApiError */
export function parseDryRun(query: string): boolean {
  const fault = () => 'To create takes no query parameter but dryRun.'
  const { dryRun } = readNamed(query, { dryRun: 'InvalidDryRun' }, fault)
  return dryRun !== undefined && parseSwitch('InvalidDryRun', 'dryRun', dryRun)
}

/** The query string of one row's address: what `fields` chooses; null: everything. @throws ApiError */
export function parseRowFields(entity: Entity, query: string): Choice | null {
  const { fields = null } = readNamed(query, { fields: null }, () => 'The address of a row takes no query parameter but fields.')
  return parseFields(entity, fields)
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
