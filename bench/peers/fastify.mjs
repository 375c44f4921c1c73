// Fastify and node-postgres as a good Node team writes it: response schemas, named prepared statements, no logger.
import Fastify from 'fastify'
import pg from 'pg'
import { BadRequest, parseList, parseSummary, periodOf, presentGroup } from './list.mjs'
import { runProcesses } from './processes.mjs'

const INT8 = 20
const NUMERIC = 1700
const TIMESTAMPTZ = 1184
pg.types.setTypeParser(INT8, Number)
pg.types.setTypeParser(NUMERIC, Number)
// PostgreSQL's form is `2024-01-31 09:00:00+00`, because the sessions are in UTC.
pg.types.setTypeParser(TIMESTAMPTZ, (text) => `${text.slice(0, 10)}T${text.slice(11, 19)}Z`)

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  options: '-c TimeZone=UTC -c jit=off',
})

const COLUMNS = {
  company: { id: 'id', name: 'name', enabled: 'enabled' },
  absence: {
    id: 'id',
    status: 'status',
    employeeId: 'employee_id',
    employee: 'employee',
    type: 'type',
    reason: 'reason',
    start: 'start',
    end: '"end"',
    prefered: 'period_prefered',
    days: 'period_days',
    hours: 'period_hours',
  },
}

const SELECTED = {
  company: selected('company'),
  absence: selected('absence'),
}

const text = { type: 'string', nullable: true }
const number = { type: 'number', nullable: true }
const SCHEMAS = {
  company: { type: 'object', properties: { id: { type: 'integer' }, name: text, enabled: { type: 'boolean' } } },
  absence: {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      status: text,
      employeeId: { type: 'integer', nullable: true },
      employee: text,
      type: text,
      reason: text,
      start: text,
      end: text,
      period: { type: 'object', nullable: true, properties: { prefered: text, days: number, hours: number } },
    },
  },
}
const ID = { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } }
const bodyOf = (properties) => ({ type: 'object', additionalProperties: false, properties })
const shortText = { type: 'string', nullable: true, maxLength: 100 }
const instant = { type: 'string', nullable: true, format: 'date-time' }
const BODIES = {
  company: bodyOf({ Name: { type: 'string', nullable: true, maxLength: 200 }, Enabled: { type: 'boolean' } }),
  absence: bodyOf({ Status: shortText, Type: shortText, Reason: shortText, Start: instant, End: instant }),
}

const present = { company: (row) => row, absence: (row) => Object.assign(row, { period: periodOf(row) }) }

await runProcesses(async (port) => {
  const app = Fastify({ logger: false })
  addReads(app, '/Companies', 'company')
  addReads(app, '/Absences', 'absence')
  addSummary(app)
  addCreate(app)
  addUpdate(app, '/Companies', 'company')
  addUpdate(app, '/Absences', 'absence')
  const address = await app.listen({ port, host: '127.0.0.1' })
  return Number(new URL(address).port)
})

function addReads(app, path, table) {
  const one = { schema: { params: ID, response: { 200: SCHEMAS[table] } } }
  const byId = { name: `${table}ById`, text: `select ${SELECTED[table]} from ${table} where id = $1` }
  app.get(`${path}/:id`, one, async (request, reply) => {
    const { rows } = await pool.query({ ...byId, values: [request.params.id] })
    return rows.length === 0 ? reply.callNotFound() : present[table](rows[0])
  })
  const many = { schema: { response: { 200: { type: 'array', items: SCHEMAS[table] } } } }
  app.get(path, many, async (request, reply) => {
    const { page, total } = await readPage(table, parseList(table, request.query))
    reply.header('X-Total-Count', total)
    return page
  })
}

