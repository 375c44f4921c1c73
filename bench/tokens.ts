// Measures what tokens cost a server, compared with a key: known tokens, which it has verified before, and new tokens: `npm run
// bench:tokens`.
import { Command } from 'commander'
import { Ending, status, stopChildren } from './children.ts'
import { type Client, keyOf, LIMITS_OF_MANY, putKeys } from './clients.ts'
import { cpuUsBetween, readCpu } from './cpu.ts'
import { rowsFor } from './data.ts'
import { DATA_DIR, openCluster } from './database.ts'
import { faultOf, runLoad } from './load.ts'
import type { Operation } from './operation.ts'
import { numberIn, readCommand } from './options.ts'
import { openIssuer } from './persons.ts'
import { figureText } from './report/summary.ts'
import { median } from './results.ts'
import { type HttpTarget, startServer } from './server.ts'

const command = new Command('bench:tokens')
  .description(
    'Measures the CPU time of a worker for a request with a key, with a token that is known to it, and with a new one.',
  )
  .option('--rounds <n>', 'of each', numberIn(1, 100, true), 5)
  .option('--tokens <n>', 'that are new in a round', numberIn(100, 5_000, true), 4_000)
  .option('--connections <n>', 'of the load', numberIn(1, 1_000, true), 16)
  .option('--data <folder>', 'of PostgreSQL, kept for the next run', DATA_DIR)
const options = readCommand(command, process.argv.slice(2)) as {
  readonly rounds: number
  readonly tokens: number
  readonly connections: number
  readonly data: string
}

const ROWS = 1_000
const SECONDS_MAX = 60
/** Number of persons with known tokens: enough that none of them reaches a limit. */
const KNOWN = 50
/** The right follows only from the token, and the answer has no rows: requests differ only in the caller. */
const RIGHT = 'read Absences'
const ROLES = `role staff when {groups} has staff\n  ${RIGHT}\n`
const PATH = '/Rights'
const WIDTH = 22

const ending = new Ending()
try {
  await run()
} catch (error) {
  if (!ending.isInterrupted) console.error(error)
  process.exitCode = 1
}
await ending.finish()

async function run() {
  const cluster = await openCluster(options.data)
  ending.add(cluster.stop, stopChildren)
  const database = await cluster.database(rowsFor(ROWS))
  const client: Client = { name: 'reader', keys: 1, rights: () => [RIGHT] }
  await putKeys(database.url, [client])
  const issuer = openIssuer(options.tokens, ROLES)
  const server = await startServer('roster', database, { workers: 1, settings: { ...LIMITS_OF_MANY, ...issuer.settings } })
  ending.add(server.stop)
  const known = issuer.tokens.slice(0, KNOWN)
  const kinds: readonly (readonly [name: string, next: () => Partial<Operation>])[] = [
    ['a key', () => ({ key: keyOf(client, 1) })],
    ['a known token', () => ({ key: `{1..${KNOWN}}`, tokens: known })],
    ['a new token', () => ({ key: `{1..${options.tokens}!}`, tokens: issuer.renew() })],
  ]
  console.log(`µs of CPU time of a worker for GET ${PATH}, ${options.rounds} rounds of ${options.tokens} requests`)
  const found = kinds.map((): number[] => [])
  // The first round compiles code, and does not count.
  for (let round = 0; round <= options.rounds; round++)
    for (const [index, [name, next]] of kinds.entries()) {
      status(`round ${round} of ${options.rounds}: ${name}`)
      const us = await measure(server, { method: 'GET', path: PATH, status: 200, ...next() }, round)
      if (round > 0) found[index]?.push(us)
    }
  status(null)
  const [ofKey = 0] = found.map((all) => median(all))
  for (const [index, [name]] of kinds.entries()) {
    const all = found[index] as number[]
    const spread = `${figureText(median(all))} (${figureText(Math.min(...all))} – ${figureText(Math.max(...all))})`
    const more = index === 0 ? '' : `, ${figureText(median(all) - ofKey)} more than a key`
    console.log(`${name.padEnd(WIDTH)}${spread}${more}`)
  }
  await server.stop()
  issuer.stop()
  await putKeys(database.url, [])
}

/** Returns the CPU time of the server for a request. @throws Error if an answer is not as expected */
async function measure({ urls, pids, headers }: HttpTarget, operation: Operation, seed: number): Promise<number> {
  let before = readCpu(pids)
  let after = before
  const load = await runLoad({
    url: urls[0] as string,
    headers,
    operations: [operation],
    connections: options.connections,
    seed,
    seconds: SECONDS_MAX,
    loadingSeconds: 0,
    leadInSeconds: 0,
    answers: options.tokens,
    onBegin: () => {
      before = readCpu(pids)
    },
    onEnd: () => {
      after = readCpu(pids)
    },
  })
  const fault = faultOf(load)
  if (fault !== null) throw new Error(fault)
  return (cpuUsBetween(before, after) ?? Number.NaN) / load.requests
}
