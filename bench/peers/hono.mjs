// Hono, Drizzle and postgres.js on Bun. Drizzle's prepared queries are prepared in PostgreSQL too.
import { and, count, desc, eq, getTableColumns, gt, gte, lt, lte, sql, sum } from 'drizzle-orm'
import { bigint, boolean, customType, numeric, pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/postgres-js'
import { Hono } from 'hono'
import postgres from 'postgres'
import { BadRequest, isRelated, parseList, parseSummary, periodOf, presentGroup } from './list.mjs'
import { runBunProcesses } from './processes.mjs'

const instant = customType({
  dataType: () => 'timestamptz(0)',
  // PostgreSQL's form is `2024-01-31 09:00:00+00`, because the sessions are in UTC.
  fromDriver: (value) => `${value.slice(0, 10)}T${value.slice(11, 19)}Z`,
})

const company = pgTable('company', {
  id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
  name: text(),
  enabled: boolean().notNull().default(false),
})
const absence = pgTable('absence', {
  id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
  status: text(),
  employeeId: bigint('employee_id', { mode: 'number' }),
  employee: text(),
  type: text(),
  reason: text(),
  start: instant(),
  end: instant(),
  prefered: text('period_prefered'),
  days: numeric('period_days', { mode: 'number' }),
  hours: numeric('period_hours', { mode: 'number' }),
})
const employee = pgTable('employee', {
  id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
  department: text(),
  started: instant(),
})

const TABLES = { company, absence }
/** Columns to filter and group by. */
const COLUMNS = {
  company: getTableColumns(company),
  absence: {
    ...getTableColumns(absence),
    'employeeId.department': employee.department,
    'employeeId.started': employee.started,
  },
}
const OPERATORS = {
  ...{ '=': eq, '<': lt, '<=': lte, '>': gt, '>=': gte, '!=': (a, b) => sql`${a} is distinct from ${b}` },
}
const present = { company: presentCompany, absence: presentAbsence }

const client = postgres(process.env.DATABASE_URL, { max: 10, connection: { TimeZone: 'UTC', jit: false } })
const db = drizzle(client)
const queries = new Map()

const app = new Hono()
addSummary()
addReads('/Companies', 'company')
addReads('/Absences', 'absence')
addCreate()
addUpdate('/Companies', 'company', ['Name', 'Enabled'])
addUpdate('/Absences', 'absence', ['Status', 'Type', 'Reason', 'Start', 'End'])
app.onError((error, c) => c.json({ error: error.message }, error.statusCode ?? 500))
await runBunProcesses(import.meta.path, app.fetch)

function addReads(path, name) {
  const table = TABLES[name]
  const byId = db
    .select()
    .from(table)
    .where(eq(table.id, sql.placeholder('id')))
    .prepare(`${name}ById`)
  app.get(`${path}/:id`, async (c) => {
    const [row] = await byId.execute({ id: c.req.param('id') })
    return row === undefined ? c.notFound() : c.json(present[name](row))
  })
  app.get(path, async (c) => {
    const { page, total } = await readPage(name, parseList(name, c.req.queries()))
    return c.json(page, 200, { 'X-Total-Count': String(total) })
  })
}

/** Adds the route of summaries. Each row of the statement is a group, with the number of all groups. */
function addSummary() {
  app.get('/Absences/Summary', async (c) => {
    const summary = parseSummary('absence', c.req.queries())
    const values = Object.fromEntries(summary.filters.map(({ value }, index) => [`value${index}`, value]))
    const { filters, ...shape } = summary
    const query = prepared(`summary ${filtersOf(summary)} ${JSON.stringify(shape)}`, () => summaryQuery(summary))
    const rows = await query.execute(values)
    const { sums } = summary
    const page = rows.map(({ total, ...row }) => (sums.length === 0 ? row : presentGroup(row, sums)))
    return c.json(page, 200, { 'X-Total-Count': String(rows[0]?.total ?? 0) })
  })
}

function summaryQuery({ filters, groups, sums, sorts, pageSize }) {
  const keys = groups.map(({ key, period }) => {
    const column = COLUMNS.absence[key]
    return period ? sql`date_trunc(${sql.raw(`'${period}'`)}, ${column}, 'UTC')`.mapWith(column) : column
  })
  const columns = [...keys, count(), ...sums.map((key) => sum(absence[key]).mapWith(Number))]
  const names = [...groups.map(({ key }) => key), 'count', ...sums.map((key) => `sum_${key}`)]
  const selected = Object.fromEntries(columns.map((column, index) => [names[index], column]))
  const query = db.select({ ...selected, total: sql`count(*) over ()`.mapWith(Number) }).from(absence)
  return withEmployees(query, [...groups, ...filters])
    .where(conditions('absence', { filters }))
    .groupBy(...keys)
    .orderBy(...sorts.map(({ column, descending }) => (descending ? desc(columns[column]) : columns[column])))
    .limit(pageSize)
}

function addCreate() {
  const row = { name: sql.placeholder('name'), enabled: sql.placeholder('enabled') }
  const create = db.insert(company).values(row).returning().prepare('createCompany')
  app.post('/Companies', async (c) => {
    const { Name = null, Enabled = false } = await c.req.json()
    const [created] = await create.execute({ name: Name, enabled: Enabled })
    return c.json(created, 201, { Location: `/Companies/${created.id}` })
  })
}

function addUpdate(path, name, properties) {
  app.patch(`${path}/:id`, async (c) => {
    const body = await c.req.json()
    const given = properties.filter((property) => body[property] !== undefined)
    if (given.length === 0) throw new BadRequest('nothing to change')
    const keys = given.map((property) => property.toLowerCase())
    const update = prepared(`update ${name} ${keys}`, () => updateQuery(TABLES[name], keys))
    const values = Object.fromEntries(given.map((property, index) => [keys[index], body[property]]))
    const [updated] = await update.execute({ id: c.req.param('id'), ...values })
    return updated === undefined ? c.notFound() : c.json(present[name](updated))
  })
}

function updateQuery(table, keys) {
  const changes = Object.fromEntries(keys.map((key) => [key, sql.placeholder(key)]))
  return db
    .update(table)
    .set(changes)
    .where(eq(table.id, sql.placeholder('id')))
    .returning()
}

/** Reads a page and the total in one statement; past the last page no row has the total. */
async function readPage(name, list) {
  const values = { skipped: (list.page - 1) * list.pageSize }
  list.filters.forEach(({ key, value }, index) => {
    values[`value${index}`] = COLUMNS[name][key].dataType === 'boolean' ? value === 'true' : value
  })
  const rows = await prepared(`${name} ${shapeOf(list)}`, () => pageQuery(name, list)).execute(values)
  if (rows.length > 0) return { page: rows.map(present[name]), total: rows[0].total }
  if (values.skipped === 0) return { page: [], total: 0 }
  const counted = prepared(`${name} count ${filtersOf(list)}`, () => countQuery(name, list))
  return { page: [], total: (await counted.execute(values))[0].total }
}

function pageQuery(name, list) {
  const table = TABLES[name]
  const { id, ...others } = getTableColumns(table)
  const selected = db.select({ id, ...others, total: sql`${countQuery(name, list)}`.mapWith(Number) }).from(table)
  const query = withEmployees(selected, list.filters)
    .where(conditions(name, list))
    .orderBy(...list.sorts.map(({ key, descending }) => (descending ? desc(table[key]) : table[key])))
    .limit(list.pageSize)
  return list.page === 1 ? query : query.offset(sql.placeholder('skipped'))
}

function countQuery(name, list) {
  const query = db.select({ total: count() }).from(TABLES[name])
  return withEmployees(query, list.filters).where(conditions(name, list))
}

/** Joins the employees of absences if a key names a column of the employee. */
function withEmployees(query, named) {
  return named.some(({ key }) => isRelated(key)) ? query.leftJoin(employee, eq(employee.id, absence.employeeId)) : query
}

function conditions(name, { filters }) {
  const columns = COLUMNS[name]
  return and(...filters.map(({ key, operator }, index) => OPERATORS[operator](columns[key], sql.placeholder(`value${index}`))))
}

/** Returns the shape of a list: two lists with the same shape are one statement with other values. */
function shapeOf(list) {
  const sorts = list.sorts.map(({ key, descending }) => (descending ? `-${key}` : key))
  return `${filtersOf(list)} ${sorts} ${list.pageSize} ${list.page > 1}`
}

function filtersOf({ filters }) {
  return filters.map(({ key, operator }) => key + operator)
}

/** Returns a prepared query for this shape. At most 500 queries are kept, because clients choose the shapes. */
function prepared(shape, make) {
  let query = queries.get(shape)
  if (query === undefined) {
    query = make().prepare(shape)
    if (queries.size < 500) queries.set(shape, query)
  }
  return query
}

function presentAbsence({ prefered, days, hours, total, ...row }) {
  row.period = periodOf({ prefered, days, hours })
  return row
}

function presentCompany({ id, name, enabled }) {
  return { id, name, enabled }
}
