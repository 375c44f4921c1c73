/** A row by its columns, or by the names of its properties. */
export type Row = Record<string, unknown>

/** The SQL whose result an answer must have. */
export interface Reference {
  readonly rows: string
  /** Counts all rows of a list; null for a path with an id. */
  readonly total: string | null
}

const TABLES: Readonly<Record<string, string>> = { absences: 'absence', companies: 'company', employees: 'employee' }
const PAGE_SIZE = 20
const PAGE_SIZE_MIN = 5
const PAGE_SIZE_MAX = 50

/**
 * Reads a path as the README tells the API: by hand, and with nothing of what the server does it with.
 * @throws Error for what it does not know: filters without a value
 */
export function referenceOf(path: string): Reference {
  const [place = '', query = ''] = path.split('?')
  const [, collection = '', id] = place.split('/')
  const table = TABLES[collection.toLowerCase()]
  if (!table) throw new Error(`the reference does not know ${place}`)
  if (id) return { rows: `select * from ${table} where id = ${literal(id)}`, total: null }
  const { filters, sorts, page, pageSize } = readQuery(query)
  const matching = `from ${table} where ${['true', ...filters].join(' and ')}`
  const window = `limit ${pageSize} offset ${(page - 1) * pageSize}`
  return {
    rows: `select * ${matching} order by ${sorts.join(', ')} ${window}`,
    total: `select count(*) ${matching}`,
  }
}

function readQuery(query: string) {
  const filters: string[] = []
  const values = new Map<string, string[]>()
  let sorts = ['id']
  let page = 1
  let pageSize = PAGE_SIZE
  for (const [name, value] of new URLSearchParams(query)) {
    const parameter = name.toLowerCase()
    if (parameter === 'sort') sorts = orders(value.split(','))
    else if (parameter === 'page') page = Number(value)
    else if (parameter === 'pagesize') pageSize = Math.min(PAGE_SIZE_MAX, Math.max(PAGE_SIZE_MIN, Number(value)))
    else if (name.endsWith('[]')) values.set(name, [...(values.get(name) ?? []), literal(value)])
    else filters.push(condition(name, value))
  }
  for (const [name, all] of values) filters.push(`${columnOf(name.slice(0, -2))} in (${all.join()})`)
  return { filters, sorts, page, pageSize }
}

/** The id breaks ties, in the direction of the last definition. */
function orders(definitions: readonly string[]): string[] {
  return [...definitions.map(order), definitions.at(-1)?.startsWith('-') ? 'id desc' : 'id']
}

/** A text is compared and ordered by its column's collation; PostgreSQL has nulls last, and first where descending. */
function order(definition: string): string {
  // The '+' of a query string has become a space.
  const property = definition.replace(/^[-+ ]/, '')
  return `${columnOf(property)} ${definition.startsWith('-') ? 'desc nulls first' : 'asc nulls last'}`
}

function condition(property: string, text: string): string {
  if (property.endsWith('[contains]')) {
    const column = `lower(regexp_replace(normalize(${columnOf(property.slice(0, -10))}, NFD), '[\\u0300-\\u036f]', '', 'g'))`
    return `strpos(${column}, ${literal(text.toLowerCase())}) > 0`
  }
  const [, operator = '', value = ''] = /^(!=|<=|>=|=|<|>)?(.*)$/s.exec(text) ?? []
  if (value === '') throw new Error(`the reference does not know the filter ${property}=${text}`)
  if (operator === '!=') return `${columnOf(property)} is distinct from ${literal(value)}`
  return `${columnOf(property)} ${operator || '='} ${literal(value)}`
}

/** `Period.Days` → `"period_days"`. */
function columnOf(property: string): string {
  const words = property.split('.').map((part) => part.replaceAll(/(?<=.)(?=[A-Z])/g, '_'))
  return `"${words.join('_').toLowerCase()}"`
}

function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
