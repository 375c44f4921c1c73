import { ApiError, type ErrorCode } from '../errors.ts'
import type { Choice } from '../model/choice.ts'
import type { Entity } from '../model/entity.ts'
import { shown } from '../model/shown.ts'
import { parseFields } from './fields.ts'
import { parseQueryString } from './queryString.ts'

// The query strings of addresses that are no lists: of a row, and of a create.

/** For addresses that take no query parameters: one that is there was meant to do something. @throws ApiError UnknownParameter */
export function parseNoParameters(query: string): void {
  read(query, null, 'This address takes no query parameters.')
}

/** Parses `dryRun=1`: rows that are sent are only checked. No other parameter is accepted. D59 @throws ApiError */
export function parseDryRun(query: string): boolean {
  const parameter = { name: 'dryRun', code: 'InvalidDryRun' } as const
  const text = read(query, parameter, 'To create takes no query parameter but dryRun.') ?? '0'
  if (text !== '1' && text !== '0') throw new ApiError(parameter.code, 'dryRun is 1 or 0.', { target: parameter.name })
  return text === '1'
}

/** The query string of one row's address: what `fields` chooses; null: everything. @throws ApiError */
export function parseRowFields(entity: Entity, query: string): Choice | null {
  const parameter = { name: 'fields', code: 'InvalidFields', isList: true } as const
  const text = read(query, parameter, 'The address of a row takes no query parameter but fields.')
  return text === null ? null : parseFields(entity, text)
}

interface Allowed {
  readonly name: string
  readonly code: ErrorCode
  /** True if it may be repeated, as its values with commas between. */
  readonly isList?: boolean
}

/** The value of the one parameter that an address takes; null: it is not there. `others`: the message about any other one. */
function read(query: string, allowed: Allowed | null, others: string): string | null {
  if (query === '') return null
  let found: string | null = null
  for (const { name, value } of parseQueryString(query)) {
    if (allowed === null || name.toLowerCase() !== allowed.name.toLowerCase())
      throw new ApiError('UnknownParameter', others, { target: shown(name) })
    if (found !== null && !allowed.isList)
      throw new ApiError(allowed.code, `${allowed.name} is given twice.`, { target: allowed.name })
    found = found === null ? value : `${found},${value}`
  }
  return found
}
