// Makes the requests of summaries: their dimensions, measures and paths. Also makes filters that find the rows of a group.
import { formatCount, formatDecimal, formatUnit, formatValue } from './format.ts'
import { zoneStore } from './readerZone.ts'
import {
  allProperties,
  distantProperties,
  findNamed,
  findProperty,
  isQuantity,
  type Property,
  type Resource,
  type Row,
  valueIn,
} from './resources.ts'
import { type Filter, type Parameters, printPath, type View } from './view.ts'
import { instantOf, localOf } from './zone.ts'

const UNITS = ['year', 'quarter', 'month', 'week', 'day'] as const
export type Unit = (typeof UNITS)[number]
/** A property to group by, or a period of it, such as the month of a date. */
export interface Dimension {
  /** Name in the page's address: `Type` or `month(Start)`. */
  readonly name: string
  readonly words: string
  readonly unit: Unit | null
  readonly property: Property
  /** Time zone in which the periods begin and end. */
  readonly zone: string
}

/** A value to compute for each group. */
export interface Measure {
  /** Name in the page's address: `count` or `sum(Period.Days)`. */
  readonly name: string
  readonly words: string
  readonly calculation: 'count' | (typeof CALCULATIONS)[number]
  readonly property: Property | null
}

const CALCULATIONS = ['sum', 'average', 'minimum', 'maximum'] as const
/**
 * Names of the members that contain the results of a group. The page does not group by a property or an object with such a name.
 */
const RESULT_NAMES: readonly string[] = ['count', ...CALCULATIONS]

const isKey = ({ path, kind }: Property) => kind !== 'json' && !RESULT_NAMES.includes(path[0] as string)
const UTC = 'UTC'
const wholeOf = (property: Property): Dimension => ({
  name: property.name,
  words: property.label,
  unit: null,
  property,
  zone: UTC,
})

/** Returns the zone in which periods begin: the zone that the reader has chosen, or UTC if the summary takes no zone. */
export const periodZone = ({ hasZone }: Resource) => (hasZone ? zoneStore.value : UTC)

/**
 * Returns the dimensions of properties: the periods of a date or date-time, the values of any other property. `zone`: time zone
 * of the periods of date-times.
 */
export function dimensionsOf(properties: readonly Property[], zone = UTC): Dimension[] {
  return properties.filter(isKey).flatMap((property): Dimension[] => {
    if (property.kind !== 'date' && property.kind !== 'instant') return [wholeOf(property)]
    return UNITS.map((unit) => ({
      name: `${unit}(${property.name})`,
      words: `${unit} of ${property.label}`,
      unit,
      property,
      zone: property.kind === 'instant' ? zone : UTC,
    }))
  })
}

const COUNT: Measure = { name: 'count', words: 'count', calculation: 'count', property: null }

export function measuresOf(properties: readonly Property[]): Measure[] {
  const computed = CALCULATIONS.flatMap((calculation) =>
    properties.filter(isQuantity).map((property): Measure => {
      const { name, label } = property
      return { name: `${calculation}(${name})`, words: `${calculation} of ${label}`, calculation, property }
    }),
  )
  return [COUNT, ...computed]
}

/** Parts of a summary that the reader chooses: `show` is the measure, `by` and `and` are the dimensions. */
export const PARTS = ['show', 'by', 'and'] as const
export type Part = (typeof PARTS)[number]

/** The summary that a view asks for. Parts that are missing in the address get a default. */
export interface Question {
  readonly measure: Measure
  readonly by: Dimension
  readonly and: Dimension | null
  /** Texts in the address that are no valid measure or dimension, by their part. */
  readonly unknown: Readonly<Partial<Record<Part, string>>>
}

