// Parts of the peers that use node-postgres: the pool, types, and statements.
import pg from 'pg'
import { isRelated } from './list.mjs'

const INT8 = 20
const NUMERIC = 1700
const TIMESTAMPTZ = 1184
pg.types.setTypeParser(INT8, Number)
pg.types.setTypeParser(NUMERIC, Number)
// PostgreSQL's form is `2024-01-31 09:00:00+00`, because the sessions are in UTC.
pg.types.setTypeParser(TIMESTAMPTZ, (text) => `${text.slice(0, 10)}T${text.slice(11, 19)}Z`)

export function createPool(options = {}) {
  return new pg.Pool({
    connectionString: process.env.DATABASE_URL,
    max: 10,
    options: '-c TimeZone=UTC -c jit=off',
    ...options,
  })
}

/** Columns of absences by their key in a response. A joined employee can have columns of the same names. */
export const ABSENCE = {
  id: 'absence.id',
  status: 'absence.status',
  employeeId: 'absence.employee_id',
  employee: 'absence.employee',
  type: 'absence.type',
  reason: 'absence.reason',
  start: 'absence.start',
  end: 'absence."end"',
  prefered: 'absence.period_prefered',
  days: 'absence.period_days',
  hours: 'absence.period_hours',
}

/** Columns of the employee of an absence. */
export const EMPLOYEE_OF_ABSENCE = { 'employeeId.department': 'employee.department', 'employeeId.started': 'employee.started' }
const ABSENCE_WITH_EMPLOYEE = 'absence left join employee on employee.id = absence.employee_id'

export const text = { type: 'string', nullable: true }
export const number = { type: 'number', nullable: true }
export const PERIOD = { type: 'object', nullable: true, properties: { prefered: text, days: number, hours: number } }

/**
 * Compiles two statements of a list. `page` reads a page with the total; `total` reads only the total, because a page after the
 * last one has no rows. `columns`: columns by key, for filters and sorts; `selected`: text of the columns to read.
 */
export function compilePage(table, columns, selected, list) {
  const values = list.filters.map(({ value }) => value)
  const from = sourceOf(
    table,
    list.filters.map(({ key }) => key),
  )
  const where = conditions(columns, list.filters)
  const order = list.sorts.map(({ key, descending }) => columns[key] + (descending ? ' desc' : '')).join(', ')
  const count = `select count(*) as total from ${from}${where}`
  let query = `select ${selected}, (${count}) as total from ${from}${where} order by ${order} limit ${list.pageSize}`
  const skipped = (list.page - 1) * list.pageSize
  if (skipped > 0) query += ` offset $${values.length + 1}`
  return {
    page: { ...named(query), values: skipped > 0 ? [...values, skipped] : values },
    total: skipped > 0 ? { ...named(count), values } : null,
  }
}

/** Returns the tables of the columns with these keys. With a left join, an absence without an employee stays in the list. */
export function sourceOf(table, keys) {
  return keys.some(isRelated) ? ABSENCE_WITH_EMPLOYEE : table
}

/** Reads a compiled page: `{ rows, total }`. `query` runs a statement. */
export async function readPage({ page, total }, query) {
  const { rows } = await query(page)
  if (rows.length > 0) return { rows, total: rows[0].total }
  return { rows, total: total === null ? 0 : (await query(total)).rows[0].total }
}

export function conditions(columns, filters) {
  const parts = filters.map(({ key, operator }, index) => {
    const sql = operator === '!=' ? 'is distinct from' : operator
    return `${columns[key]} ${sql} $${index + 1}`
  })
  return parts.length === 0 ? '' : ` where ${parts.join(' and ')}`
}

/** Returns the text that selects columns by their keys. */
export function selected(columns) {
  return Object.entries(columns)
    .map(([key, column]) => (key === column ? column : `${column} as "${key}"`))
    .join(', ')
}

/** Returns a named statement, which PostgreSQL prepares. At most 500 texts get a name, because clients choose the texts. */
export function named(sql) {
  const names = (named.names ??= new Map())
  let name = names.get(sql)
  if (name === undefined && names.size < 500) names.set(sql, (name = `statement${names.size}`))
  return name === undefined ? { text: sql } : { name, text: sql }
}
