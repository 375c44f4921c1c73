// The query string of a summary, as a typed query: keys, measures, filters and sorts. D76
import { ApiError } from '../errors.ts'
import type { Access } from '../model/access.ts'
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { AGGREGATES, GROUPING_PARAMETERS, haveOf, RESERVED_PARAMETERS } from '../model/names.ts'
import { suggest } from '../model/nearest.ts'
import type { Filter } from '../model/query.ts'
import {
  type Aggregate,
  figureIndex,
  figuresOf,
  type GroupKey,
  type GroupSort,
  groupName,
  type Measure,
  PERIODS,
  type SummaryQuery,
} from '../model/summary.ts'
import type { View } from '../model/view.ts'
import type { Zone } from '../model/zone.ts'
import { addFilter, parseFilter, withFiltersOf } from './filter.ts'
import type { ListForm } from './headers.ts'
import { parseMay } from './may.ts'
import { findByName, findMember, listed, sortDefinitions } from './names.ts'
import { faultOfName, listOrNone, type MeantPath } from './nearestProperty.ts'
import {
  type CommonParameters,
  csvFormOf,
  isCommon,
  keepForLinks,
  type Parameter,
  parseQueryString,
  readCommonParameter,
  rejectUnusedParameters,
  SUMMARY_PAGES,
  singleValue,
} from './parameters.ts'
import { faultOfPath, findRelated, meantPath, referenceOfCopy } from './paths.ts'
import { directionHint, readDirected } from './sortHints.ts'
import { isZoned, parseZone, rejectUnusedZone } from './zone.ts'

export const KEYS_MAX = 3
/** Maximum number of properties of each aggregate. */
export const MEASURES_MAX = 8

/** Parameters of a summary that are not filters. */
const SUMMARY_PARAMETERS = [
  ...[...GROUPING_PARAMETERS, ...AGGREGATES],
  ...['sort', 'PageSize', 'page', 'bom', 'excel', 'locale', 'may'],
] as const

const findPurpose = findByName(SUMMARY_PARAMETERS.map((name) => [name, name] as const))
/** Names that other APIs use for the parameters of summaries. */
const OTHER_NAMES = Object.entries({
  ...{ avg: 'average', mean: 'average', min: 'minimum', max: 'maximum', total: 'sum' },
  ...{ tz: 'zone', timezone: 'zone', time_zone: 'zone' },
})
const HINTS = new Map(OTHER_NAMES.map(([word, name]) => [word, ` Did you mean ${name}?`]))
HINTS.set('count', ' Its groups always have a count.')
/** Members of every group's JSON, so no group key may have these names. */
const MEMBERS: readonly string[] = ['count', ...AGGREGATES]
const EXPRESSION = /^(\w+)\((.*)\)$/

interface Parameters extends CommonParameters {
  readonly keys: GroupKey[]
  readonly measures: Measure[]
  zone: Zone | null
  /** Values of all `sort` parameters. */
  readonly sorts: string[]
}

/**
 * Parses the query string of a summary, without `?`. `access`: what the caller may write; null: nothing. D76 @throws ApiError for
 * the first fault
 */
export function parseSummary(view: View, query: string, form: ListForm, access: Access | null = null): SummaryQuery {
  const read = readParameters(view, query)
  rejectUnusedParameters(read, form)
  const { keys, measures, queryWithoutPaging } = read
  const may = parseMay(view, access, read.may)
  const filters = withFiltersOf(view, read.filters, may)
  const figures = figuresOf(measures)
  const sorts: GroupSort[] = []
  for (const { name, descending } of read.sorts.flatMap(sortDefinitions))
    addSort(sorts, { column: sortColumn(view, { keys, figures }, name), isDescending: descending })
  for (let column = 0; column < keys.length; column++) addSort(sorts, { column, isDescending: false })
  const pages = { pageSize: read.pageSize ?? SUMMARY_PAGES.normal, page: read.page ?? 1, queryWithoutPaging }
  return { filters, may, keys, measures, figures, sorts, ...pages, ...csvFormOf(read) }
}

function readParameters(view: View, query: string): Parameters {
  const read: Parameters = { filters: [], keys: [], measures: [], sorts: [], zone: null, queryWithoutPaging: '' }
  for (const parameter of parseQueryString(query)) {
    const { name, value } = parameter
    const purpose = findPurpose(name)
    keepForLinks(read, purpose, parameter)
    if (isCommon(purpose)) readCommonParameter(read, purpose, parameter, SUMMARY_PAGES)
    else if (purpose === undefined) addFilter(read.filters, filterOf(view, parameter))
    else if (purpose === 'groupBy') for (const text of value.split(',')) addKey(read.keys, view, text)
    else if (purpose === 'sort') read.sorts.push(value)
    else if (purpose === 'zone') read.zone = singleValue('InvalidZone', purpose, read.zone ?? undefined, parseZone(value))
    else for (const text of value.split(',')) addMeasure(read.measures, view, purpose, text)
  }
  if (read.zone !== null) rejectUnusedZone(read.keys, periodsOf(view))
  return { ...read, keys: withReferences(view, withZone(read.keys, read.zone)) }
}

