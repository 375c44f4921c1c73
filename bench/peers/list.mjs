// Parses query strings of lists and summaries for the hand-written peers.

/** Properties to filter and sort by, each with its key in a peer's own schema. */
const PROPERTIES = {
  absence: {
    Id: 'id',
    Status: 'status',
    EmployeeId: 'employeeId',
    Employee: 'employee',
    Type: 'type',
    Reason: 'reason',
    Start: 'start',
    End: 'end',
    'Period.Prefered': 'prefered',
    'Period.Days': 'days',
    'Period.Hours': 'hours',
    'EmployeeId.Department': 'employeeId.department',
    'EmployeeId.Started': 'employeeId.started',
  },
  company: { Id: 'id', Name: 'name', Enabled: 'enabled' },
}

const OPERAND = /^(!=|<=|>=|<|>|=)?(.*)$/s
const PAGE_SIZE = { min: 5, default: 20, max: 50 }
const GROUPS = { min: 5, default: 100, max: 1_000 }
const PERIODS = ['year', 'quarter', 'month', 'week', 'day']
const NUMBERS = ['days', 'hours']

/** A request that is not valid; both servers answer 400. */
export class BadRequest extends Error {
  statusCode = 400
}

/**
 * Parses a query string, as an object of strings or arrays of strings, to `{ filters: [{ key, operator, value }], sorts: [{ key,
 * descending }], pageSize, page }`. Sorts end with the id, in the direction of the last sort. @throws BadRequest
 */
export function parseList(table, parameters) {
  const list = { filters: [], sorts: [], pageSize: PAGE_SIZE.default, page: 1 }
  for (const name in parameters) {
    const given = parameters[name]
    for (const value of typeof given === 'string' ? [given] : given) addParameter(list, table, name, value)
  }
  if (!list.sorts.some(({ key }) => key === 'id'))
    list.sorts.push({ key: 'id', descending: list.sorts.at(-1)?.descending ?? false })
  return list
}

function addParameter(list, table, name, value) {
  if (name === 'page') list.page = integer(name, value)
  else if (name === 'PageSize') list.pageSize = sizeIn(PAGE_SIZE, value)
  else if (name === 'sort') for (const part of value.split(',')) list.sorts.push(parseSort(table, part))
  else {
    const [, operator = '=', operand] = OPERAND.exec(value)
    if (operand === '') throw new BadRequest(`${name} has no value`)
    list.filters.push({ key: keyOf(table, name), operator, value: operand })
  }
}

/**
 * Parses a query string to `{ filters, groups: [{ key, period }], sums: [key], sorts: [{ column, descending }], pageSize }`. A
 * sort's column is the index of a group or, after these, of the count or a sum. Sorts end with the groups. @throws BadRequest
 */
export function parseSummary(table, { groupBy, sum, sort, PageSize, ...filters }) {
  const [keys, properties, definitions] = [groupBy, sum, sort].map((text = '') => String(text).split(',').filter(Boolean))
  const sums = properties.map((name) => keyOf(table, name))
  const wrong = sums.find((key) => !NUMBERS.includes(key))
  if (wrong) throw new BadRequest(`${wrong} is no number`)
  const columns = [...keys, 'count', ...properties.map((name) => `sum(${name})`)]
  const sorts = [...definitions, ...keys].map((text) => {
    const column = columns.indexOf(text.replace(/^[+\- ]/, ''))
    if (column < 0) throw new BadRequest(`cannot sort by ${text}`)
    return { column, descending: text.startsWith('-') }
  })
  const groups = keys.map((text) => parseGroup(table, text))
  return { filters: parseList(table, filters).filters, groups, sums, sorts, pageSize: sizeIn(GROUPS, PageSize) }
}

function parseGroup(table, text) {
  const [, period, name] = /^(?:(\w+)\()?([\w.]+)\)?$/.exec(text) ?? []
  if (period !== undefined && !PERIODS.includes(period)) throw new BadRequest(`unknown period ${period}`)
  return { key: keyOf(table, name), period }
}

function sizeIn({ min, default: fallback, max }, text) {
  return text === undefined ? fallback : Math.min(Math.max(integer('PageSize', text), min), max)
}

function parseSort(table, text) {
  return { key: keyOf(table, text.replace(/^[+\- ]/, '')), descending: text.startsWith('-') }
}

/** Returns whether a key is a column of the employee of an absence, so that the statement needs a join. */
export function isRelated(key) {
  return key.startsWith('employeeId.')
}

function keyOf(table, name) {
  const key = PROPERTIES[table][name]
  if (key === undefined) throw new BadRequest(`unknown parameter ${name}`)
  return key
}

function integer(name, value) {
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 1) throw new BadRequest(`${name} must be an integer of 1 or more`)
  return number
}

/** Returns the object Period, or null if no part of it has a value. */
export function periodOf({ prefered, days, hours }) {
  return prefered === null && days === null && hours === null ? null : { prefered, days, hours }
}

/** Returns a group, with its sums in an object. */
export function presentGroup(row, sums) {
  row.sum = { period: Object.fromEntries(sums.map((key) => [key, row[`sum_${key}`]])) }
  for (const key of sums) delete row[`sum_${key}`]
  return row
}
