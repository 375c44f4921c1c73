// What the limiter costs a request, its headers included: CPU of a worker with it and without it, in turns, in one run:
// `node src/launch.mjs bench/micro/limiterCost.ts`. Linux.
// Without it means: the same source less the lines that charge and that write the three headers.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbedded } from '../../src/postgres/embedded.ts'

const ROOT = join(import.meta.dir, '../..')
const KEY = 'bench-key-0123456789'
const TICKS_PER_SECOND = 100

interface Sample {
  cpuUs: number
  requestsPerSecond: number
}

/** Lines of `app.ts` that are the limiter's, and what stands for them without it. */
const CUTS: [from: string, to: string][] = [[': parts.admission.charge(key, request, server)', ': null']]

/** Runs both in turns and prints the medians. `rounds` of each, `seconds` long. */
async function compare(rounds: number, seconds: number) {
  const folder = mkdtempSync(join(tmpdir(), 'roster-cost-'))
  const embedded = await startEmbedded({ dataDir: join(folder, 'data') })
  const servers = [
    await startServer(ROOT, folder, embedded, 'with'),
    await startServer(without(folder), folder, embedded, 'without'),
  ]
  try {
    for (const path of ['/', '/Companies/1']) {
      const samples: Sample[][] = [[], []]
      for (let round = -1; round < rounds; round++)
        for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
          const sample = await measure(servers[index] as Server, path, seconds)
          if (round >= 0) samples[index]?.push(sample) // the first of each warms up
        }
      const [withUs, withoutUs] = samples.map((list) => median(list.map(({ cpuUs }) => cpuUs))) as [number, number]
      const differences = samples[0]?.map(({ cpuUs }, index) => cpuUs - (samples[1]?.[index]?.cpuUs ?? 0)) ?? []
      const spread = `${Math.min(...differences).toFixed(1)} to ${Math.max(...differences).toFixed(1)}`
      const cost = median(differences).toFixed(1)
      console.log(
        `GET ${path}: ${withUs.toFixed(1)} µs with, ${withoutUs.toFixed(1)} µs without: ${cost} µs (${spread})`,
      )
    }
  } finally {
    for (const { stop } of servers) await stop()
    await embedded.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function without(folder: string): string {
  const copy = join(folder, 'without')
  for (const part of ['src', 'sql', 'package.json', 'tsconfig.json', 'bunfig.toml'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const file = join(copy, 'src/http/app.ts')
  let text = readFileSync(file, 'utf8')
  for (const [from, to] of CUTS) {
    if (!text.includes(from)) throw new Error(`app.ts has no ${from}`)
    text = text.replace(from, to)
  }
  writeFileSync(file, text)
  return copy
}

interface Server {
  url: string
  worker: number
  stop(): Promise<void>
}

async function startServer(root: string, folder: string, { url }: EmbeddedPostgres, name: string): Promise<Server> {
  const settings = { WORKERS: '1', PORT: '0', LOG_LEVEL: 'warn', BOOTSTRAP_API_KEY: KEY, DATABASE_URL: url }
  const limits = { RATE_LIMITS: '1000000/1h,1000000/12h,1000000/6d', RATE_LIMIT_CLIENTS: '4' }
  const child = spawn(process.execPath, ['--no-env-file', 'src/main.ts'], {
    cwd: root,
    env: { PATH: process.env.PATH, DATA_DIR: join(folder, name), NODE_ENV: 'production', ...settings, ...limits },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((done, fail) => {
    child.stdout?.on('data', (chunk) => {
      const [, found] = /listens on (\S+?),/.exec(String(chunk)) ?? []
      if (found) done(found)
    })
    child.once('exit', (code) => fail(new Error(`the server ended with ${code}`)))
  })
  const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
  await fetch(`${address}/Companies`, { method: 'POST', headers, body: '{"Name":"One"}' })
  return {
    url: address,
    worker: childOf(child.pid as number),
    stop: () =>
      new Promise((done) => {
        child.once('exit', () => done())
        child.kill('SIGTERM')
      }),
  }
}

function childOf(pid: number): number {
  const parentOf = (other: string) =>
    Number(
      readFileSync(`/proc/${other}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')[1],
    )
  return Number(readdirSync('/proc').find((other) => /^\d+$/.test(other) && parentOf(other) === pid))
}

async function measure({ url, worker }: Server, path: string, seconds: number): Promise<Sample> {
  const before = cpuTicks(worker)
  const command = ['node_modules/.bin/autocannon', '-c', '16', '-d', String(seconds), '-j']
  const child = Bun.spawn([...command, '-H', `Authorization=ApiKey ${KEY}`, url + path], {
    cwd: ROOT,
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const result = (await new Response(child.stdout).json()) as { '2xx': number; non2xx: number; errors: number }
  if (result.non2xx + result.errors > 0)
    throw new Error(`${url}${path}: ${result.non2xx} of ${result.non2xx + result['2xx']} answers were not 2xx`)
  const cpuUs = ((cpuTicks(worker) - before) / TICKS_PER_SECOND) * 1e6
  return { cpuUs: cpuUs / result['2xx'], requestsPerSecond: result['2xx'] / seconds }
}

function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

// Together under a million requests, which is the limit.
const [rounds = 6, seconds = 2] = process.argv.slice(2).map(Number)
await compare(rounds, seconds)