/** Sets the zone of the group keys that are periods of date-times. */
function withZone(keys: readonly GroupKey[], zone: Zone | null): readonly GroupKey[] {
  if (zone === null || zone.isUtc) return keys
  return keys.map((key) => (isZoned(key) ? { ...key, zone } : key))
}

/** Returns group keys by month for the date-times of the view, such as `month(Start)`. */
function periodsOf(view: View): string[] {
  const keys = view.properties.map((property) => ({ property, period: 'month' as const }))
  return keys.filter(isZoned).map(groupName)
}

/**
 * Adds a group key after each copied name: the reference along which it is copied. Different referred rows may have the same
 * name, and must form different groups. D92
 */
function withReferences(view: View, keys: readonly GroupKey[]): GroupKey[] {
  return keys.flatMap((key) => {
    const names = key.period === null ? referenceOfCopy(view, key.property) : null
    const own = { ...key, names }
    const isGiven = names === null || keys.some(({ property }) => property === names)
    return isGiven || !takesKey(names) ? [own] : [own, { property: names, period: null, zone: null, names: null }]
  })
}

function filterOf(view: View, parameter: Parameter): Filter {
  const lower = parameter.name.toLowerCase()
  const isOfLists = !findMember(view, lower) && RESERVED_PARAMETERS.some((name) => name.toLowerCase() === lower)
  const hint = isOfLists ? ' Its groups have pages by number, and the properties of groupBy.' : HINTS.get(lower)
  if (hint === undefined || findMember(view, lower)) return parseFilter(view, parameter, SUMMARY_PARAMETERS)
  const target = excerpt(parameter.name)
  throw new ApiError('UnknownParameter', `A summary has no parameter "${target}".${hint}`, { target })
}

function addKey(keys: GroupKey[], view: View, text: string) {
  const key = parseKey(view, text)
  const { property } = key
  if (!property.kind.isCompared) throw invalidKey(`${property.name} is ${property.kind.allowed}: rows cannot be grouped by it.`)
  if (!takesKey(property))
    throw invalidKey(`${property.name} cannot be a key: "${property.path[0]}" of a group is something else.`)
  const same = keys.find((other) => other.property === property)
  if (same) throw invalidKey(`${groupName(same)} and ${groupName(key)} group by one property: give one of the two.`)
  if (keys.push(key) > KEYS_MAX) throw invalidKey(`Rows are grouped by up to ${KEYS_MAX} properties.`)
}

function parseKey(view: View, text: string): GroupKey {
  const [, word, name] = EXPRESSION.exec(text) ?? []
  if (word === undefined || name === undefined)
    return { property: propertyOf(view, text, 'groupBy'), period: null, zone: null, names: null }
  const period = PERIODS.find((one) => one === word.toLowerCase())
  if (!period) throw invalidKey(`There is no "${excerpt(word)}" of a date: ${listed(PERIODS, 'or')}.${suggest(word, PERIODS)}`)
  const property = propertyOf(view, name, 'groupBy')
  if (takesPeriods(property)) return { property, period, zone: null, names: null }
  const accepted = `${period}() takes a date or a date-time${listOrNone(view, view.properties.filter(takesPeriods))}.`
  throw invalidKey(`${property.name} is ${property.kind.allowed}: ${accepted}`)
}

function addMeasure(measures: Measure[], view: View, aggregate: Aggregate, text: string) {
  const property = propertyOf(view, text, aggregate)
  const invalidMeasure = (message: string) => new ApiError('InvalidAggregate', message, { target: aggregate })
  if (!takesAggregate(property, aggregate))
    throw invalidMeasure(`${property.name} is ${meaningOf(property)}: ${aggregate} takes ${listAccepted(view, aggregate)}.`)
  const same = measures.filter((other) => other.aggregate === aggregate)
  if (same.some((other) => other.property === property)) return
  if (same.length === MEASURES_MAX) throw invalidMeasure(`${aggregate} takes up to ${MEASURES_MAX} properties.`)
  measures.push({ aggregate, property })
}

/** Returns whether rows can be grouped by the property. */
export function takesKey({ path, kind }: Property): boolean {
  return kind.isCompared && !MEMBERS.includes(path[0] as string)
}

/** Returns whether rows can be grouped by periods of the property. */
export function takesPeriods({ kind }: Property): boolean {
  return kind.temporal !== null
}

/** Returns whether the aggregate can be computed for the property. Ids are integers, but their sum has no meaning. */
export function takesAggregate(property: Property, aggregate: Aggregate): boolean {
  const { kind } = property
  if (!isOfNumbers(aggregate)) return kind.ordered
  return kind.jsonType === 'number' && !isId(property)
}

function isOfNumbers(aggregate: Aggregate): boolean {
  return aggregate === 'sum' || aggregate === 'average'
}

