import { ApiError, type ErrorCode } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import type { Filter, ListQuery, Sort } from '../model/query.ts'
import { FILTERS_MAX, parseFilter } from './filter.ts'
import { PAGE_SIZE_DEFAULT, parsePage, parsePageSize } from './page.ts'
import { parseQueryString } from './queryString.ts'
import { parseSort } from './sort.ts'

/** The query string of a collection, without `?`, as a typed query. Spec 4.2. @throws ApiError for the first fault */
export function parseList(entity: Entity, query: string): ListQuery {
  const filters: Filter[] = []
  const sorts: Sort[] = []
  const kept: string[] = []
  let pageSize: number | undefined
  let page: number | undefined
  for (const parameter of parseQueryString(query)) {
    const name = parameter.name.toLowerCase()
    if (name === 'page') {
      page = once('InvalidPage', 'page', page, parsePage(parameter.value))
      continue
    }
    kept.push(parameter.raw)
    if (name === 'sort') parseSort(entity, parameter.value, sorts)
    else if (name === 'pagesize')
      pageSize = once('InvalidPageSize', 'PageSize', pageSize, parsePageSize(parameter.value))
    else filters.push(parseFilter(entity, parameter))
    if (filters.length > FILTERS_MAX)
      throw new ApiError('TooManyFilters', `A request may have up to ${FILTERS_MAX} filters.`)
  }
  return { filters, sorts, pageSize: pageSize ?? PAGE_SIZE_DEFAULT, page: page ?? 1, kept: kept.join('&') }
}

function once(code: ErrorCode, target: string, before: number | undefined, value: number): number {
  if (before !== undefined) throw new ApiError(code, `${target} is given twice.`, { target })
  return value
}
