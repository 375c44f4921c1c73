// Servers that are compared with Roster, on the same tables. Their packages are in bench/peers/package.json.
import { join } from 'node:path'
import { installLocked } from '../test/support/installLocked.ts'
import { startAndWait } from './children.ts'
import { cancelStatements, type Database } from './database.ts'
import { nodeVersion } from './machine.ts'
import type { Operation } from './operation.ts'
import { dependencies } from './peers/package.json'
import { readPlatformatic, translateToPlatformatic } from './peers/platformatic.ts'
import { INDEXED } from './results.ts'
import type { HttpTarget } from './server.ts'

/** A server that is compared with Roster. */
export interface Peer extends HttpTarget {
  /** True if its tables have indexes for new lists. Such a peer runs only scenarios of new lists. */
  readonly isIndexed: boolean
  /** True if its clients see only some rows. Such a peer runs only scenarios of keys with few rights. */
  readonly hasRowSecurity: boolean
  /** Version, such as `fastify 5.12.8, pg 8.23.1, Node 20.20.2`. */
  readonly version: string
  /** Translates an operation to a request of the peer; null if the peer cannot do it. */
  translate(operation: Operation): Operation | null
  /** Converts the body of an answer to Roster's form. */
  readBody(body: unknown): unknown
}

interface Definition extends Pick<Peer, 'translate' | 'readBody'> {
  readonly hasRowSecurity?: true
  readonly runtime: 'Node' | 'Bun'
  readonly packages: readonly (keyof typeof dependencies)[]
}

const same = { translate: unlessEmployees, readBody: (body: unknown) => body }

/** Returns null for an operation on employees: the hand-written peers have only companies and absences. */
function unlessEmployees(operation: Operation): Operation | null {
  return operation.path.startsWith('/Employees') ? null : operation
}

/** The peers. Each peer is an entry here, and a program of the same name in bench/peers. */
const definitions: Readonly<Record<string, Definition>> = {
  fastify: { runtime: 'Node', packages: ['fastify', 'pg'], ...same },
  hono: { runtime: 'Bun', packages: ['hono', 'drizzle-orm', 'postgres'], ...same },
  platformatic: {
    runtime: 'Node',
    packages: ['@platformatic/db'],
    translate: translateToPlatformatic,
    readBody: readPlatformatic,
  },
  'fastify-rls': { runtime: 'Node', packages: ['fastify', 'pg'], hasRowSecurity: true, ...same, translate: onlyLists },
}

function onlyLists(operation: Operation): Operation | null {
  return operation.path.startsWith('/Absences?') ? operation : null
}

export const peerNames: readonly string[] = Object.keys(definitions)

/** Returns whether a peer has row security. */
export function hasRowSecurity(name: string): boolean {
  return definitions[name]?.hasRowSecurity ?? false
}

const FOLDER = join(import.meta.dir, 'peers')

interface Options {
  readonly database: Database
  readonly isIndexed: boolean
  readonly processes: number
}

/** Installs the packages of the peers, and starts the named peers. @throws Error if one does not start */
export async function startPeers(names: readonly string[], options: Options): Promise<Peer[]> {
  installLocked(FOLDER)
  const peers: Peer[] = []
  // Started one after the other, because each needs a processor to start.
  for (const name of names) peers.push(await startPeer(name, options))
  return peers
}

async function startPeer(name: string, { database, isIndexed, processes }: Options): Promise<Peer> {
  const { runtime, packages, translate, readBody } = definitions[name] as Definition
  const command = [...(runtime === 'Node' ? ['node'] : [process.execPath, '--no-env-file']), `${name}.mjs`]
  const { found, stop } = await startAndWait(command, /listens on (.*)\)/, {
    cwd: FOLDER,
    environment: { DATABASE_URL: database.url, PORT: '0', PEER_PROCESSES: String(processes), NODE_ENV: 'production' },
  })
  const [url, pids] = found.split(' (processes ') as [string, string]
  const versions = packages.map((library) => `${library} ${dependencies[library]}`)
  return {
    ...{
      database,
      isIndexed,
      hasRowSecurity: hasRowSecurity(name),
      translate,
      readBody,
      cancelStatements: () => cancelStatements(database.url),
      stop,
      urls: [url],
      headers: {},
      pids: pids.split(' ').map(Number),
    },
    name: isIndexed ? name + INDEXED : name,
    version: [...versions, `${runtime} ${runtime === 'Bun' ? Bun.version : nodeVersion()}`].join(', '),
  }
}
