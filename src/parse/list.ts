import { ApiError } from '../errors.ts'
import type { Choice } from '../model/choice.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { RESERVED_PARAMETERS } from '../model/names.ts'
import type { ListQuery, Seek, Sort, StreamQuery } from '../model/query.ts'
import { addFilter, parseFilter } from './filter.ts'
import type { StreamForm } from './headers.ts'
import { Names } from './names.ts'
import { parseFields } from './ownParameters.ts'
import { csvFormOf, LIST_PAGES, PAGE_SIZE_DEFAULT, readShared, refuseForeign, type SharedParameters } from './parameters.ts'
import { parseQueryString } from './queryString.ts'
import { parseSort } from './sort.ts'

interface Parameters extends SharedParameters {
  readonly sorts: Sort[]
  /** Values of all parameters of this name, with commas between. */
  fields?: string
}

/**
 * The query string of a collection, without `?`, as a typed query; without `cursors` no cursor is valid. Spec 4.2.
 * @throws ApiError for the first fault
 */
export function parseList(entity: Entity, query: string, cursors: Cursors | null = null): ListQuery {
  const read = readParameters(entity, query)
  refuseForeign(read, 'json')
  const { filters, sorts, pageSize, page, cursor, fields, kept } = read
  const seek = cursor === undefined ? null : parseCursor(entity, { filters, sorts }, cursor, cursors)
  return {
    ...{ filters, sorts, pageSize: pageSize ?? PAGE_SIZE_DEFAULT, page: page ?? 1, seek, kept },
    choice: choiceOf(entity, fields),
  }
}

/** Parses the query of a stream of all rows that match, without pages. D55 @throws ApiError for the first fault */
export function parseStream(entity: Entity, query: string, form: StreamForm): StreamQuery {
  const read = readParameters(entity, query)
  refuseForeign(read, form)
  const { filters, sorts, fields } = read
  return { filters, sorts, choice: choiceOf(entity, fields), ...csvFormOf(read) }
}

function choiceOf(entity: Entity, fields: string | undefined): Choice | null {
  return fields === undefined ? null : parseFields(entity, fields)
}

function readParameters(entity: Entity, query: string): Parameters {
  const read: Parameters = { filters: [], sorts: [], kept: '' }
  for (const parameter of parseQueryString(query)) {
    const { name, value } = parameter
    const purpose = purposeOf(entity, name)
    if (readShared(read, purpose, parameter, LIST_PAGES)) continue
    if (purpose === 'sort') parseSort(entity, value, read.sorts)
    else if (purpose === 'fields') read.fields = read.fields === undefined ? value : `${read.fields},${value}`
    else addFilter(read.filters, parseFilter(entity, parameter))
  }
  return read
}

type Purpose = 'filter' | (typeof RESERVED_PARAMETERS)[number]

const purposes = new WeakMap<Entity, Names<Purpose>>()

/** Returns the purpose of a parameter. One without a purpose fails as a filter, with the reason. */
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

/** The place that a cursor names in this list. @throws ApiError InvalidCursor */
function parseCursor(entity: Entity, list: Pick<ListQuery, 'filters' | 'sorts'>, text: string, cursors: Cursors | null): Seek {
  const seek = cursors?.read(entity, list, text)
  if (seek) return seek
  const message = 'The cursor is not one of this list: it was altered, or the filters or the sort were.'
  throw new ApiError('InvalidCursor', message, { target: 'cursor' })
}
