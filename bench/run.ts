// A first look at speed: `npm run bench`. Real server, real PostgreSQL, load from a process of its own. Compare rows of
// one run only; the machine's noise is larger than most differences between runs.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { startEmbedded } from '../src/execute/embedded.ts'
import { migrate } from '../src/execute/migrate.ts'
import { loadRows } from './rows.ts'
import { scenarios } from './scenarios.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const CONNECTIONS = 32
const KEY = 'bench-key'
const ROOT = join(import.meta.dir, '..')

const dataDir = mkdtempSync(join(tmpdir(), 'roster-bench-'))
const embedded = await startEmbedded({ dataDir, settings: { shared_buffers: '512MB', max_wal_size: '4GB' } })
try {
  await migrate(embedded.url, join(ROOT, 'sql'))
  const sql = postgres(embedded.url, { max: 1, onnotice: () => undefined })
  console.log(`rows: ${JSON.stringify(await loadRows(sql))}`)
  await sql.end()
  const { url, stop } = await startServer(embedded.url)
  console.log(`${CONNECTIONS} connections, ${SECONDS} s each`)
  for (const scenario of scenarios) console.log(row(scenario.name, await load(url, scenario.request)))
  await stop()
} finally {
  await embedded.stop()
  rmSync(dataDir, { recursive: true })
}

interface Load {
  requests: { average: number }
  latency: { p50: number; p97_5: number; p99: number }
  non2xx: number
  errors: number
}

function row(name: string, { requests, latency, non2xx, errors }: Load): string {
  const rate = `${Math.round(requests.average)}/s`.padStart(9)
  const times = `p50 ${latency.p50} ms, p97.5 ${latency.p97_5} ms, p99 ${latency.p99} ms`
  return `${name.padEnd(44)} ${rate}  ${times}${non2xx + errors > 0 ? `  VOID: ${non2xx} non-2xx, ${errors} errors` : ''}`
}

async function startServer(databaseUrl: string) {
  const settings = {
    DATABASE_URL: databaseUrl,
    BOOTSTRAP_API_KEY: KEY,
    PORT: '0',
    DATA_DIR: dataDir,
    RATE_LIMITS: '1000000/1s',
  }
  const server = spawn(process.execPath, ['--no-env-file', 'src/main.ts'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((done) => {
    server.stdout.on('data', (chunk) => {
      const match = /listens on (http:\S+?),/.exec(String(chunk))
      if (match) done(match[1] as string)
    })
  })
  const ended = new Promise((done) => server.once('exit', done))
  const stop = () => {
    server.kill('SIGTERM')
    return ended
  }
  return { url, stop }
}

/** autocannon as a program, so that its work is not on the server's event loop or ours. */
async function load(url: string, request: string[]): Promise<Load> {
  const program = join(ROOT, 'node_modules/autocannon/autocannon.js')
  const [path, ...more] = request
  const common = ['-c', String(CONNECTIONS), '-d', String(SECONDS), '-j', '-H', `Authorization=ApiKey ${KEY}`]
  const child = spawn('node', [program, ...common, ...more, url + path], { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  await new Promise((done) => child.once('close', done))
  return JSON.parse(output)
}
