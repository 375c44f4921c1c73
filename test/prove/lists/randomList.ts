import { type Collection, type Filter as PlainFilter, properties, type Sort } from '../../support/model.ts'
import type { Random } from '../../support/random.ts'
import { tables } from '../../support/randomRows.ts'

/** Operator in brackets; values of `[]` are separated by line breaks. */
interface Filter extends Pick<PlainFilter, 'field' | 'operand'> {
  readonly operator: string
}

/** A list as a request. */
export interface List {
  readonly collection: Collection
  readonly filters: readonly Filter[]
  readonly sorts: readonly Sort[]
  readonly page: number
  readonly pageSize: number
  readonly path: string
}

/** Few texts, so that filters match some rows, and writes move rows in and out. */
export const TEXTS = ['', 'a', 'b', 'B', 'c', 'd e', 'é', 'ß'] as const
/** Some have 18 digits, of which floats have 16. */
export const DECIMALS = [
  ...['0', '0.5', '1', '1.5', '7', '0.00000001'],
  ...['9007199254.74099201', '9007199254.74099202', '9999999999.99999999'],
] as const
/** The first is far, and the second the last one whose seconds since 2000 need more than 32 bits; so are the last two ends. */
export const STARTS = ['0001-01-01T00:00:00Z', '1931-12-13T20:45:51Z', '2024-01-31T09:00:00Z'] as const
export const ENDS = ['2024-06-01T00:00:00Z', '2025-01-01T12:30:00Z', '2068-01-19T03:14:08Z', '9999-12-31T23:59:59Z'] as const
export const INSTANTS = [...STARTS, ...ENDS]

const OPERANDS: Record<Filter['field']['kind'], readonly string[]> = {
  text: TEXTS,
  decimal: ['', ...DECIMALS, '0.500000000', '1.00000000000001', '9007199254.740992015', '-1', '10', '30000000000'],
  instant: ['', ...INSTANTS, '2024-06-01T02:00:00+02:00', '2024-06-01T00:00:00.5Z', '2016-01-01T00:00:00Z'],
  integer: ['', '1', '2', '3', '5', '10', '40', '2000', '30000', '-1', '99999999999999999999'],
  boolean: ['true', 'false', 'TRUE'],
}
const PARTS = ['a', 'E', 'É', 'S', 'ß', ' ', 'd', 'zz'] as const
const EQUALITIES = ['=', '!=']
const OPERATORS = ['=', '=', '=', '!=', '<', '<=', '>', '>=']
/** Properties that random writes set. */
const WRITTEN: Record<Collection, RegExp> = {
  Companies: /./,
  Employees: /^(Id|KnownAs|FirstName|LastName|DisplayName|Department|Status|Started|CompanyId|Company|Manager(Id)?)$/,
  Absences: /./,
}

export function randomList(random: Random): List {
  const collection = random.pick(['Companies', 'Employees', 'Absences', 'Absences'] as const)
  const fields = properties[collection].filter(({ name }) => WRITTEN[collection].test(name))
  const drawn = random.times(random.chance(80) ? 2 : 4, (): Filter => {
    const field = random.pick(fields)
    if (random.chance(15)) {
      const values = random.times(4, () => random.pick(OPERANDS[field.kind]))
      if (values.length > 0) return { field, operator: '[]', operand: values.join('\n') }
    }
    if (field.kind === 'text' && random.chance(20))
      return { field, operator: random.pick(['[begins]', '[contains]']), operand: random.pick(PARTS) }
    const operand = random.pick(OPERANDS[field.kind])
    const isEquality = operand === '' || field.kind === 'boolean' || (field.kind === 'text' && random.chance(70))
    return { field, operator: random.pick(isEquality ? EQUALITIES : OPERATORS), operand }
  })
  const filters = withOneAny(drawn)
  const sorts = random.times(random.chance(70) ? 2 : 4, () => ({ field: random.pick(fields), descending: random.chance(50) }))
  const unique = sorts.filter(({ field }, index) => sorts.findIndex((sort) => sort.field === field) === index)
  const [page, pageSize] = [random.chance(60) ? 1 : 1 + random.below(random.chance(70) ? 9 : 2_000), 5 + random.below(16)]
  return {
    collection,
    filters,
    sorts: unique,
    page,
    pageSize,
    path: pathOf(collection, filters, unique, page, pageSize),
  }
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

function pathOf(
  collection: Collection,
  filters: readonly Filter[],
  sorts: readonly Sort[],
  page: number,
  pageSize: number,
): string {
  const parts = filters.flatMap(({ field, operator, operand }) => {
    const values = operator === '[]' ? operand.split('\n') : [operand]
    if (operator.startsWith('[')) return values.map((value) => `${field.name}${operator}=${encodeURIComponent(value)}`)
    return `${field.name}=${encodeURIComponent(operator === '=' ? operand : operator + operand)}`
  })
  if (sorts.length > 0) parts.push(`sort=${sorts.map(({ field, descending }) => (descending ? '-' : '') + field.name)}`)
  parts.push(`PageSize=${pageSize}`)
  if (page > 1) parts.push(`page=${page}`)
  return `/${collection}?${parts.join('&')}`
}

const CASTS: Record<Filter['field']['kind'], string> = {
  text: '',
  decimal: '::text::numeric',
  instant: '::text::timestamptz(0)',
  integer: '::text::numeric',
  boolean: '::text::boolean',
}

/** Reads the total of a list, and the ids of its page, by SQL that shares no code with the server. */
export function truthOf({ collection, filters, sorts, page, pageSize }: List): { text: string; values: string[] } {
  const values: string[] = []
  const conditions = filters.map((filter) => conditionOf(filter, values))
  const from = `from ${tables[collection]} where ${['true', ...conditions].join(' and ')}`
  const direction = (isDescending = false) => (isDescending ? ' desc' : '')
  const keys = sorts.map(({ field, descending }) => columnOf(field.name) + direction(descending))
  const id = `id${direction(sorts.at(-1)?.descending)}`
  const ids = `select id ${from} order by ${[...keys, id].join(', ')} limit ${pageSize} offset ${(page - 1) * pageSize}`
  const text = `select (select count(*) ${from})::int as total, array(${ids})::text[]::text as ids`
  return { text, values }
}

function conditionOf({ field, operator, operand }: Filter, values: string[]): string {
  const column = columnOf(field.name)
  if (operator === '[]') {
    const ways = operand.split('\n').map((value) => conditionOf({ field, operator: '=', operand: value }, values))
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

/** Column of a property, quoted for SQL. */
function columnOf(name: string): string {
  const words = name.replace('.', '').replace(/(?<!^)([A-Z])/g, '_$1')
  return `"${words.toLowerCase()}"`
}
