// Parses query strings, the parameters that several endpoints share (page, CSV options, choice of fields, dry run), and ids in
// paths. Elysia cannot parse the query strings: of repeated parameters it keeps only the last, and so would lose one of the two
// filters of a range.
import { ApiError, type ErrorCode } from '../errors.ts'
import { isGroup, type Projection, type Property, project } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { haveOf } from '../model/names.ts'
import type { CsvForm, Filter } from '../model/query.ts'
import type { View } from '../model/view.ts'
import { decimalMarkOf } from '../spreadsheets/notation.ts'
import { findMember } from './names.ts'
import { faultOfName } from './nearestProperty.ts'
import { faultOfPath, findRelated, meantPath } from './paths.ts'

/** One `name=value` of a query string, decoded. `raw`: the parameter as the client wrote it, not decoded. */
export interface Parameter {
  readonly name: string
  readonly value: string
  readonly raw: string
}

/** Parses the parameters in order; `+` is a space. @throws ApiError InvalidQueryString for invalid escapes or UTF-8 */
export function parseQueryString(query: string): Parameter[] {
  const parameters: Parameter[] = []
  const read = query.includes('%') || query.includes('+') ? decode : verbatim
  let equals = -1
  let start = 0
  while (start < query.length) {
    const end = indexOrEnd(query, '&', start)
    if (end > start) {
      // An `=` after the end of this parameter belongs to a later parameter, and is not searched for again.
      if (equals < start) equals = indexOrEnd(query, '=', start)
      const nameEnd = Math.min(equals, end)
      const name = query.slice(start, nameEnd)
      const value = query.slice(nameEnd + 1, end)
      parameters.push({ name: read(name), value: read(value), raw: query.slice(start, end) })
    }
    start = end + 1
  }
  return parameters
}

function indexOrEnd(text: string, character: string, start: number): number {
  const index = text.indexOf(character, start)
  return index === -1 ? text.length : index
}

const verbatim = (text: string) => text

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    // Throws for invalid escapes and for bytes that are not UTF-8.
    return decodeURIComponent(spaced)
  } catch {
    const message = `The query string has a bad percent escape, or bytes that are not UTF-8, in "${excerpt(text, 60)}".`
    throw new ApiError('InvalidQueryString', message)
  }
}

/** Least, greatest and default value of an integer parameter. */
export interface Bounds {
  readonly min: number
  readonly max: number
  readonly normal: number
}

/** Least, greatest and default number of rows of a list's page. */
export const LIST_PAGES: Bounds = { min: 5, max: 50, normal: 20 }
/** Least, greatest and default number of groups of a summary's page. D76 */
export const SUMMARY_PAGES: Bounds = { min: 5, max: 1_000, normal: 100 }

/** Maximum page number: no table has more pages, and the offset stays a safe integer. */
const PAGE_MAX = 1e12
const INTEGER = /^-?\d+$/

/** Parameters that lists and summaries share, each checked; undefined: the request does not have the parameter. */
export interface CommonParameters {
  readonly filters: Filter[]
  /** The query string as the client wrote it, without `page` and `cursor`, for links to pages. */
  queryWithoutPaging: string
  pageSize?: number
  page?: number
  cursor?: string
  bom?: boolean
  excel?: boolean
  /** True if the language in the parameter `locale` writes decimals with a comma. */
  locale?: boolean
  may?: string
}

const COMMON_NAMES = ['page', 'cursor', 'PageSize', 'bom', 'excel', 'locale', 'may'] as const
type CommonName = (typeof COMMON_NAMES)[number]

/** Returns whether lists and summaries share this parameter, so that `readCommonParameter` reads it. */
export function isCommon(purpose: string | undefined): purpose is CommonName {
  return COMMON_NAMES.includes(purpose as CommonName)
}

/** Adds a parameter to `queryWithoutPaging`, as the client wrote it. Leaves out `page` and `cursor`. */
export function keepForLinks(read: CommonParameters, purpose: string | undefined, { raw }: Parameter): void {
  if (purpose === 'page' || purpose === 'cursor') return
  read.queryWithoutPaging = read.queryWithoutPaging === '' ? raw : `${read.queryWithoutPaging}&${raw}`
}

/** Reads a common parameter into `read`. @throws ApiError that names the parameter */
export function readCommonParameter(read: CommonParameters, purpose: CommonName, { value }: Parameter, sizes: Bounds): void {
  if (purpose === 'page') read.page = singleValue('InvalidPage', purpose, read.page, parsePage(value))
  else if (purpose === 'may') read.may = singleValue('InvalidMay', purpose, read.may, value)
  else if (purpose === 'cursor') read.cursor = singleValue('InvalidCursor', purpose, read.cursor, value)
  else if (purpose === 'PageSize')
    read.pageSize = singleValue('InvalidPageSize', purpose, read.pageSize, parseInteger('InvalidPageSize', purpose, value, sizes))
  else {
    const form = purpose === 'locale' ? parseLocale(value) : parseSwitch('InvalidForm', purpose, value)
    read[purpose] = singleValue('InvalidForm', purpose, read[purpose], form)
  }
}

