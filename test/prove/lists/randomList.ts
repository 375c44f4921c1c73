import type { Collection, Field, Filter as PlainFilter, Sort } from '../../support/model.ts'
import type { Random } from '../../support/random.ts'
import { tables } from '../../support/randomRows.ts'
import { chainOf, columnBehind, isOfChain, isRelated, ownFields, printed, relatedFields } from './related.ts'

/** A filter. `operator`: an operator such as `<`, or one in brackets. Values of `[]` are separated by line breaks. */
export interface Filter extends Pick<PlainFilter, 'field' | 'operand'> {
  readonly operator: string
}

/** A list as a request. */
export interface List {
  readonly collection: Collection
  readonly filters: readonly Filter[]
  readonly sorts: readonly Sort[]
  readonly page: number
  readonly pageSize: number
  /** Properties that `fields` names; null: all own properties of the entity. */
  readonly shown: readonly Field[] | null
  readonly path: string
}

/** Few texts, so that filters match some rows, and writes move rows in and out. */
export const TEXTS = ['', 'a', 'b', 'B', 'c', 'd e', 'é', 'ß'] as const
/** Decimals, some of which have 18 digits, more than the 16 of a float. */
export const DECIMALS = [
  ...['0', '0.5', '1', '1.5', '7', '0.00000001'],
  ...['9007199254.74099201', '9007199254.74099202', '9999999999.99999999'],
] as const
/**
 * 1931-12-13T20:45:51Z here, and 2068-01-19T03:14:08Z in `ENDS`, are the nearest instants whose seconds since 2000 need more than
 * 32 bits.
 */
export const STARTS = ['0001-01-01T00:00:00Z', '1931-12-13T20:45:51Z', '2024-01-31T09:00:00Z'] as const
export const ENDS = ['2024-06-01T00:00:00Z', '2025-01-01T12:30:00Z', '2068-01-19T03:14:08Z', '9999-12-31T23:59:59Z'] as const
export const INSTANTS = [...STARTS, ...ENDS]

const OPERANDS: Record<Filter['field']['kind'], readonly string[]> = {
  text: TEXTS,
  decimal: ['', ...DECIMALS, '0.500000000', '1.00000000000001', '9007199254.740992015', '-1', '10', '30000000000'],
  instant: ['', ...INSTANTS, '2024-06-01T02:00:00+02:00', '2024-06-01T00:00:00.5Z', '2016-01-01T00:00:00Z'],
  integer: ['', '1', '2', '3', '5', '10', '40', '2000', '30000', '-1', '99999999999999999999'],
  boolean: ['true', 'false', 'TRUE', ''],
}
const PARTS = ['a', 'E', 'É', 'S', 'ß', ' ', 'd', 'zz'] as const
/** Operands of `[under]`: ids of employees, and ids that no employee has. */
const CHAIN_ENDS = ['1', '2', '3', '5', '10', '40', '77', '2000', '99999999999999999999'] as const
const EQUALITIES = ['=', '!=']
const OPERATORS = ['=', '=', '=', '!=', '<', '<=', '>', '>=']
/** Chances in percent: that a list has filters by paths, and that a filter of such a list is by a path. */
const PATHS = 55
const FILTER_BY_PATH = 60
/** Chance in percent that a list has two bounds of one property. */
const BOUNDS = 5

export function randomList(random: Random): List {
  const collection = random.pick(['Companies', 'Employees', 'Employees', 'Absences', 'Absences', 'Absences'] as const)
  const fields = ownFields[collection]
  const hasPaths = relatedFields[collection].length > 0 && random.chance(PATHS)
  const filters = randomFilters(random, collection, hasPaths)
  const sorts = random.times(random.chance(70) ? 2 : 4, () => ({ field: random.pick(fields), descending: random.chance(50) }))
  const unique = sorts.filter(({ field }, index) => sorts.findIndex((sort) => sort.field === field) === index)
  const [page, pageSize] = [random.chance(60) ? 1 : 1 + random.below(random.chance(70) ? 9 : 2_000), 5 + random.below(16)]
  const shown = hasPaths && random.chance(50) ? randomFields(random, collection) : null
  const list = { collection, filters, sorts: unique, page, pageSize, shown }
  return { ...list, path: `/${collection}?${[...parametersOf(list), ...pageParameters(page, pageSize)].join('&')}` }
}

/** Draws filters, some of them by a path if `hasPaths`. */
export function randomFilters(random: Random, collection: Collection, hasPaths: boolean): Filter[] {
  const drawn = random.times(random.chance(80) ? 2 : 4, () => {
    const isByPath = hasPaths && random.chance(FILTER_BY_PATH)
    return randomFilter(random, random.pick((isByPath ? relatedFields : ownFields)[collection]))
  })
  return withOneAny(random.chance(BOUNDS) ? [...drawn, ...randomBounds(random, ownFields[collection])] : drawn)
}

/** Draws two bounds of one property. Half of the pairs contradict each other, as a filter and a right can. */
function randomBounds(random: Random, fields: readonly Field[]): Filter[] {
  const field = random.pick(fields.filter(({ kind }) => kind !== 'boolean' && kind !== 'text'))
  const operand = () => random.pick(OPERANDS[field.kind].filter((value) => value !== ''))
  return [
    { field, operator: random.pick(['>', '>=']), operand: operand() },
    { field, operator: random.pick(['<', '<=']), operand: operand() },
  ]
}

