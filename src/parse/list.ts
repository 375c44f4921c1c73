import { ApiError, type ErrorCode } from '../errors.ts'
import type { Choice } from '../model/choice.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { RESERVED_PARAMETERS } from '../model/names.ts'
import type { Filter, ListQuery, Seek, Sort, StreamQuery } from '../model/query.ts'
import { parseFields } from './fields.ts'
import { addFilter, parseFilter } from './filter.ts'
import type { StreamForm } from './form.ts'
import { Names } from './names.ts'
import { PAGE_SIZE_DEFAULT, parsePage, parsePageSize } from './page.ts'
import { parseQueryString } from './queryString.ts'
import { parseSort } from './sort.ts'

/** The parameters of a collection, each checked by itself; undefined: it is not there. */
interface Parameters {
  readonly filters: Filter[]
  readonly sorts: Sort[]
  kept: string
  pageSize?: number
  page?: number
  cursor?: string
  /** Values of all parameters of this name, with commas between. */
  fields?: string
  bom?: boolean
  excel?: boolean
  /** True if the language has decimal commas. */
  locale?: boolean
}

/**
 * The query string of a collection, without `?`, as a typed query; without `cursors` no cursor is valid. Spec 4.2.
 * @throws ApiError for the first fault
 */
export function parseList(entity: Entity, query: string, cursors: Cursors | null = null): ListQuery {
  const read = readParameters(entity, query)
  refuseCsvOnly(read, 'a page is')
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
  for (const [name, code] of PAGING)
    if (read[name === 'PageSize' ? 'pageSize' : name] !== undefined) {
      const message = `A stream has every row, and no pages: leave ${name} out, or ask for application/json.`
      throw new ApiError(code, message, { target: name })
    }
  if (form !== 'csv') refuseCsvOnly(read, 'NDJSON is')
  const { filters, sorts, fields, bom = false, excel = false, locale = false } = read
  const style = { hasMark: bom, isForExcel: excel, hasDecimalComma: locale }
  return { filters, sorts, choice: choiceOf(entity, fields), ...style }
}

function choiceOf(entity: Entity, fields: string | undefined): Choice | null {
  return fields === undefined ? null : parseFields(entity, fields)
}

/** Refuses parameters that would have no effect, because they were meant for another form. */
function refuseCsvOnly({ bom, excel, locale }: Parameters, what: string) {
  const target = bom ? 'bom' : excel ? 'excel' : locale !== undefined ? 'locale' : null
  if (target === null) return
  const message = `${target} belongs to Accept: text/csv, which ${what} not: send that, or leave ${target} out.`
  throw new ApiError('InvalidForm', message, { target })
}

const PAGING = [
  ['page', 'InvalidPage'],
  ['PageSize', 'InvalidPageSize'],
  ['cursor', 'InvalidCursor'],
] as const

function readParameters(entity: Entity, query: string): Parameters {
  const read: Parameters = { filters: [], sorts: [], kept: '' }
  for (const parameter of parseQueryString(query)) {
    const { name, value, raw } = parameter
    const purpose = purposeOf(entity, name)
    if (purpose === 'page') {
      read.page = once('InvalidPage', 'page', read.page, parsePage(value))
      continue
    }
    if (purpose === 'cursor') {
      read.cursor = once('InvalidCursor', 'cursor', read.cursor, value)
      continue
    }
    read.kept = read.kept === '' ? raw : `${read.kept}&${raw}`
    if (purpose === 'sort') parseSort(entity, value, read.sorts)
    else if (purpose === 'PageSize') read.pageSize = once('InvalidPageSize', 'PageSize', read.pageSize, parsePageSize(value))
    else if (purpose === 'fields') read.fields = read.fields === undefined ? value : `${read.fields},${value}`
    else if (purpose === 'filter') addFilter(read.filters, parseFilter(entity, parameter))
    else if (purpose === 'locale') read.locale = once('InvalidForm', 'locale', read.locale, parseLocale(value))
    else read[purpose] = once('InvalidForm', purpose, read[purpose], parseSwitch(purpose, value))
  }
  return read
}

function parseSwitch(name: string, text: string): boolean {
  if (text !== '0' && text !== '1') throw new ApiError('InvalidForm', `${name} is 1 or 0.`, { target: name })
  return text === '1'
}

/** Returns whether a language has decimal commas. @throws ApiError for none, or one with another mark */
function parseLocale(text: string): boolean {
  try {
    const [language] = Intl.NumberFormat.supportedLocalesOf(text)
    const mark = language && new Intl.NumberFormat(language).formatToParts(1.5).find(({ type }) => type === 'decimal')?.value
    if (mark === ',' || mark === '.') return mark === ','
  } catch {
    // Not a tag of a language.
  }
  const message = 'locale is a language with decimal points or commas, such as de, fr-CA or en.'
  throw new ApiError('InvalidForm', message, { target: 'locale' })
}

function once<Value>(code: ErrorCode, target: string, before: Value | undefined, value: Value): Value {
  if (before !== undefined) throw new ApiError(code, `${target} is given twice.`, { target })
  return value
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
