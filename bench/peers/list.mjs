const TEXTS = [
  ...['employeeNumber', 'title', 'firstName', 'middleName', 'lastName', 'knownAs', 'displayName', 'workEmail', 'workPhone'],
  ...['workMobile', 'company', 'department', 'division', 'location', 'jobTitle', 'jobLevel', 'manager', 'type', 'status'],
]
const INSTANTS = ['started', 'continuousStart', 'contractEnd', 'employmentEnd']
/** The keys of an employee in the order of answers, each with the kind of its value. */
export const EMPLOYEE = Object.fromEntries(
  [...['id', ...TEXTS.slice(0, 10), 'companyId', ...TEXTS.slice(10, 16), 'managerId', ...TEXTS.slice(16), ...INSTANTS]].map(
    (key) => [key, TEXTS.includes(key) ? 'text' : INSTANTS.includes(key) ? 'instant' : 'integer'],
  ),
)

/** `lastName` → `last_name` */
export const columnOf = (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Without case and accents, as `foldedSql` of a column. */
export const folded = (text) =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
export const foldedSql = (column) =>
  `lower(regexp_replace(normalize(${column}, NFD), '[\\u0300-\\u036f]', '', 'g') collate "und-x-icu")`

/** The properties that a list is filtered and sorted by, each with the key that a peer's own schema has for it. */
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
  },
  company: { Id: 'id', Name: 'name', Enabled: 'enabled' },
  employee: Object.fromEntries(Object.keys(EMPLOYEE).map((key) => [key[0].toUpperCase() + key.slice(1), key])),
}

const OPERAND = /^(!=|<=|>=|<|>|=)?(.*)$/s
const PAGE_SIZE = { min: 5, default: 20, max: 50 }

/** What a client asked for cannot be done; both servers answer 400. */
export class BadRequest extends Error {
  statusCode = 400
}

/**
 * A query string, as an object of strings or arrays of strings, as
 * `{ filters: [{ key, operator, value }], sorts: [{ key, descending }], pageSize, page }`. Sorts end with the id,
 * in the direction of the last.
 * @throws BadRequest
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
  else if (name === 'PageSize') list.pageSize = Math.min(Math.max(integer(name, value), PAGE_SIZE.min), PAGE_SIZE.max)
  else if (name === 'sort') for (const part of value.split(',')) list.sorts.push(parseSort(table, part))
  else if (name.endsWith('[contains]'))
    list.filters.push({ key: keyOf(table, name.slice(0, -10)), operator: 'contains', value: folded(value) })
  else if (name.endsWith('[]')) {
    const key = keyOf(table, name.slice(0, -2))
    const known = list.filters.find((filter) => filter.key === key && filter.operator === 'any')
    if (known) known.value.push(value)
    else list.filters.push({ key, operator: 'any', value: [value] })
  } else {
    const [, operator = '=', operand] = OPERAND.exec(value)
    if (operand === '') throw new BadRequest(`${name} has no value`)
    list.filters.push({ key: keyOf(table, name), operator, value: operand })
  }
}

function parseSort(table, text) {
  return { key: keyOf(table, text.replace(/^[+\- ]/, '')), descending: text.startsWith('-') }
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
