// Fastify and node-postgres under PostgreSQL's row security. A list is read in a transaction with the role of its client:
// policies select the rows, grants the columns. Keys are not verified, which favors this peer.
import Fastify from 'fastify'
import { BadRequest, parseList, periodOf } from './list.mjs'
import { ABSENCE, compilePage, createPool, PERIOD, readPage, selected, text } from './pg.mjs'
import { runProcesses } from './processes.mjs'

/** `pipeline`: the driver sends all statements of a transaction without waiting. */
const pool = createPool({ pipeline: true })
/** Columns of an absence that all roles see. */
const { id, employeeId, start, end, prefered, days, hours } = ABSENCE
const SELECTED = selected({ id, employeeId, start, end, prefered, days, hours })
const properties = {
  id: { type: 'integer' },
  employeeId: { type: 'integer', nullable: true },
  start: text,
  end: text,
  period: PERIOD,
}
const SCHEMA = { response: { 200: { type: 'array', items: { type: 'object', properties } } } }
/** Matches a key: six letters that name the role, and the number of the client. */
const KEY = /^ApiKey roster_([a-z]{6})(\d{4})_/

await runProcesses(async (port) => {
  const app = Fastify({ logger: false })
  app.get('/Absences', { schema: SCHEMA }, async (request, reply) => {
    const client = clientOf(request.headers.authorization)
    const page = compilePage('absence', ABSENCE, SELECTED, parseList('absence', request.query))
    const { rows, total } = await readPage(page, (statement) => queryAs(client, statement))
    reply.header('X-Total-Count', total)
    return rows.map((row) => Object.assign(row, { period: periodOf(row) }))
  })
  const address = await app.listen({ port, host: '127.0.0.1' })
  return Number(new URL(address).port)
})

function clientOf(authorization = '') {
  const [, name, digits] = KEY.exec(authorization) ?? []
  if (name === undefined) throw new BadRequest('there is no such client')
  return { role: `bench_${name}`, number: Number(digits) }
}

/** Runs a statement in a transaction as a client, in one round trip. */
async function queryAs({ role, number }, statement) {
  const begin = `begin read only; set local role ${role}; select set_config('bench.client', '${number}', true)`
  const connection = await pool.connect()
  try {
    const [, result] = await Promise.all([begin, statement, 'commit'].map((sent) => connection.query(sent)))
    connection.release()
    return result
  } catch (error) {
    // The connection is closed, which ends the transaction and the role.
    connection.release(error)
    throw error
  }
}
