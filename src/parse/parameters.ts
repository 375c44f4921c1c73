// Parameters that several endpoints share: page, style of a CSV, choice of fields, dry run; ids in paths.
import { ApiError, type ErrorCode } from '../errors.ts'
import { type Entity, isGroup, type Projection, type Property, project } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import type { CsvForm, Filter } from '../model/query.ts'
import { findMember } from './names.ts'
import { faultOfName } from './nearestProperty.ts'
import { type Parameter, parseQueryString } from './queryString.ts'

/** Bounds of an integer, and its value in a request that names none. */
export interface Bounds {
  readonly min: number
  readonly max: number
  readonly normal: number
}

/** Rows of a list's page. */
export const LIST_PAGES: Bounds = { min: 5, max: 50, normal: 20 }
/** Groups of a summary's page. D76 */
export const SUMMARY_PAGES: Bounds = { min: 5, max: 1_000, normal: 100 }

/** No table has that many pages, and a page's offset stays a safe integer. */
const PAGE_MAX = 1e12
const INTEGER = /^-?\d+$/

/** The parameters that lists and summaries share, each checked by itself; undefined: it is not there. */
export interface CommonParameters {
  readonly filters: Filter[]
  /** The query string as the client wrote it, without `page` and `cursor`. */
  queryWithoutPaging: string
  pageSize?: number
  page?: number
  cursor?: string
  bom?: boolean
  excel?: boolean
  /** True if the language has decimal commas. */
  locale?: boolean
}

/** Reads a shared parameter into `read`; false: `purpose` is that of another one. @throws ApiError that names the parameter */
export function readCommonParameter(
  read: CommonParameters,
  purpose: string | undefined,
  { value, raw }: Parameter,
  sizes: Bounds,
): purpose is 'page' | 'cursor' | 'PageSize' | 'bom' | 'excel' | 'locale' {
  if (purpose !== 'page' && purpose !== 'cursor')
    read.queryWithoutPaging = read.queryWithoutPaging === '' ? raw : `${read.queryWithoutPaging}&${raw}`
  if (purpose === 'page') read.page = once('InvalidPage', purpose, read.page, parsePage(value))
  else if (purpose === 'cursor') read.cursor = once('InvalidCursor', purpose, read.cursor, value)
  else if (purpose === 'PageSize')
    read.pageSize = once('InvalidPageSize', purpose, read.pageSize, parseInteger('InvalidPageSize', purpose, value, sizes))
  else if (purpose === 'bom' || purpose === 'excel' || purpose === 'locale') {
    const form = purpose === 'locale' ? parseLocale(value) : parseSwitch('InvalidForm', purpose, value)
    read[purpose] = once('InvalidForm', purpose, read[purpose], form)
  } else return false
  return true
}

/**
 * Values of the parameters that an address takes, whose names match in any case. `codes`: the error where one is repeated; null:
 * its values are joined by commas. `fault`: the message about any other. @throws ApiError with such a code, or UnknownParameter
 */
export function readNamed<Name extends string>(
  query: string,
  codes: Readonly<Record<Name, ErrorCode | null>>,
  fault: (name: string) => string,
): Partial<Record<Name, string>> {
  const read: Partial<Record<Name, string>> = {}
  for (const { name, value } of parseQueryString(query)) {
    const known = (Object.keys(codes) as Name[]).find((one) => one.toLowerCase() === name.toLowerCase())
    if (known === undefined) throw new ApiError('UnknownParameter', fault(name), { target: excerpt(name) })
    const code = codes[known]
    const before = code === null && known in read ? `${read[known]},` : ''
    read[known] = code === null ? before + value : once(code, known, read[known], value)
  }
  return read
}

