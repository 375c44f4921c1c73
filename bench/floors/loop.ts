// The floor `loop`: the server's own statements by postgres.js alone, where pgbench is not installed. Each client runs
// one statement after the other on a connection of its own. The job comes as JSON on stdin.
import postgres from 'postgres'
import { writeRandom } from './randomValue.ts'
import type { LoopResult } from './sql.ts'
import type { FloorStatement, FloorValue, SqlJob } from './statement.ts'

const { databaseUrl, statements, connections, seconds, rate } = (await Bun.stdin.json()) as SqlJob
const weights = statements.reduce((sum, { weight }) => sum + weight, 0)
const sql = postgres(databaseUrl, {
  max: connections,
  fetch_types: false,
  connection: { jit: false } as never,
})
const latenciesUs: number[] = []

await Promise.all(Array.from({ length: connections }, () => sql`select 1`)) // connects them
const startNs = Bun.nanoseconds()
const endNs = startNs + seconds * 1e9
await Promise.all(Array.from({ length: connections }, client))
const result: LoopResult = { seconds: (Bun.nanoseconds() - startNs) / 1e9, latenciesUs }
console.log(JSON.stringify(result))
await sql.end()

async function client(_: unknown, index: number) {
  const intervalNs = rate === null ? 0 : (connections / rate) * 1e9
  for (let dueNs = startNs + (index * intervalNs) / connections; ; dueNs += intervalNs) {
    const waitNs = dueNs - Bun.nanoseconds()
    if (rate !== null && waitNs > 0) await Bun.sleep(waitNs / 1e6)
    const sentNs = Bun.nanoseconds()
    if (sentNs >= endNs) return
    const { text, values } = drawStatement()
    await sql.unsafe(text, textsOf(values), { prepare: true })
    latenciesUs.push((Bun.nanoseconds() - sentNs) / 1_000)
  }
}

function drawStatement(): FloorStatement {
  let place = Math.random() * weights
  return statements.find(({ weight }) => (place -= weight) < 0) ?? (statements.at(-1) as FloorStatement)
}

function textsOf(values: readonly FloorValue[]): (string | null)[] {
  let seconds = 0
  return values.map((value) => {
    if ('fixed' in value) return value.fixed
    const drawn = value.low + Math.floor(Math.random() * (value.high - value.low + 1))
    seconds = value.instant === 'later' ? seconds + drawn : drawn
    return writeRandom(value, value.instant === undefined ? drawn : seconds)
  })
}
