import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { run, temporaryFolder, workersOf } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { MAIN } from '../support/serverProcesses.ts'

interface Options {
  readonly seed: number
  readonly server: { readonly url: string; readonly pid: number; readonly sql: postgres.Sql }
  /** API key that may write companies. */
  readonly key: string
  /**
   * Number of kills, each while a request is in flight. A kill ends a worker, or the import itself, which is then started again.
   */
  readonly kills: number
}

interface Imported {
  /** Differences, one per line. */
  readonly differences: readonly string[]
  readonly workersKilled: number
  readonly importsKilled: number
  /** Number of requests that the server answered as repeated. */
  readonly replayed: number
}

const PIECE_ROWS = 20
/** Number of requests between two kills: enough that the import does not give up because a request fails too often. */
const CALM_REQUESTS = 2
/** Maximum pause in ms before a kill. After it, the server has begun the request, or has ended it. */
const KILL_MS_MAX = 12

/**
 * Imports a file of companies, while workers and the import are killed, until the import is complete. Each row must exist once,
 * in the file's order.
 */
export async function proveImports({ seed, server, key, kills }: Options): Promise<Imported> {
  const { url, pid, sql } = server
  const random = new Random(seed)
  const folder = temporaryFolder()
  const path = join(folder.path, 'companies.csv')
  const rows = (CALM_REQUESTS + 1) * kills * PIECE_ROWS
  const names = Array.from({ length: rows }, (_, index) => `Import ${seed} ${index}`)
  writeFileSync(path, `name\n${names.join('\n')}\n`)
  const counts = { workersKilled: 0, importsKilled: 0, replayed: 0 }
  let [requests, left] = [0, kills]
  const proxy = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    async fetch(request) {
      const answer = passOn(url, request)
      if (++requests % (CALM_REQUESTS + 1) === 0 && left-- > 0) {
        await Bun.sleep(random.below(KILL_MS_MAX))
        // Of three kills, the second one ends the import.
        if (left % 3 === 1) {
          program.kill('SIGKILL')
          counts.importsKilled++
        } else if (killOne(random, pid)) counts.workersKilled++
      }
      if ((await answer).headers.has('idempotency-replayed')) counts.replayed++
      return answer
    },
  })
  const words = ['import', 'companies', path, '--url', proxy.url.href, '--piece', String(PIECE_ROWS)]
  const begin = () => run([...MAIN, ...words], { ROSTER_KEY: key })
  let program = begin()
  try {
    let end = await program.ended
    for (; end === 'SIGKILL'; end = await program.ended) program = begin()
    const isOwn = sql`name like ${`Import ${seed} %`}`
    const found = (await sql`select name from company where ${isOwn} order by id`).map(({ name }) => name as string)
    return { differences: differencesOf(names, found, end, program.output()), ...counts }
  } finally {
    program.kill('SIGKILL')
    await proxy.stop(true)
    folder.remove()
  }
}

async function passOn(url: string, request: Request): Promise<Response> {
  const { method, headers } = request
  try {
    const { pathname, search } = new URL(request.url)
    const body = method === 'GET' ? null : await request.bytes()
    // The bytes are passed on as they are, because the passed-on headers say how they are compressed.
    const answer = await fetch(url + pathname + search, { method, headers, body, decompress: false })
    return new Response(await answer.bytes(), answer)
  } catch {
    return new Response('the server has gone', { status: 502 })
  }
}

/** Kills a worker if there are at least two, so that one can answer. */
function killOne(random: Random, pid: number): boolean {
  const workers = workersOf(pid)
  if (workers.length < 2) return false
  try {
    process.kill(random.pick(workers), 'SIGKILL')
    return true
  } catch {
    return false
  }
}

function differencesOf(
  names: readonly string[],
  found: readonly string[],
  end: number | string | null,
  output: string,
): string[] {
  const differences = end === 0 ? [] : [`the import ended with ${end}: ${output.slice(-500)}`]
  const first = names.findIndex((name, index) => name !== found[index])
  if (found.length !== names.length) differences.push(`${found.length} rows are there, not ${names.length}`)
  if (first !== -1) differences.push(`row ${first + 1} is ${found[first]}, not ${names[first]}`)
  return differences
}
