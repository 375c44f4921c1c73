import type { Collection, Field } from '../../support/model.ts'
import type { Random } from '../../support/random.ts'
import { tables } from '../../support/randomRows.ts'
import { conditionsOf, type Filter, filterParameters, pageParameters, randomFilters, type Truth } from './randomList.ts'
import { columnBehind, jsonPath, ownFields, printed, referenceOf, relatedFields } from './related.ts'

const PERIODS = ['year', 'quarter', 'month', 'week', 'day'] as const
type Period = (typeof PERIODS)[number]

/** Time zones for which PostgreSQL has the same rules as JavaScript, for the instants of random rows. */
const ZONES = ['Europe/Amsterdam', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'] as const

interface Key {
  readonly field: Field
  readonly period: Period | null
}

const AGGREGATES = ['sum', 'average', 'minimum', 'maximum'] as const
type Aggregate = (typeof AGGREGATES)[number]

interface Measure {
  readonly aggregate: Aggregate
  readonly field: Field
}

/** A summary as a request. */
export interface Summary {
  readonly collection: Collection
  readonly filters: readonly Filter[]
  readonly keys: readonly Key[]
  /** Time zone of periods; null: UTC. */
  readonly zone: string | null
  readonly measures: readonly Measure[]
  readonly sorts: readonly { readonly name: string; readonly isDescending: boolean }[]
  readonly page: number
  readonly pageSize: number
  readonly path: string
}

/** Chance in percent that a key, or the property of a minimum or maximum, is a path. */
const BY_PATH = 60
const KEYS_MAX = 3

export function randomSummary(random: Random): Summary {
  const collection = random.pick(['Companies', 'Employees', 'Absences', 'Absences', 'Absences'] as const)
  const related = relatedFields[collection]
  const draw = () => random.pick(related.length > 0 && random.chance(BY_PATH) ? related : ownFields[collection])
  const keys = uniqueBy(random.times(KEYS_MAX, draw), ({ name }) => name).map((field): Key => {
    return { field, period: field.kind === 'instant' && random.chance(80) ? random.pick(PERIODS) : null }
  })
  const decimals = ownFields[collection].filter(({ kind }) => kind === 'decimal')
  const drawn = random.times(3, (): Measure | null => {
    const aggregate = random.pick(AGGREGATES)
    const isOfNumbers = aggregate === 'sum' || aggregate === 'average'
    const field = isOfNumbers ? (decimals.length > 0 ? random.pick(decimals) : null) : draw()
    return field === null || field.kind === 'boolean' ? null : { aggregate, field }
  })
  const known = drawn.filter((measure) => measure !== null)
  const measures = uniqueBy(known, ({ aggregate, field }) => `${aggregate} ${field.name}`)
  const names = ['count', ...keys.map(nameOf), ...measures.flatMap(sumName)]
  const sorts = uniqueBy(
    random.times(2, () => ({ name: random.pick(names), isDescending: random.chance(50) })),
    ({ name }) => name,
  )
  const [page, pageSize] = [random.chance(70) ? 1 : 1 + random.below(9), random.pick([5, 20, 100, 1_000])]
  const filters = randomFilters(random, collection, related.length > 0)
  const zone = keys.some(({ period }) => period !== null) && random.chance(50) ? random.pick(ZONES) : null
  const summary = { collection, filters, keys, zone, measures, sorts, page, pageSize }
  return { ...summary, path: `/${collection}/Summary?${parametersOf(summary).join('&')}` }
}

function uniqueBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()]
}

function nameOf({ field, period }: Key): string {
  return period === null ? field.name : `${period}(${field.name})`
}

function sumName({ aggregate, field }: Measure): string[] {
  return aggregate === 'sum' ? [`sum(${field.name})`] : []
}

function parametersOf({ filters, keys, zone, measures, sorts, page, pageSize }: Omit<Summary, 'path'>): string[] {
  const parts = filterParameters(filters)
  if (keys.length > 0) parts.push(`groupBy=${keys.map(nameOf)}`)
  if (zone !== null) parts.push(`zone=${zone}`)
  parts.push(...measures.map(({ aggregate, field }) => `${aggregate}=${field.name}`))
  if (sorts.length > 0) parts.push(`sort=${sorts.map(({ name, isDescending }) => (isDescending ? '-' : '') + name)}`)
  return [...parts, ...pageParameters(page, pageSize)]
}