/**
 * Reads the parameters of an endpoint, by names in upper or lower case. `codes`: the error for a parameter that is given twice;
 * null: its values are joined by commas. `fault`: message about an unknown parameter. @throws ApiError with one of these codes,
 * or UnknownParameter
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
    read[known] = code === null ? before + value : singleValue(code, known, read[known], value)
  }
  return read
}

/**
 * Parses an integer. A number outside of the bounds becomes the nearest boundary; a missing number becomes `normal`. Spec 4.2,
 * Paging 2. @throws ApiError with this code
 */
export function parseInteger(code: ErrorCode, target: string, text: string | undefined, { min, max, normal }: Bounds): number {
  if (text === undefined) return normal
  if (INTEGER.test(text)) return Math.min(Math.max(Number(text), min), max)
  throw new ApiError(code, `${target} must be an integer; ${min} to ${max} make a difference.`, { target })
}

/** Parses the number of a page, from 1. A number past the last page is allowed. @throws ApiError InvalidPage */
function parsePage(text: string): number {
  const page = INTEGER.test(text) ? Number(text) : 0
  if (page < 1) throw new ApiError('InvalidPage', 'page must be an integer of 1 or more.', { target: 'page' })
  return Math.min(page, PAGE_MAX)
}

/**
 * Returns the value of a parameter that must not be given twice. `before`: the value that was given earlier, or undefined.
 * @throws ApiError with this code if there is an earlier value
 */
export function singleValue<Value>(code: ErrorCode, target: string, before: Value | undefined, value: Value): Value {
  if (before !== undefined) throw new ApiError(code, `${target} is given twice.`, { target })
  return value
}

/** Parses `1` or `0`. @throws ApiError with this code */
export function parseSwitch(code: ErrorCode, target: string, text: string): boolean {
  if (text !== '0' && text !== '1') throw new ApiError(code, `${target} is 1 or 0.`, { target })
  return text === '1'
}

/**
 * Returns whether a language writes decimals with a comma; false: with a point. @throws ApiError if the language is unknown, or
 * has neither
 */
function parseLocale(text: string): boolean {
  const mark = decimalMarkOf(text)
  if (mark !== null) return mark === ','
  const message = 'locale is a language with decimal points or commas, such as de, fr-CA or en.'
  throw new ApiError('InvalidForm', message, { target: 'locale' })
}

/** Returns the CSV options that these parameters choose. */
export function csvFormOf({ bom = false, excel = false, locale = false }: CommonParameters): CsvForm {
  return { hasMark: bom, isForExcel: excel, hasDecimalComma: locale }
}

/**
 * Rejects parameters that would have no effect: paging parameters of a stream, and CSV parameters if the format is not CSV.
 * @throws ApiError
 */
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

/** Parses the id in a path, 1 to 2^53-1, as text for PostgreSQL. Returns null for a text that cannot be an id. */
export function parseId(segment: string): string | null {
  return ID.test(segment) && Number(segment) <= Number.MAX_SAFE_INTEGER ? segment : null
}

/** Rejects all parameters, since a client that sends a parameter expects an effect. @throws ApiError UnknownParameter */
export function parseNoParameters(query: string): void {
  readNamed(query, {}, () => 'This address takes no query parameters.')
}

/** Parameters of a POST. */
export interface CreateParameters {
  /** True if rows are only checked, not written. D59 */
  readonly isDry: boolean
  /** Name of the property by which stored rows are found; null: all rows are created. D115 */
  readonly match: string | null
}

/** Parses `dryRun=1` and `match=EmployeeNumber`. All other parameters are rejected. @throws ApiError */
export function parseCreateParameters(query: string): CreateParameters {
  const fault = () => 'To create takes no query parameters but dryRun and match.'
  const { dryRun, match = null } = readNamed(query, { dryRun: 'InvalidDryRun', match: 'InvalidMatch' }, fault)
  return { isDry: dryRun !== undefined && parseSwitch('InvalidDryRun', 'dryRun', dryRun), match }
}

/**
 * Parses the query string of a request for one row: the properties that `fields` chooses. Returns null without `fields`: the
 * answer has all properties of the entity itself. @throws ApiError
 */
export function parseRowFields(view: View, query: string): Projection | null {
  const { fields = null } = readNamed(query, { fields: null }, () => 'The address of a row takes no query parameter but fields.')
  return parseFields(view, fields)
}

/**
 * Parses `Id,Name,Period.Days,EmployeeId.Department`; an object stands for all its parts. Returns null if `text` is null: the
 * request gets all properties of the entity itself. D56, D91 @throws ApiError InvalidFields
 */
export function parseFields(view: View, text: string | null): Projection | null {
  if (text === null) return null
  const chosen = new Set<Property>()
  for (const name of text.split(',')) {
    const member = findMember(view, name) ?? findRelated(view, name)
    if (!member) throw new ApiError('InvalidFields', faultOfField(view, name), { target: 'fields' })
    for (const property of isGroup(member) ? member.properties : [member]) chosen.add(property)
  }
  return project(view, chosen)
}

function faultOfField(view: View, name: string): string {
  const path = faultOfPath(view, name)
  if (path !== null) return `${view.plural} ${haveOf(view)} no "${excerpt(name)}".${path}`
  const members = view.members.flatMap((one) => (isGroup(one) ? [one, ...one.properties] : one))
  return faultOfName(view, name, 'fields', members, meantPath(view, name))
}
