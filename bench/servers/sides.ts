import type { Database } from '../database.ts'
import { type Server, startServer } from '../server.ts'
import { type Receiver, removeHooks, setHook } from './receiver.ts'

/** How a server hears of writes of others; off: it does not, and keeps no lists. */
export const WAYS = ['slot', 'notify', 'off'] as const
export type Way = (typeof WAYS)[number]

/** What is compared: so many servers on a database. Their workers are those of the whole side. */
export interface Side {
  readonly name: string
  readonly database: Database
  readonly servers: number
  readonly workers: number
  readonly way: Way
  /** Beside those of all sides. */
  readonly settings?: Readonly<Record<string, string>>
  /** Every change is posted to it; not there: no change is posted. */
  readonly receiver?: Receiver
}

/** The servers of a side, which run, and nothing else does on their database. */
export interface OpenSide {
  readonly servers: readonly Server[]
  readonly workers: number
  /** How often a worker has read the absences into columns so far. */
  readLoads(): number
  stop(): Promise<void>
}

const IN_COLUMNS = /a table is in columns\b.*\btable=absence\b/
const SAYINGS: readonly (readonly [Way, RegExp])[] = [
  ['slot', /writes of others are read from the database’s log/],
  ['notify', /writes of others are heard by NOTIFY/],
  ['off', /list cache off: CHANGES=off/],
]
const CHOOSES_WITHIN_MS = 30_000
const LOOK_MS = 5

/** @throws Error where a server does not come up, or hears of writes in another way than it was asked to */
export async function openSide(side: Side): Promise<OpenSide> {
  const { name, database, servers, workers, way, receiver } = side
  let loads = 0
  const ways: Way[] = []
  const onLine = (line: string) => {
    if (IN_COLUMNS.test(line)) loads++
    for (const [chosen, pattern] of SAYINGS) if (pattern.test(line)) ways.push(chosen)
  }
  const each = Math.max(1, Math.floor(workers / servers))
  const settings = { LOG_LEVEL: 'info', CHANGES: way, ...side.settings }
  const started: Server[] = []
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()))
    if (receiver) await removeHooks(database.url)
  }
  try {
    if (receiver) await setHook(database.url, receiver)
    for (let server = 0; server < servers; server++)
      started.push(await startServer({ databaseUrl: database.url, workers: each, settings, onLine }))
    const untilMs = performance.now() + CHOOSES_WITHIN_MS
    while (ways.length < servers && performance.now() < untilMs) await Bun.sleep(LOOK_MS)
    if (ways.length !== servers || ways.some((chosen) => chosen !== way))
      throw new Error(`${name}: servers hear of writes by ${ways.join(' and ') || 'nothing'}, not by ${way}`)
  } catch (error) {
    await stop()
    throw error
  }
  return { servers: started, workers: each * servers, readLoads: () => loads, stop }
}
