// Measures the memory of a worker while many keys with different rights are used, and while as many keys with all rights send the
// same requests: `npm run bench:rights`.
import { Command } from 'commander'
import { Ending, status, stopChildren } from './children.ts'
import { type Client, keyOf, LIMITS_OF_MANY, putKeys, wholeOf } from './clients.ts'
import { largestRssMb } from './cpu.ts'
import { restore, rowsFor } from './data.ts'
import { DATA_DIR, type Database, openCluster } from './database.ts'
import { numberIn, readCommand } from './options.ts'
import { figureText } from './report/summary.ts'
import { type HttpTarget, startServer } from './server.ts'

const command = new Command('bench:rights')
  .description('Measures the memory of a worker while a thousand keys of different rights are used, beside keys of all rights.')
  .option('--rows <n>', 'absences; employees and companies follow', numberIn(1_000, 10_000_000, true), 1_000_000)
  .option('--keys <n>', 'that are used', numberIn(1, 1_000, true), 1_000)
  .option('--rounds <n>', 'in which each key asks once for all', numberIn(1, 100, true), 3)
  .option('--data <folder>', 'of PostgreSQL, kept for the next run', DATA_DIR)
const options = readCommand(command, process.argv.slice(2)) as {
  readonly rows: number
  readonly keys: number
  readonly rounds: number
  readonly data: string
}

/** Maximum number of concurrent requests. */
const CONNECTIONS = 8
/** Number of rounds before the measurement, by one other key. In these rounds tables are loaded and code is compiled. */
const WARM_ROUNDS = 2
/** Time in ms after a round until its temporary memory is freed. */
const SETTLE_MS = 3_000
const DAY_MS = 86_400_000
const FIRST_DAY_MS = Date.UTC(2016, 0, 1)
/** Properties that a right may leave out. Each key sorts and filters by the others. */
const OPTIONAL = ['Employee', 'EmployeeId', 'End', 'Reason', 'Period', 'Status', 'Type']
const OPTIONAL_OF_EMPLOYEE = ['DisplayName', 'JobTitle', 'Department', 'WorkEmail', 'CompanyId', 'Company', 'Location']
const CELL_WIDTH = 16

const ending = new Ending()
try {
  await run()
} catch (error) {
  if (!ending.isInterrupted) console.error(error)
  process.exitCode = 1
}
await ending.finish()

async function run() {
  const rows = rowsFor(options.rows)
  const cluster = await openCluster(options.data)
  ending.add(cluster.stop, stopChildren)
  const database = await cluster.database(rows)
  const { keys, rounds } = options
  console.log(`${rows.absences} absences; ${keys} keys; resident memory of one worker, in MB`)
  const heads = ['before', ...Array.from({ length: rounds }, (_, round) => `round ${round + 1}`)]
  console.log(lineOf('keys', heads))
  const clients: readonly Client[] = [
    { name: 'wholes', keys, rights: null },
    { name: 'rights', keys, rights: rightsOf },
  ]
  const all: (number | null)[][] = []
  for (const client of clients) {
    const measured = await measure(client, database)
    all.push(measured)
    console.log(lineOf(client.rights ? 'of different rights' : 'of all rights', measured.map(figureText)))
  }
  const grown = ([before, ...after]: readonly (number | null)[]) => after.map((mb) => (mb ?? Number.NaN) - (before ?? Number.NaN))
  const [whole = [], different = []] = all.map(grown)
  const differences = different.map((mb, round) => figureText(mb - (whole[round] ?? Number.NaN)))
  console.log(lineOf('more by the rights', ['', ...differences]))
}

function lineOf(name: string, cells: readonly string[]): string {
  return name.padEnd(24) + cells.map((cell) => cell.padStart(CELL_WIDTH)).join('')
}