/** Parses an integer, set to the nearest boundary without a word. Spec 4.2, Paging 2. @throws ApiError with this code */
export function parseInteger(code: ErrorCode, target: string, text: string | undefined, { min, max, normal }: Bounds): number {
  if (text === undefined) return normal
  if (INTEGER.test(text)) return Math.min(Math.max(Number(text), min), max)
  throw new ApiError(code, `${target} must be an integer; ${min} to ${max} make a difference.`, { target })
}

/** The page's number, 1 upwards; however large, it is only past the end. @throws ApiError InvalidPage */
function parsePage(text: string): number {
  const page = INTEGER.test(text) ? Number(text) : 0
  if (page < 1) throw new ApiError('InvalidPage', 'page must be an integer of 1 or more.', { target: 'page' })
  return Math.min(page, PAGE_MAX)
}

/** The value of a parameter that may be given once. @throws ApiError with this code where it was given before */
function once<Value>(code: ErrorCode, target: string, before: Value | undefined, value: Value): Value {
  if (before !== undefined) throw new ApiError(code, `${target} is given twice.`, { target })
  return value
}

/** Parses `1` or `0`. @throws ApiError with this code */
function parseSwitch(code: ErrorCode, target: string, text: string): boolean {
  if (text !== '0' && text !== '1') throw new ApiError(code, `${target} is 1 or 0.`, { target })
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

/** The style of a CSV with these parameters. */
export function csvFormOf({ bom = false, excel = false, locale = false }: CommonParameters): CsvForm {
  return { hasMark: bom, isForExcel: excel, hasDecimalComma: locale }
}

/** Refuses parameters that would have no effect: those of pages in a stream, and those of CSV elsewhere. @throws ApiError */
export function rejectUnusedParameters(read: CommonParameters, form: 'json' | 'csv' | 'ndjson'): void {
  if (form !== 'json')
    for (const [name, key, code] of PAGING)
      if (read[key] !== undefined) {
        const message = `A stream has every row, and no pages: leave ${name} out, or ask for application/json.`
        throw new ApiError(code, message, { target: name })
      }
  const { bom, excel, locale } = read
  const target = bom ? 'bom' : excel ? 'excel' : locale !== undefined ? 'locale' : null
  if (form === 'csv' || target === null) return
  const what = form === 'json' ? 'a page' : 'NDJSON'
  const message = `${target} belongs to Accept: text/csv, which ${what} is not: send that, or leave ${target} out.`
  throw new ApiError('InvalidForm', message, { target })
}

const PAGING = [
  ['page', 'page', 'InvalidPage'],
  ['PageSize', 'pageSize', 'InvalidPageSize'],
  ['cursor', 'cursor', 'InvalidCursor'],
] as const

const ID = /^[1-9]\d{0,15}$/

/** The id in a path, 1 to 2^53-1, as text for PostgreSQL; null: no row can have it. */
export function parseId(segment: string): string | null {
  return ID.test(segment) && Number(segment) <= Number.MAX_SAFE_INTEGER ? segment : null
}

/** Refuses all parameters: one that is sent was meant to do something. @throws ApiError UnknownParameter */
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
export function parseRowFields(entity: Entity, query: string): Projection | null {
  const { fields = null } = readNamed(query, { fields: null }, () => 'The address of a row takes no query parameter but fields.')
  return parseFields(entity, fields)
}

/** Parses `Id,Name,Period.Days`; an object stands for all its parts, null for everything. D56 @throws ApiError InvalidFields */
export function parseFields(entity: Entity, text: string | null): Projection | null {
  if (text === null) return null
  const chosen = new Set<Property>()
  for (const name of text.split(',')) {
    const member = findMember(entity, name)
    if (!member) {
      const message = faultOfName(
        entity,
        name,
        'fields',
        entity.members.flatMap((one) => (isGroup(one) ? [one, ...one.properties] : one)),
      )
      throw new ApiError('InvalidFields', message, { target: 'fields' })
    }
    for (const property of isGroup(member) ? member.properties : [member]) chosen.add(property)
  }
  return project(entity, chosen)
}