/** Returns the summary that a view asks for. `zone`: zone of the periods of date-times. */
export function questionOf(resource: Resource, view: View, zone = periodZone(resource)): Question {
  const properties = allProperties(resource)
  const dimensions = dimensionsOf(properties, zone)
  const first = dimensions.find(({ unit }) => unit === 'month') ?? dimensions.find(({ property }) => property.name !== 'Id')
  const measure = findNamed(measuresOf(properties), view.show) ?? findNamed(measuresOf(distantProperties(resource)), view.show)
  const by = findDimension(resource, view.by, zone)
  const and = findDimension(resource, view.and, zone)
  const shown = { measure: measure ?? COUNT, by: by ?? first ?? (dimensions[0] as Dimension), and: and ?? null }
  const isTwice = shown.and !== null && isOfOneProperty(shown.and, shown.by)
  const unknown = Object.entries({ show: measure, by, and: isTwice ? undefined : and }).flatMap(([part, found]) =>
    found || view[part as Part] === '' ? [] : [[part, view[part as Part]] as const],
  )
  return { ...shown, and: isTwice ? null : shown.and, unknown: Object.fromEntries(unknown) }
}

/**
 * Finds a dimension by its name in the address. Also finds dimensions that no menu offers: dates without a period, and properties
 * that are two references away.
 */
export function findDimension(resource: Resource, name: string, zone = UTC): Dimension | undefined {
  const offered = findNamed(dimensionsOf(allProperties(resource), zone), name)
  if (offered !== undefined || name === '') return offered
  const property = findProperty(resource, name)
  return property && isKey(property) ? wholeOf(property) : findNamed(dimensionsOf(distantProperties(resource), zone), name)
}

/** True if two dimensions group by the same property. The API refuses such a summary. */
export const isOfOneProperty = (one: Dimension, other: Dimension) => one.property.name === other.property.name

/** True if the values of all groups add up to the value of all rows. The API sorts groups only by such a measure. */
export const isAdditive = ({ calculation }: Measure) => calculation === 'count' || calculation === 'sum'

/**
 * Returns the path of a summary. `parts`: further parameters, such as sort and page. Unknown parts of the question are sent
 * unchanged, so that the API says what is wrong with them.
 */
export function summaryPath(resource: Resource, view: View, question: Partial<Question>, parts: Parameters = {}): string {
  const { measure, by, and, unknown = {} } = question
  const groupBy = [unknown.by ?? by?.name, unknown.and ?? and?.name].filter(Boolean).join(',') || undefined
  const [, word, name] = /^(\w+)\((.*)\)$/.exec(unknown.show ?? measure?.name ?? '') ?? []
  const zone = [by, and].find((one) => one && one.zone !== UTC)?.zone
  return printPath(`${resource.plural}/Summary`, view.filters, { groupBy, zone, ...(word && { [word]: name }), ...parts })
}

/** Returns the value of a measure in a group. */
export function measured(group: Row, { calculation, property }: Measure): string | number | null {
  if (!property) return group.count as number
  return valueIn(group, { path: [calculation, ...property.path] }) as string | number | null
}

/** Formats the value of a measure. Counts are whole numbers, and so are sums, minimums and maximums of whole numbers. */
export function formatMeasured({ calculation, property }: Measure, value: string | number): string {
  const isWhole = property === null || (property.kind === 'integer' && calculation !== 'average')
  return isWhole ? formatCount(value as number) : formatDecimal(value)
}

export const NO_VALUE = 'no value'

/** Returns words for a group's value in a dimension. */
export function groupLabel(group: Row, { property, unit, zone }: Dimension): string {
  const value = valueIn(group, property)
  if (value === null) return NO_VALUE
  if (value === '') return 'empty text'
  // A date-time that is not grouped by a period is shown in UTC, the zone of its dimension.
  return unit ? formatUnit(unit, wallClock(String(value), zone)) : formatValue(property, value, 'UTC')
}

/** Returns midnight of the day on which a period begins in a zone, written as if the zone were UTC. */
export function wallClock(start: string, zone: string): string {
  const local = zone === UTC ? null : localOf(start, zone)
  // Where clocks skip midnight, the period begins later. Midnight is returned nevertheless.
  return local === null ? start : `${local.slice(0, 10)}T00:00:00Z`
}

