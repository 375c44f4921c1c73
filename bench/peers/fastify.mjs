// Fastify and node-postgres as a good Node team writes it: response schemas, named prepared statements, no logger.
import Fastify from 'fastify'
import { BadRequest, parseList, parseSummary, periodOf, presentGroup } from './list.mjs'
import {
  ABSENCE,
  compilePage,
  conditions,
  createPool,
  EMPLOYEE_OF_ABSENCE,
  named,
  PERIOD,
  readPage,
  selected,
  sourceOf,
  text,
} from './pg.mjs'
import { runProcesses } from './processes.mjs'

const pool = createPool()
const query = (statement) => pool.query(statement)

const COLUMNS = {
  company: { id: 'id', name: 'name', enabled: 'enabled' },
  absence: { ...ABSENCE, ...EMPLOYEE_OF_ABSENCE },
}

const SELECTED = {
  company: selected(COLUMNS.company),
  absence: selected(ABSENCE),
}

/** Columns that clients can change. */
const WRITTEN = {
  company: { Name: 'name', Enabled: 'enabled' },
  absence: { Status: 'status', Type: 'type', Reason: 'reason', Start: 'start', End: '"end"' },
}

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
      period: PERIOD,
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
    const page = compilePage(table, COLUMNS[table], SELECTED[table], parseList(table, request.query))
    const { rows, total } = await readPage(page, query)
    reply.header('X-Total-Count', total)
    return rows.map(present[table])
  })
}

/** Adds the route of summaries. Each row of the statement is a group, with the number of all groups. */
function addSummary(app) {
  const { id, period, ...group } = SCHEMAS.absence.properties
  const sum = { type: 'object', properties: { period } }
  const ofEmployee = { 'employeeId.department': text, 'employeeId.started': text }
  const items = { type: 'object', properties: { ...group, ...ofEmployee, count: { type: 'integer' }, sum } }
  app.get('/Absences/Summary', { schema: { response: { 200: { type: 'array', items } } } }, async (request, reply) => {
    const { filters, groups, sums, sorts, pageSize } = parseSummary('absence', request.query)
    const columns = COLUMNS.absence
    const keys = groups.map(({ key, period }) => (period ? `date_trunc('${period}', ${columns[key]}, 'UTC')` : columns[key]))
    const figures = ['count(*)', ...sums.map((key) => `sum(${columns[key]})`)]
    const names = [...groups.map(({ key }) => key), 'count', ...sums.map((key) => `sum_${key}`)]
    const selects = [...keys, ...figures].map((value, index) => `${value} as "${names[index]}"`)
    const groupBy = keys.length === 0 ? '' : ` group by ${keys.map((_, index) => index + 1)}`
    const from = sourceOf(
      'absence',
      [...groups, ...filters].map(({ key }) => key),
    )
    const order = sorts.map(({ column, descending }) => column + 1 + (descending ? ' desc' : ''))
    const query = `select ${selects.join(', ')}, count(*) over () as total from ${from}${conditions(columns, filters)}\
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

/** Compiles an update; the schema allows only known properties. */
function updateOf(table, id, body) {
  const values = [id]
  const sets = Object.entries(body).map(([key, value]) => `${WRITTEN[table][key]} = $${values.push(value)}`)
  if (sets.length === 0) throw new BadRequest('nothing to change')
  return { ...named(`update ${table} set ${sets.join(', ')} where id = $1 returning ${SELECTED[table]}`), values }
}