/**
 * Returns the keys of a group. A copied name is followed by its reference, because a group has the rows of one person, not of one
 * name.
 */
function shownKeys(collection: Collection, keys: readonly Key[]): Key[] {
  return keys.flatMap((key) => {
    const reference = key.period === null ? referenceOf(collection, key.field) : null
    const isGiven = reference === null || keys.some(({ field }) => field.name === reference.name)
    return isGiven ? [key] : [key, { field: reference, period: null }]
  })
}

/** Returns SQL that groups the rows, and prints a page of groups. Each group is an array of its keys, count and measures. */
export function truthOfSummary(summary: Summary): Truth {
  const { collection, filters, measures, sorts, page, pageSize } = summary
  const keys = shownKeys(collection, summary.keys)
  const values: string[] = []
  const keyValues = keys.map(({ field, period }) => {
    const value = columnBehind(collection, field.name)
    if (period === null) return value
    // Before 1800 days are those of UTC.
    const zone = `case when ${value} >= '1800-01-01' then '${summary.zone ?? 'UTC'}' else 'UTC' end`
    return `date_trunc('${period}', ${value}, ${zone})`
  })
  const figures = measures.map(({ aggregate, field }) => FIGURES[aggregate](columnBehind(collection, field.name)))
  const columns = [
    ...keyValues.map((value, index) => `${value} as "K${index}"`),
    'count(*) as "N"',
    ...figures.map((value, index) => `${value} as "F${index}"`),
  ]
  const groupBy = keys.length === 0 ? '' : ` group by ${keys.map((_, index) => index + 1)}`
  const condition = conditionsOf(collection, filters, values)
  const groups = `select ${columns} from ${tables[collection]} as "T" where ${condition}${groupBy}`
  const shown = [
    ...keys.map(({ field }, index) => printed(field.kind, `"K${index}"`)),
    '"N"',
    ...measures.map(({ field }, index) => printed(field.kind, `"F${index}"`)),
  ]
  const columnOf = (name: string) => {
    if (name === 'count') return '"N"'
    const key = keys.findIndex((one) => nameOf(one) === name)
    return key >= 0 ? `"K${key}"` : `"F${measures.findIndex((one) => sumName(one).includes(name))}"`
  }
  const order = [
    ...sorts.map(({ name, isDescending }) => columnOf(name) + (isDescending ? ' desc' : '')),
    ...keys.map((_, index) => `"K${index}"`),
  ]
  const orderBy = order.length === 0 ? '' : ` order by ${order}`
  const ofPage = `select json_build_array(${shown}) as shown from "G"${orderBy} limit ${pageSize} offset ${(page - 1) * pageSize}`
  const text = `with "G" as materialized (${groups}) select (select count(*) from "G")::int as total, \
coalesce(json_agg(shown), '[]')::text as shown from (${ofPage}) as page`
  return { text, values }
}

const FIGURES: Record<Aggregate, (value: string) => string> = {
  sum: (value) => `sum(${value})`,
  // The cast makes the quotient exact: PostgreSQL rounds a quotient to as many digits as its operands have.
  average: (value) => `round(sum(${value})::numeric(80, 40) / nullif(count(${value}), 0), 8)`,
  minimum: (value) => `min(${value})`,
  maximum: (value) => `max(${value})`,
}

/** Returns the values of a group in the order of `truthOfSummary`. */
export function groupValues({ collection, keys, measures }: Summary, group: unknown): unknown[] {
  const at = (path: readonly string[]) =>
    path.reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name] ?? null, group)
  return [
    ...shownKeys(collection, keys).map(({ field }) => at(jsonPath(collection, field))),
    at(['count']),
    ...measures.map(({ aggregate, field }) => at([aggregate, ...jsonPath(collection, field)])),
  ]
}
