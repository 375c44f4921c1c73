/** A row by its columns, or by its properties. */
export type Row = Record<string, unknown>

/** SQL that reads what an answer must have. */
export interface Reference {
  readonly rows: string
  /** Statement that counts all rows of a list, or all groups of a summary; null for a path with an id. */
  readonly total: string | null
}

const TABLES: Readonly<Record<string, string>> = { absences: 'absence', companies: 'company', employees: 'employee' }
const OWN_PARAMETERS = ['sort', 'page', 'PageSize', 'groupBy', 'sum', 'fields']
/** Properties of objects: `fields` names only the object. */
const OBJECTS: Readonly<Record<string, readonly string[]>> = { Period: ['Period.Prefered', 'Period.Days', 'Period.Hours'] }

/**
 * Translates a path to SQL as the README describes it, without any code of the server. @throws Error for paths that it does not
 * support, such as filters without a value
 */
export function referenceOf(path: string): Reference {
  const [address = '', query = ''] = path.split('?')
  const [, collection = '', id] = address.split('/')
  const table = TABLES[collection.toLowerCase()]
  if (!table) throw new Error(`the reference does not know ${address}`)
  const parameters = [...new URLSearchParams(query)]
  const filters = parameters.flatMap(([name, value]) => (OWN_PARAMETERS.includes(name) ? [] : [condition(name, value)]))
  const given = (wanted: string) => parameters.find(([name]) => name === wanted)?.[1]
  const keys = given('groupBy')?.split(',') ?? []
  const related = [...parameters.map(([name]) => name), ...keys].filter((name) => relatedOf(name) !== null)
  const matching = `from ${table}${joinOf(related)} where ${['true', ...filters].join(' and ')}`
  if (id === 'Summary') return summaryOf(matching, given)
  const selected = given('fields')
    ?.split(',')
    .flatMap((name) => OBJECTS[name] ?? name)
    .map(columnOf)
  if (id) return { rows: `select ${selected ?? `${table}.*`} ${matching} and id = ${literal(id)}`, total: null }
  const sorts = given('sort')?.split(',') ?? []
  // The id breaks ties, in the direction of the last sort.
  const order = [...sorts.map((sort) => orderOf(columnOf(withoutSign(sort)), sort)), orderOf('id', sorts.at(-1) ?? '')]
  return {
    rows: `select ${selected ?? `${table}.*`} ${matching} order by ${order} ${windowOf(given, 20, 50)}`,
    total: `select count(*) ${matching}`,
  }
}

type Given = (parameter: string) => string | undefined

/** Returns the SQL of a summary. Columns are named after the members of its JSON. */
function summaryOf(matching: string, given: Given): Reference {
  const [keys = [], sums = []] = ['groupBy', 'sum'].map((name) => given(name)?.split(',') ?? [])
  const selected = keys.map((text) => {
    const [, period, property = text] = /^(\w+)\((.*)\)$/.exec(text) ?? []
    const column = columnOf(property)
    return period ? `date_trunc('${period}', ${column}, 'UTC') as ${column}` : column
  })
  for (const sum of sums) selected.push(`sum(${columnOf(sum)}) as ${columnOf(`Sum.${sum}`)}`)
  const groups = `select ${[...selected, 'count(*)']} ${matching} ${keys.length > 0 ? `group by ${keys.map((_, at) => at + 1)}` : ''}`
  const columns = [...keys, ...sums.map((sum) => `sum(${sum})`), 'count']
  const sorts = [...(given('sort')?.split(',') ?? []), ...keys]
  const order = sorts.map((sort) => orderOf(String(columns.indexOf(withoutSign(sort)) + 1), sort))
  return {
    rows: `${groups} ${order.length > 0 ? `order by ${order}` : ''} ${windowOf(given, 100, 1_000)}`,
    total: `select count(*) from (${groups}) as groups`,
  }
}

function windowOf(given: Given, size: number, max: number): string {
  const pageSize = Math.min(max, Math.max(5, Number(given('PageSize') ?? size)))
  return `limit ${pageSize} offset ${(Number(given('page') ?? 1) - 1) * pageSize}`
}

/** Removes the sign of a sort. A `+` in a query string has become a space. */
function withoutSign(sort: string): string {
  return sort.replace(/^[-+ ]/, '')
}

/** Orders by a column and its collation. Nulls are last, but first if descending, as by PostgreSQL's default. */
function orderOf(column: string, sort: string): string {
  return `${column} ${sort.startsWith('-') ? 'desc nulls first' : 'asc nulls last'}`
}

function condition(property: string, text: string): string {
  const [, operator = '=', value = ''] = /^(!=|<=|>=|=|<|>)?(.*)$/s.exec(text) ?? []
  const [, own = '', part] = /^([^[]*)\[(begins|contains)\]$/.exec(property) ?? []
  if (part !== undefined) return `${folded(columnOf(own))} like ${literal(`${part === 'begins' ? '' : '%'}${plainWord(value)}%`)}`
  if (value === '') throw new Error(`the reference does not know the filter ${property}=${text}`)
  return `${columnOf(property)} ${operator === '!=' ? 'is distinct from' : operator} ${literal(value)}`
}

/** Returns SQL for a text in lower case and without accents, as far as the generated names need it. */
function folded(column: string): string {
  const bare = `regexp_replace(normalize(lower(${column}), NFD), '[\\u0300-\\u036f]', '', 'g')`
  return `translate(${bare}, 'øłıđ', 'olid')`
}

/** Returns the value. @throws Error for a text that `folded`, or a pattern, would have to change */
function plainWord(value: string): string {
  if (/^[a-z]+$/.test(value)) return value
  throw new Error(`the reference does not know how to fold ${value}`)
}

/** Returns the name of the employee's property in a path; null for a property of the row itself. */
function relatedOf(property: string): string | null {
  return /^EmployeeId\.(\w+)$/.exec(property)?.[1] ?? null
}

/** Joins the employees' columns that these properties name. The join gives them names that no column of the row has. */
function joinOf(related: readonly string[]): string {
  if (related.length === 0) return ''
  const columns = [...new Set(related)].map((property) => `${columnOf(relatedOf(property) as string)} as ${columnOf(property)}`)
  return ` left join (select id as related_id, ${columns.join(', ')} from employee) as related on related_id = employee_id`
}

/** Returns `"period_days"` for `Period.Days`, and `"employee_id.department"` for `EmployeeId.Department`. */
function columnOf(property: string): string {
  const related = relatedOf(property)
  if (related !== null) return columnOf(related).replace('"', '"employee_id.')
  const words = property.split('.').map((part) => part.replaceAll(/(?<=.)(?=[A-Z])/g, '_'))
  return `"${words.join('_').toLowerCase()}"`
}

function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