/** Adds the route of summaries. Each row of the statement is a group, with the number of all groups. */
function addSummary(app) {
  const { id, period, ...group } = SCHEMAS.absence.properties
  const sum = { type: 'object', properties: { period } }
  const items = { type: 'object', properties: { ...group, count: { type: 'integer' }, sum } }
  app.get('/Absences/Summary', { schema: { response: { 200: { type: 'array', items } } } }, async (request, reply) => {
    const { filters, groups, sums, sorts, pageSize } = parseSummary('absence', request.query)
    const columns = COLUMNS.absence
    const keys = groups.map(({ key, period }) => (period ? `date_trunc('${period}', ${columns[key]}, 'UTC')` : columns[key]))
    const figures = ['count(*)', ...sums.map((key) => `sum(${columns[key]})`)]
    const names = [...groups.map(({ key }) => key), 'count', ...sums.map((key) => `sum_${key}`)]
    const selects = [...keys, ...figures].map((value, index) => `${value} as "${names[index]}"`)
    const groupBy = keys.length === 0 ? '' : ` group by ${keys.map((_, index) => index + 1)}`
    const order = sorts.map(({ column, descending }) => column + 1 + (descending ? ' desc' : ''))
    const query = `select ${selects.join(', ')}, count(*) over () as total from absence${conditions('absence', filters)}\
${groupBy}${order.length === 0 ? '' : ` order by ${order}`} limit ${pageSize}`
    const { rows } = await pool.query({ ...named(query), values: filters.map(({ value }) => value) })
    reply.header('X-Total-Count', rows[0]?.total ?? 0)
    return sums.length === 0 ? rows : rows.map((row) => presentGroup(row, sums))
  })
}

function addCreate(app) {
  const response = SCHEMAS.company
  const create = named(`insert into company (name, enabled) values ($1, $2) returning ${SELECTED.company}`)
  app.post('/Companies', { schema: { body: BODIES.company, response: { 201: response } } }, async (request, reply) => {
    const { Name = null, Enabled = false } = request.body
    const { rows } = await pool.query({ ...create, values: [Name, Enabled] })
    reply.code(201).header('Location', `/Companies/${rows[0].id}`)
    return rows[0]
  })
}

function addUpdate(app, path, table) {
  const schema = { params: ID, body: BODIES[table], response: { 200: SCHEMAS[table] } }
  app.patch(`${path}/:id`, { schema }, async (request, reply) => {
    const { rows } = await pool.query(updateOf(table, request.params.id, request.body))
    return rows.length === 0 ? reply.callNotFound() : present[table](rows[0])
  })
}

/** Reads a page and the total in one statement; past the last page no row has the total. */
async function readPage(table, list) {
  const values = list.filters.map(({ value }) => value)
  const where = conditions(table, list.filters)
  const order = list.sorts.map(({ key, descending }) => COLUMNS[table][key] + (descending ? ' desc' : '')).join(', ')
  const count = `select count(*) as total from ${table}${where}`
  let query = `select ${SELECTED[table]}, (${count}) as total from ${table}${where} order by ${order} limit ${list.pageSize}`
  const skipped = (list.page - 1) * list.pageSize
  if (skipped > 0) query += ` offset $${values.length + 1}`
  const { rows } = await pool.query({ ...named(query), values: skipped > 0 ? [...values, skipped] : values })
  if (rows.length > 0) return { page: rows.map(present[table]), total: rows[0].total }
  return { page: [], total: skipped === 0 ? 0 : (await pool.query({ ...named(count), values })).rows[0].total }
}

function conditions(table, filters) {
  const parts = filters.map(({ key, operator }, index) => {
    const sql = operator === '!=' ? 'is distinct from' : operator
    return `${COLUMNS[table][key]} ${sql} $${index + 1}`
  })
  return parts.length === 0 ? '' : ` where ${parts.join(' and ')}`
}

/** Compiles an update; the schema allows only known properties. */
function updateOf(table, id, body) {
  const values = [id]
  const sets = Object.entries(body).map(([key, value]) => `${COLUMNS[table][key.toLowerCase()]} = $${values.push(value)}`)
  if (sets.length === 0) throw new BadRequest('nothing to change')
  return { ...named(`update ${table} set ${sets.join(', ')} where id = $1 returning ${SELECTED[table]}`), values }
}

function selected(table) {
  return Object.entries(COLUMNS[table])
    .map(([key, column]) => (key === column ? column : `${column} as "${key}"`))
    .join(', ')
}

/** Returns a prepared statement for a text that was seen before. Clients choose the texts, so their number is bounded. */
function named(sql) {
  const names = (named.names ??= new Map())
  let name = names.get(sql)
  if (name === undefined && names.size < 500) names.set(sql, (name = `statement${names.size}`))
  return name === undefined ? { text: sql } : { name, text: sql }
}
