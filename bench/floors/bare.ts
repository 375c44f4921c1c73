// The floor `bare`: what a handler costs that does nothing but the SQL. One process of Bun.serve and postgres.js runs the
// server's own statements, prepared, and answers `JSON.stringify(rows)`: no key, no limits, no headers, no checks.
// Statements come as JSON on stdin, DATABASE_URL in the environment.
import postgres from 'postgres'
import { writeRandom } from './randomValue.ts'
import type { FloorStatement, FloorValue } from './statement.ts'

/** As many connections as a worker of the server has by default. */
const POOL_SIZE = 10

const sql = postgres(process.env.DATABASE_URL ?? '', {
  max: POOL_SIZE,
  fetch_types: false,
  connection: { jit: false } as never,
})

const statements = ((await Bun.stdin.json()) as FloorStatement[]).map((statement) => ({
  ...statement,
  regExp: new RegExp(statement.pattern),
}))

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
console.log(`listens on ${server.url.origin}`)

async function answer(request: Request): Promise<Response> {
  const { method, url } = request
  const target = url.slice(url.indexOf('/', 8))
  for (const statement of statements) {
    if (statement.method !== method) continue
    const match = statement.regExp.exec(target)
    if (!match) continue
    const body = method === 'GET' ? null : ((await request.json()) as Record<string, unknown>)
    const values = statement.values.map((value) => textOf(value, match, body))
    const rows = await sql.unsafe(statement.text, values, { prepare: true })
    const status = method === 'POST' ? 201 : 200
    return new Response(JSON.stringify(rows), { status, headers: { 'Content-Type': 'application/json' } })
  }
  return new Response(null, { status: 404 })
}

function textOf(value: FloorValue, match: RegExpExecArray, body: Record<string, unknown> | null): string | null {
  if (!('place' in value)) return body && value.property !== null ? String(body[value.property]) : value.fixed
  const { place, instant } = value
  if (typeof place === 'string') return String(body?.[place])
  const given = match[place + 1] as string
  return instant === undefined ? writeRandom(value, Number(given)) : given
}
