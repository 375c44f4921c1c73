import type { Started } from './bench.ts'
import { openCluster } from './database.ts'
import type { Options } from './options.ts'
import { type Server, startServer } from './server.ts'

const LIST = '/Absences?Status=Approved&sort=-Start'
const ROW = '/Absences/1'

/**
 * Starts the server on the rows of the bench, with the settings of the bench, and prints command lines that load it.
 * Notes in `started` what runs. Never resolves.
 * @throws Error when PostgreSQL or the server does not come up, or ends by itself
 */
export async function serve(options: Options, started: Started): Promise<never> {
  const cluster = await openCluster({ dataDir: options.data })
  started.push(cluster)
  const { url: databaseUrl, rows } = await cluster.database(options.rows)
  const server = await startServer({ databaseUrl, workers: options.workers })
  started.push(server)
  console.log(`${rows.absences} absences, ${rows.employees} employees, ${rows.companies} companies at ${server.url}\n`)
  console.log(commandLines(server, options))
  console.log('\nCtrl-C ends the server and its PostgreSQL.')
  throw new Error(`the server has ended by itself: ${await server.ended}`)
}

/** One command for each program, to be pasted into a shell. */
function commandLines(
  { url, headers }: Pick<Server, 'url' | 'headers'>,
  { connections, seconds }: Pick<Options, 'connections' | 'seconds'>,
): string {
  const [[name, value] = []] = Object.entries(headers)
  const header = `-H '${name}: ${value}'`
  const wholeSeconds = Math.ceil(seconds)
  const list = `'${url}${LIST}'`
  return `curl -i ${header} ${list}

wrk -t 1 -c ${connections} -d ${wholeSeconds}s --latency ${header} ${list}

oha -c ${connections} -z ${wholeSeconds}s ${header} ${list}

k6 run --vus ${connections} --duration ${wholeSeconds}s - <<'END'
import { check } from 'k6'
import http from 'k6/http'
const headers = ${JSON.stringify(headers)}
export default () => check(http.get('${url}${LIST}', { headers }), { 'is 200': ({ status }) => status === 200 })
END

Asked again and again, the list comes from the list cache. ${ROW} comes from the database each time.`
}