/**
 * Returns the name of the reference through which a property is copied, and the id that the reference has in a group. Groups with
 * the same copied value differ by this id. Returns null if the property is not copied, or if the group lacks the reference.
 */
export function referenceOf(group: Row, { copiedThrough }: Property): { readonly name: string; readonly id: string } | null {
  if (copiedThrough === null) return null
  const key = copiedThrough.replace(/(?<=^|\.)[A-Z]/g, (letter) => letter.toLowerCase())
  return key in group ? { name: copiedThrough, id: String(group[key] ?? '') } : null
}

/** Returns filters that match exactly the rows of a group. */
function filtersOf(group: Row, dimensions: readonly Dimension[]): Filter[] {
  return dimensions.flatMap(({ property, unit, zone }) => {
    const { name, kind } = property
    const reference = referenceOf(group, property)
    if (reference !== null) return [{ name: reference.name, sign: '=', values: [reference.id] }]
    const value = valueIn(group, property)
    if (value === null || unit === null) return [{ name, sign: '=', values: [String(value ?? '')] }]
    const start = new Date(wallClock(String(value), zone))
    // A browser cannot read a value such as infinity as a date, nor compute the end of its period. So the filter asks for the
    // value itself.
    if (Number.isNaN(start.getTime())) return [{ name, sign: '=', values: [String(value)] }]
    const print = (date: Date) => {
      const text = date.toISOString()
      return kind === 'date' ? text.slice(0, 10) : (instantOf(text.slice(0, 19), zone) ?? `${text.slice(0, 19)}Z`)
    }
    const end = nextUnit(start, unit)
    const from = { name, sign: '>=', values: [zone === UTC ? print(start) : String(value)] }
    // The API accepts no year after 9999.
    return end.getUTCFullYear() > 9999 ? [from] : [from, { name, sign: '<', values: [print(end)] }]
  })
}

/**
 * Returns filters that find exactly the rows of a group; null if no filters do. A filter for the empty text also finds rows
 * without a value. So no filters find exactly the group of the empty text. Filters find the group without a value only if there
 * is no group of the empty text. `hasEmptyText`: returns false only if a property certainly has no such group.
 */
export function linkedFilters(
  group: Row,
  dimensions: readonly Dimension[],
  hasEmptyText: (property: Property) => boolean,
): Filter[] | null {
  const isFound = dimensions.every(({ property }) => {
    if (referenceOf(group, property) !== null) return true
    const value = valueIn(group, property)
    return value !== '' && (value !== null || property.kind !== 'text' || !hasEmptyText(property))
  })
  return isFound ? filtersOf(group, dimensions) : null
}

/** Returns the filters of a view, and the filters of `more` that the view does not have yet. */
export function addFilters(filters: readonly Filter[], more: readonly Filter[]): Filter[] {
  const known = new Set(filters.map((filter) => JSON.stringify(filter)))
  return [...filters, ...more.filter((filter) => !known.has(JSON.stringify(filter)))]
}

/** Returns filters that find the rows which are in none of these groups; null if no filters do. */
export function otherFilters(
  groups: readonly Row[],
  dimension: Dimension,
  hasEmptyText: (property: Property) => boolean,
): Filter[] | null {
  // A period is two conditions. A row outside of the period fails only one of them, and filters cannot be combined with "or".
  if (dimension.unit !== null) return null
  const found = groups.map((group) => linkedFilters(group, [dimension], hasEmptyText)?.[0] ?? null)
  return found.every((filter) => filter !== null) ? found.map((filter) => ({ ...filter, sign: '!=' })) : null
}

/** Returns the start of the next period. `start`: start of a year, quarter, month, week or day. */
export function nextUnit(start: Date, unit: Unit): Date {
  const next = new Date(start)
  if (unit === 'day' || unit === 'week') next.setUTCDate(next.getUTCDate() + (unit === 'day' ? 1 : 7))
  else next.setUTCMonth(next.getUTCMonth() + { year: 12, quarter: 3, month: 1 }[unit])
  return next
}
