import { ApiError, type ErrorCode } from '../errors.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import type { Filter, ListQuery, Sort } from '../model/query.ts'
import { parseCursor } from './cursor.ts'
import { FILTERS_MAX, parseFilter, RESERVED_PARAMETERS } from './filter.ts'
import { Names } from './names.ts'
import { PAGE_SIZE_DEFAULT, parsePage, parsePageSize } from './page.ts'
import { parseQueryString } from './queryString.ts'
import { parseSort } from './sort.ts'

/**
 * The query string of a collection, without `?`, as a typed query; without `cursors` no cursor is valid. Spec 4.2.
 * @throws ApiError for the first fault
 */
export function parseList(entity: Entity, query: string, cursors: Cursors | null = null): ListQuery {
  const filters: Filter[] = []
  const sorts: Sort[] = []
  let kept = ''
  let pageSize: number | undefined
  let page: number | undefined
  let cursor: string | undefined
  for (const parameter of parseQueryString(query)) {
    const purpose = purposeOf(entity, parameter.name)
    if (purpose === 'page') {
      page = once('InvalidPage', 'page', page, parsePage(parameter.value))
      continue
    }
    if (purpose === 'cursor') {
      cursor = once('InvalidCursor', 'cursor', cursor, parameter.value)
      continue
    }
    kept = kept === '' ? parameter.raw : `${kept}&${parameter.raw}`
    if (purpose === 'sort') parseSort(entity, parameter.value, sorts)
    else if (purpose === 'PageSize')
      pageSize = once('InvalidPageSize', 'PageSize', pageSize, parsePageSize(parameter.value))
    else filters.push(parseFilter(entity, parameter))
    if (filters.length > FILTERS_MAX)
      throw new ApiError('TooManyFilters', `A request may have up to ${FILTERS_MAX} filters.`)
  }
  const seek = cursor === undefined ? null : parseCursor(entity, { filters, sorts }, cursor, cursors)
  return { filters, sorts, pageSize: pageSize ?? PAGE_SIZE_DEFAULT, page: page ?? 1, seek, kept }
}

function once<Value>(code: ErrorCode, target: string, before: Value | undefined, value: Value): Value {
  if (before !== undefined) throw new ApiError(code, `${target} is given twice.`, { target })
  return value
}

type Purpose = 'filter' | (typeof RESERVED_PARAMETERS)[number]

const purposes = new WeakMap<Entity, Names<Purpose>>()

/** What a parameter is for. One without a purpose fails as a filter, with the reason. */
function purposeOf(entity: Entity, name: string): Purpose {
  let names = purposes.get(entity)
  if (!names) purposes.set(entity, (names = compilePurposes(entity)))
  return names.find(name) ?? 'filter'
}

function compilePurposes({ properties }: Entity): Names<Purpose> {
  return new Names<Purpose>([
    ...properties.map(({ name }) => [name, 'filter'] as const),
    ...RESERVED_PARAMETERS.map((name) => [name, name] as const),
  ])
}
