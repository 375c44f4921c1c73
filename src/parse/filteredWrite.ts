// The query string of a PATCH or DELETE of all rows that match filters. D113
import { ApiError } from '../errors.ts'
import type { Access } from '../model/access.ts'
import { excerpt } from '../model/excerpt.ts'
import { RESERVED_PARAMETERS } from '../model/names.ts'
import type { Filter, Reach } from '../model/query.ts'
import type { View } from '../model/view.ts'
import { addFilter, parseFilter, withFiltersOf } from './filter.ts'
import { parseMay } from './may.ts'
import { type Parameter, parseQueryString, parseSwitch, singleValue } from './parameters.ts'

/** Parameters that are not filters. */
const PARAMETERS = ['may', 'dryRun'] as const

/** Rows that a PATCH or DELETE of a collection writes. */
export interface WrittenRows {
  /** Filters of the request, at least one. */
  readonly asked: readonly Filter[]
  /** Filters of the request, of the view and of `may`. */
  readonly filters: readonly Filter[]
  readonly may: Reach | null
  /** True if rows are only checked and counted. */
  readonly isDry: boolean
}

/**
 * Parses the query string of a write of all rows that match. `access`: what the caller may write. @throws ApiError, also if there
 * is no filter: without this error, a forgotten or lost filter would mean every row
 */
export function parseFilteredWrite(view: View, access: Access, verb: 'update' | 'delete', query: string): WrittenRows {
  const asked: Filter[] = []
  let mayText: string | undefined
  let isDry: boolean | undefined
  for (const parameter of parseQueryString(query)) {
    const { name, value } = parameter
    const lower = name.toLowerCase()
    if (lower === 'may') mayText = singleValue('InvalidMay', 'may', mayText, value)
    else if (lower === 'dryrun')
      isDry = singleValue('InvalidDryRun', 'dryRun', isDry, parseSwitch('InvalidDryRun', 'dryRun', value))
    else if (isOfLists(lower)) throw unusedParameter(view, verb, parameter)
    else addFilter(asked, parseFilter(view, parameter, PARAMETERS))
  }
  const may = parseMay(view, access, mayText)
  if (asked.length === 0) throw filterRequired(view, verb)
  return { asked, filters: withFiltersOf(view, asked, may), may, isDry: isDry ?? false }
}

function isOfLists(lower: string): boolean {
  return RESERVED_PARAMETERS.some((name) => name.toLowerCase() === lower)
}

function unusedParameter({ plural }: View, verb: 'update' | 'delete', { name }: Parameter): ApiError {
  const target = excerpt(name)
  const done = verb === 'update' ? 'changed' : 'deleted'
  const message = `To ${verb} ${plural} takes filters, may and dryRun, not "${target}": all rows that match are ${done}, in no order and without pages.`
  return new ApiError('UnknownParameter', message, { target })
}

function filterRequired({ plural, id }: View, verb: 'update' | 'delete'): ApiError {
  const method = verb === 'update' ? 'PATCH' : 'DELETE'
  const one = `one row has an address of its own, /${plural}/<id>`
  const message = `${method} of ${plural} needs a filter that says which rows: ${one}, and ${id.name}=!= means all that you may read.`
  return new ApiError('FilterRequired', message)
}
