// The proofs of the rate limiter, over and over with other random numbers: `npm run prove -- --minutes 10`.
// The last line says whether every one held; so does the exit code.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { startEmbedded } from '../../src/execute/embedded.ts'
import { run as runProgram } from '../../test/support/process.ts'
import { proveContention } from './contention.ts'
import { ask } from './http.ts'
import { proveModel } from './model.ts'

const HOUR_MS = 3_600_000
const SHORT = [
  { limit: 40, periodMs: 3 },
  { limit: 400, periodMs: 100 },
]

/** Each takes a seed, and returns what it found, or throws. */
const proofs: Record<string, (seed: number) => Promise<Record<string, unknown>>> = {
  'equal to the reference model': async (seed) => proveModel(1_000_000, seed),

  'deaths at any atomic step': async (seed) => {
    const command = [process.execPath, join(import.meta.dir, 'deaths.ts'), '1000', String(seed)]
    const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' })
    const found = (await new Response(child.stdout).text()).trim()
    if ((await child.exited) !== 0) throw new Error(`deaths.ts ended with ${child.exitCode}`)
    return JSON.parse(found)
  },

  'four processes, one window': async (seed) => {
    const rules = [{ limit: 50_000, periodMs: HOUR_MS }]
    const found = await proveContention({ rules, processes: 4, keys: 1, decisions: 1_000_000, seed })
    return judge(found, { admitted: 50_000, duplicates: 0, overAdmissions: 0, falseRefusals: 0, unlogged: 0 })
  },

  'four processes, short windows': async (seed) => {
    const rules = [...SHORT, { limit: 1_000_000, periodMs: HOUR_MS }]
    const found = await proveContention({ rules, processes: 4, keys: 3, decisions: 1_000_000, seed })
    return judge(found, { duplicates: 0, overAdmissions: 0, falseRefusals: 0, unlogged: 0 })
  },

  'processes killed at random': async (seed) => {
    const found = await proveContention({ rules: SHORT, processes: 4, keys: 2, killsForMs: 10_000, seed })
    return judge(found, { duplicates: 0, overAdmissions: 0, falseRefusals: 0 })
  },

  'over HTTP, two workers': proveHttp,
}

const { minutes } = new Command('prove')
  .description('Proves the rate limiter for as long as you like.')
  .option('--minutes <n>', 'how long', parseMinutes, 1)
  .parse()
  .opts<{ minutes: number }>()

const endMs = Date.now() + minutes * 60_000
let failed = 0
let rounds = 0
do {
  rounds++
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] as number
  for (const [name, prove] of Object.entries(proofs)) {
    try {
      console.log(`ok    ${name}, seed ${seed}: ${JSON.stringify(await prove(seed))}`)
    } catch (error) {
      failed++
      console.log(`FAIL  ${name}, seed ${seed}: ${(error as Error).message}`)
    }
  }
} while (Date.now() < endMs)
console.log(`${rounds} rounds of ${Object.keys(proofs).length} proofs, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

function judge(found: object, expected: Record<string, number>): Record<string, unknown> {
  const got = found as Record<string, number>
  const wrong = Object.keys(expected).filter((name) => got[name] !== expected[name])
  if (wrong.length > 0) throw new Error(`${wrong.join(', ')} is wrong: ${JSON.stringify(found)}`)
  return got
}

/** The whole server: limit + 500 requests over 32 connections give exactly the limit of 200 and 500 of 429. */
async function proveHttp(seed: number): Promise<Record<string, unknown>> {
  const limit = 1_000 + (seed % 5_000)
  const folder = mkdtempSync(join(tmpdir(), 'roster-prove-'))
  const embedded = await startEmbedded({ dataDir: join(folder, 'database') })
  const settings = { DATABASE_URL: embedded.url, DATA_DIR: folder, PORT: '0', WORKERS: '2', LOG_LEVEL: 'warn' }
  const limits = { RATE_LIMITS: `${limit}/1h`, RATE_LIMIT_CLIENTS: '4', BOOTSTRAP_API_KEY: 'k' }
  const server = runProgram([process.execPath, '--no-env-file', 'src/main.ts'], { ...settings, ...limits })
  try {
    const [, url = ''] = await server.waitFor(/listens on (http:\S+?),/)
    const { statuses, remaining } = await ask(url, 'k', limit + 500, 32)
    if (new Set(remaining).size !== limit) throw new Error(`${limit} admitted share ${new Set(remaining).size} numbers`)
    return judge(statuses, { 200: limit, 429: 500 })
  } finally {
    server.kill('SIGTERM')
    await server.ended
    await embedded.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function parseMinutes(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 10_000)) throw new InvalidArgumentError('It must be a number over 0.')
  return value
}