/** Returns the memory of a worker before keys are used, and after each round of their requests. */
async function measure(client: Client, database: Database): Promise<(number | null)[]> {
  // A single key has its own limits, which the warm-up rounds do not reach.
  const other = wholeOf({ keys: 1 })
  await putKeys(database.url, [client, other])
  const server = await startServer('roster', database, { workers: 1, settings: LIMITS_OF_MANY })
  ending.add(server.stop)
  try {
    for (let round = 1; round <= WARM_ROUNDS; round++) await askAll(server, () => keyOf(other, 1), -round)
    const figures = [await settled(server)]
    for (let round = 1; round <= options.rounds; round++) {
      await askAll(server, (number) => keyOf(client, number), round)
      figures.push(await settled(server))
    }
    return figures
  } finally {
    await server.stop()
    await restore(database.url, database.rows)
    await putKeys(database.url, [])
  }
}

async function settled({ pids }: HttpTarget): Promise<number | null> {
  await Bun.sleep(SETTLE_MS)
  return largestRssMb(pids)
}

/** Sends all kinds of requests once with each key. */
async function askAll(server: HttpTarget, keyFor: (number: number) => string, round: number): Promise<void> {
  let next = 1
  const askSome = async () => {
    while (next <= options.keys) {
      const number = next++
      status(`round ${round}: key ${number} of ${options.keys}`)
      await askWith(server, keyFor(number), number, round)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, askSome))
  status(null)
}

/** Requests new lists of both entities and a summary. Reads a single absence, and then changes it. */
async function askWith({ urls: [url] }: HttpTarget, key: string, number: number, round: number): Promise<void> {
  const headers = { Authorization: `ApiKey ${key}`, 'Content-Type': 'application/json' }
  const ask = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const answer = await fetch(url + path, { ...init, headers })
    const text = await answer.text()
    // Until the tables are in memory, summaries of one key take turns, and one that waits too long is refused.
    if (answer.status === 503) {
      await Bun.sleep(1_000 * Number(answer.headers.get('Retry-After')))
      return ask(path, init)
    }
    if (!answer.ok) throw new Error(`${init.method ?? 'GET'} ${path} of key ${number}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
  // Each request has its own time, so that it cannot be answered from a cached answer.
  const request = number + options.keys * (round + WARM_ROUNDS)
  const second = new Date(FIRST_DAY_MS - 1_000 * request).toISOString().replace('.000Z', 'Z')
  const after = `Start=%3E${second}`
  const [absence] = (await ask(`/Absences?${after}&sort=-Start`)) as { id: number }[]
  await ask(`/Absences?${after}&sort=Id&page=2`)
  await ask(`/Absences/Summary?${after}&groupBy=month(Start)`)
  await ask(`/Employees?Id=%3E${request}&sort=-Id`)
  if (!absence) return
  await ask(`/Absences/${absence.id}`)
  await ask(`/Absences/${absence.id}`, { method: 'PATCH', body: '{"Status":"Approved"}' })
}

/** Returns the rights of a key. Among the rights of a thousand keys, texts, sets of properties and values are seldom equal. */
function rightsOf(text: string): string[] {
  const number = Number(text)
  const filters = filtersOf(number)
  const statuses = 'Status[]=Approved&Status[]=Declined'
  return [
    `read Absences?${filters}&fields=Id,Start,${someOf(OPTIONAL, number)}`,
    `update Absences?${filters}&fields=Status${filters.includes('Status') ? '' : ` becomes ${statuses}`}`,
    `read Employees?Id=%3E${number}&fields=Id,${someOf(OPTIONAL_OF_EMPLOYEE, number)}`,
  ]
}

/** Returns filters of one of five kinds: some match many absences, others few. */
function filtersOf(number: number): string {
  const day = (days: number) => new Date(FIRST_DAY_MS + days * DAY_MS).toISOString().replace('.000Z', 'Z')
  const kinds = [
    `Status=Approved&Start=%3E${day(number)}`,
    `EmployeeId=${number}`,
    `EmployeeId[]=${number}&EmployeeId[]=${number + 1}&EmployeeId[]=${number + 2}`,
    `Type=Holiday&Period.Days=%3E${number / 1_000}`,
    `Start=%3E${day(number)}&Start=%3C${day(number + 365)}`,
  ]
  return kinds[number % kinds.length] as string
}

/** Returns the first name, and each further name whose bit is set in the number. */
function someOf([first, ...names]: readonly string[], number: number): string {
  return [first, ...names.filter((_, index) => number & (1 << index))].join()
}