function isId({ name, reference, related }: Property): boolean {
  return related ? isId(related.property) : name === 'Id' || reference !== null
}

function meaningOf(property: Property): string {
  const { kind, reference } = property
  if (reference) return `the id of another row (${reference.entity})`
  return isId(property) ? 'the id of the row' : kind.allowed
}

/** Lists the properties that an aggregate accepts, to continue "sum takes". */
function listAccepted(entity: Entity, aggregate: Aggregate): string {
  const names = aggregated(entity, aggregate).map(({ name }) => name)
  if (names.length > 0) return listed(names, 'or')
  return isOfNumbers(aggregate)
    ? `numbers other than ids, of which ${entity.plural} ${haveOf(entity)} none`
    : `what has an order, which nothing of ${entity.plural} has`
}

function propertyOf(view: View, name: string, target: 'groupBy' | Aggregate): Property {
  const code = target === 'groupBy' ? 'InvalidGroupBy' : 'InvalidAggregate'
  const member = findMember(view, name) ?? findRelated(view, name)
  if (member && !isGroup(member)) return member
  const candidates = target === 'groupBy' ? view.properties.filter(takesKey) : aggregated(view, target)
  const path = member ? null : faultOfPath(view, name)
  if (path !== null) throw new ApiError(code, `${view.plural} ${haveOf(view)} no "${excerpt(name)}".${path}`, { target })
  if (!member) throw new ApiError(code, faultOfName(view, name, target, candidates, meantBy(view, name, target)), { target })
  const parts = candidates.filter((part) => member.properties.includes(part)).map((part) => part.name)
  const what = parts.length === 0 ? 'none of its parts is taken' : `give one of ${listed(parts, 'or')}`
  throw new ApiError(code, `${member.name} is an object: ${what}.`, { target })
}

/** Returns the path that a name probably means, if `target` accepts the property to which it leads; else null. */
function meantBy(view: View, name: string, target: 'groupBy' | Aggregate): MeantPath | null {
  const path = meantPath(view, name)
  const property = path === null ? undefined : findRelated(view, path.name)
  return property && (target === 'groupBy' || takesAggregate(property, target)) ? path : null
}

/** Properties that an aggregate accepts. */
function aggregated({ properties }: Entity, aggregate: Aggregate): Property[] {
  return properties.filter((property) => takesAggregate(property, aggregate))
}

/** Adds a sort if no earlier sort is by the same column. */
function addSort(sorts: GroupSort[], sort: GroupSort) {
  if (!sorts.some(({ column }) => column === sort.column)) sorts.push(sort)
}

/** Keys and figures that groups can be sorted by. */
type Sortable = Pick<SummaryQuery, 'keys' | 'figures'>

function sortColumn(view: View, { keys, figures }: Sortable, text: string): number {
  const lower = text.toLowerCase()
  if (lower === 'count') return keys.length
  const key = keys.findIndex((one) => groupName(one).toLowerCase() === lower || one.property.name.toLowerCase() === lower)
  if (key >= 0) return key
  const summed = summedIn(view, text)
  const sum = summed ? figureIndex(figures, 'sum', summed) : -1
  if (sum >= 0) return keys.length + 1 + sum
  const sums = figures.flatMap((figure) => (figure.name === 'sum' ? [`sum(${figure.property.name})`] : []))
  const known = [...keys.map(groupName), 'count', ...sums]
  const message = `These groups can be sorted by ${listed(known, 'or')}, not by "${excerpt(text)}".${sortHint(view, text, known)}`
  throw new ApiError('InvalidSort', message, { target: 'sort' })
}

/** Finds the property in a sort such as `sum(Period.Days)`. */
function summedIn(view: View, text: string): Property | null {
  const [, word, name = ''] = EXPRESSION.exec(text) ?? []
  const member = word?.toLowerCase() === 'sum' ? (findMember(view, name) ?? findRelated(view, name)) : undefined
  return member && !isGroup(member) ? member : null
}

/** Returns a hint for an unknown sort. `known`: names by which groups can be sorted. */
function sortHint(view: View, text: string, known: readonly string[]): string {
  const directed = readDirected(text)
  const name = known.find((one) => one.toLowerCase() === directed?.name.toLowerCase())
  if (directed && name !== undefined) return directionHint(name, directed.isDescending)
  const summed = summedIn(view, text)
  if (summed && takesAggregate(summed, 'sum')) return ` To sort by sum(${summed.name}), ask for sum=${summed.name}.`
  const key = findMember(view, text) ?? findRelated(view, text)
  const near = suggest(text, known)
  if (near !== '') return near
  if (key && !isGroup(key) && takesKey(key)) return ` To sort by ${key.name}, group by it.`
  return key ? '' : (faultOfPath(view, text) ?? '')
}

function invalidKey(message: string): ApiError {
  return new ApiError('InvalidGroupBy', message, { target: 'groupBy' })
}
