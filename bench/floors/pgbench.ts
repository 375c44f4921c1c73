import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from '../children.ts'
import { toBuckets } from '../latency.ts'
import type { Load } from '../load.ts'
import type { FloorStatement, SqlJob } from './statement.ts'

const THREADS_MAX = 2
/** pgbench takes whole numbers. */
const WEIGHT_SCALE = 10
const JIT_OFF = '-c jit=off'

/** The version of the pgbench that is installed; null: none is. */
export function pgbenchVersion(): string | null {
  const program = Bun.which('pgbench')
  if (!program) return null
  const { stdout } = Bun.spawnSync([program, '--version'])
  return /\d+(\.\d+)*/.exec(stdout.toString())?.[0] ?? null
}

/** Runs the statements by pgbench, prepared, each as often as its weight says. @throws Error when it fails */
export async function runPgbench(job: SqlJob): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'roster-pgbench-'))
  try {
    const lines: string[] = []
    const args = [...optionsOf(job, folder), ...job.statements.flatMap((one, index) => scriptOf(one, index, folder))]
    const environment = { PGOPTIONS: JIT_OFF, PGCONNECT_TIMEOUT: '10' }
    const keep = (line: string) => lines.push(line)
    const outputs = { onLine: keep, onErrorLine: keep }
    const code = await startChild(['pgbench', ...args, job.databaseUrl], { environment, ...outputs }).ended
    if (code !== 0)
      throw new Error(`pgbench ended with ${code}: ${lines.find((line) => line.includes('error:')) ?? lines.at(-1)}`)
    return { ...readSummary(lines.join('\n')), errors: 0, unexpected: {}, buckets: toBuckets(readLatencies(folder)) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function optionsOf({ connections, seconds, rate, seed }: SqlJob, folder: string): string[] {
  return [
    ...['-n', '-M', 'prepared', '-c', String(connections), '-j', String(Math.min(THREADS_MAX, connections))],
    ...['-T', String(Math.max(1, Math.round(seconds))), `--random-seed=${seed}`],
    ...['-l', `--log-prefix=${join(folder, 'log')}`],
    ...(rate === null ? [] : ['-R', String(rate)]),
  ]
}

/** The statement as a script of pgbench's, and the fixed values as definitions: in a script they would need quoting. */
function scriptOf({ text, values, weight }: FloorStatement, index: number, folder: string): string[] {
  const sets: string[] = []
  const definitions: string[] = []
  let instant = ''
  const names = values.map((value, place) => {
    const variable = `s${index}v${place}`
    if ('low' in value) {
      const from = value.instant === 'later' ? `:${instant} + ` : ''
      sets.push(`\\set ${variable} ${from}${value.factor} * random(${value.low}, ${value.high}) + ${value.summand}`)
      if (value.instant === undefined) return `:${variable}`
      instant = variable
      return `to_timestamp(:${variable})`
    }
    if (value.fixed === null) return 'null'
    definitions.push('-D', `${variable}=${value.fixed}`)
    return `:${variable}`
  })
  const file = join(folder, `${index}.sql`)
  const statement = text.replace(/\$(\d+)/g, (_, number) => names[number - 1] as string).replace(/\s*\n\s*/g, ' ')
  writeFileSync(file, `${[...sets, statement].join('\n')};\n`)
  return [...definitions, '-f', `${file}@${Math.round(weight * WEIGHT_SCALE)}`]
}

function readSummary(output: string): { requests: number; seconds: number } {
  const requests = Number(/transactions actually processed: (\d+)/.exec(output)?.[1])
  const perSecond = Number(/tps = ([\d.]+) \(without/.exec(output)?.[1])
  if (!(requests > 0 && perSecond > 0)) throw new Error('pgbench printed no rate')
  return { requests, seconds: requests / perSecond }
}

/** In µs; a line is client, transaction, latency and more. */
function* readLatencies(folder: string): Iterable<number> {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith('log')))
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n'))
      if (line !== '') yield Number(line.split(' ')[2])
}