function randomFilter(random: Random, field: Field): Filter {
  const operands = OPERANDS[field.kind]
  if (isOfChain(field) && random.chance(60)) return { field, operator: '[under]', operand: random.pick(CHAIN_ENDS) }
  if (random.chance(15)) {
    const values = random.times(4, () => random.pick(operands))
    if (values.length > 0) return { field, operator: '[]', operand: values.join('\n') }
  }
  if (field.kind === 'text' && random.chance(20))
    return { field, operator: random.pick(['[begins]', '[contains]']), operand: random.pick(PARTS) }
  const operand = random.pick(operands)
  const isEquality = operand === '' || field.kind === 'boolean' || (field.kind === 'text' && random.chance(70))
  return { field, operator: random.pick(isEquality ? EQUALITIES : OPERATORS), operand }
}

/** Draws properties to show, at least one of them by a path. */
function randomFields(random: Random, collection: Collection): Field[] {
  const related = random.times(3, () => random.pick(relatedFields[collection]))
  const own = random.times(2, () => random.pick(ownFields[collection]))
  return [...new Set([...own, random.pick(relatedFields[collection]), ...related])]
}

/** Merges all `[]` of one property to one filter. */
function withOneAny(filters: readonly Filter[]): Filter[] {
  const isAny = ({ operator }: Filter) => operator === '[]'
  const byField = Map.groupBy(filters.filter(isAny), ({ field }) => field)
  const merged = [...byField].map(([field, same]) => {
    return { field, operator: '[]', operand: same.map(({ operand }) => operand).join('\n') }
  })
  return [...filters.filter((filter) => !isAny(filter)), ...merged]
}

/** Returns the parameters of a list, or of its stream, without the parameters of the page. */
export function parametersOf({ filters, sorts, shown }: Pick<List, 'filters' | 'sorts' | 'shown'>): string[] {
  const parts = filterParameters(filters)
  if (sorts.length > 0) parts.push(`sort=${sorts.map(({ field, descending }) => (descending ? '-' : '') + field.name)}`)
  if (shown) parts.push(fieldsParameter(shown))
  return parts
}

export function fieldsParameter(shown: readonly Field[]): string {
  return `fields=${['Id', ...shown.map(({ name }) => name)]}`
}

export function pageParameters(page: number, pageSize: number): string[] {
  return [`PageSize=${pageSize}`, ...(page > 1 ? [`page=${page}`] : [])]
}

export function filterParameters(filters: readonly Filter[]): string[] {
  return filters.flatMap(({ field, operator, operand }) => {
    const values = operator === '[]' ? operand.split('\n') : [operand]
    if (operator.startsWith('[')) return values.map((value) => `${field.name}${operator}=${encodeURIComponent(value)}`)
    return `${field.name}=${encodeURIComponent(operator === '=' ? operand : operator + operand)}`
  })
}

const CASTS: Record<Filter['field']['kind'], string> = {
  text: '',
  decimal: '::text::numeric',
  instant: '::text::timestamptz(0)',
  integer: '::text::numeric',
  boolean: '::text::boolean',
}

/** A statement with its values, which reads a right answer. */
export interface Truth {
  readonly text: string
  readonly values: string[]
}

/**
 * Returns SQL that shares no code with the server. It reads the total of a list, the ids of its page, and the related values that
 * the page shows.
 */
export function truthOfList(list: Omit<List, 'path'>): Truth {
  const { collection, filters, sorts, shown, page, pageSize } = list
  const values: string[] = []
  const from = `from ${tables[collection]} as "T" where ${conditionsOf(collection, filters, values)}`
  const direction = (isDescending = false) => (isDescending ? ' desc' : '')
  const keys = sorts.map(({ field, descending }) => columnBehind(collection, field.name) + direction(descending))
  const id = `"T".id${direction(sorts.at(-1)?.descending)}`
  const rows = `${from} order by ${[...keys, id].join(', ')} limit ${pageSize} offset ${(page - 1) * pageSize}`
  const related = relatedShown(collection, shown).map(({ name, kind }) => printed(kind, columnBehind(collection, name)))
  const selected = `select id, json_build_array(${related}) as shown ${rows}`
  const text = `select (select count(*) ${from})::int as total, array_agg(id)::text[]::text as ids, \
coalesce(json_agg(shown), '[]')::text as shown from (${selected}) as page`
  return { text, values }
}

/** Returns the related properties that a list shows. */
export function relatedShown(collection: Collection, shown: List['shown']): Field[] {
  return (shown ?? []).filter((field) => isRelated(collection, field))
}

/** Returns SQL for the condition of all filters. Appends their operands to `values`. */
export function conditionsOf(collection: Collection, filters: readonly Filter[], values: string[]): string {
  return ['true', ...filters.map((filter) => conditionOf(collection, filter, values))].join(' and ')
}

function conditionOf(collection: Collection, { field, operator, operand }: Filter, values: string[]): string {
  const column = columnBehind(collection, field.name)
  if (operator === '[under]') return chainOf(column, `$${values.push(operand)}${CASTS.integer}`)
  if (operator === '[]') {
    const ways = operand.split('\n').map((value) => conditionOf(collection, { field, operator: '=', operand: value }, values))
    return `(${ways.join(' or ')})`
  }
  if (operator.startsWith('[')) {
    const plain = (text: string) => `replace(lower(translate(${text}, 'éÉ', 'ee')), 'ß', 'ss')`
    const found = `strpos(${plain(column)}, ${plain(`$${values.push(operand)}`)})`
    return operator === '[begins]' ? `${found} = 1` : `${found} > 0`
  }
  if (operand === '') {
    const isEmpty = field.kind === 'text' ? `(${column} is null or ${column} = '')` : `${column} is null`
    return operator === '=' ? isEmpty : `not ${isEmpty}`
  }
  values.push(field.kind === 'instant' ? operand.replace(/\.\d+/, '') : operand)
  const cast = `$${values.length}${CASTS[field.kind]}`
  return operator === '!=' ? `(${column} = ${cast}) is not true` : `${column} ${operator} ${cast}`
}
