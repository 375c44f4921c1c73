// Other servers on the same tables, to compare with. Their packages are their own: bench/peers/package.json.
import { execFileSync } from 'node:child_process'
import { startAndWait } from './children.ts'
import { FOLDER, installPeers } from './peers/install.ts'
import { dependencies } from './peers/package.json'
import type { Peer } from './peers/peer.ts'
import { readPlatformatic } from './peers/readPlatformatic.ts'
import { translateToPlatformatic, translateToSame } from './peers/translate.ts'
import { INDEXED } from './results.ts'

export { checkPeers } from './peers/check.ts'
export type { Peer } from './peers/peer.ts'

interface Definition extends Pick<Peer, 'translate' | 'readBody'> {
  readonly runtime: 'Node' | 'Bun'
  readonly packages: readonly (keyof typeof dependencies)[]
}

const same = { translate: translateToSame, readBody: (body: unknown) => body }

/** A peer is one entry, and a program of that name in bench/peers. */
const definitions: Readonly<Record<string, Definition>> = {
  fastify: { runtime: 'Node', packages: ['fastify', 'pg'], ...same },
  hono: { runtime: 'Bun', packages: ['hono', 'drizzle-orm', 'postgres'], ...same },
  platformatic: {
    runtime: 'Node',
    packages: ['@platformatic/db'],
    translate: translateToPlatformatic,
    readBody: readPlatformatic,
  },
}

export const peerNames: readonly string[] = Object.keys(definitions)

interface Options {
  readonly databaseUrl: string
  /** Of `peerNames`. */
  readonly names: readonly string[]
  /** See `Peer.isIndexed`. Their names end with `INDEXED`. */
  readonly isIndexed?: boolean
  /** Of each peer. */
  readonly processes: number
}

/** Starts the peers, and installs them before where they are not. @throws Error when one does not come up */
export async function startPeers({ databaseUrl, names, processes, isIndexed = false }: Options): Promise<Peer[]> {
  installPeers()
  const environment = {
    DATABASE_URL: databaseUrl,
    PORT: '0',
    PEER_PROCESSES: String(processes),
    NODE_ENV: 'production',
  }
  const peers: Peer[] = []
  try {
    // One after the other, since each needs a processor to come up.
    for (const name of names) peers.push(await startPeer(name, environment, isIndexed))
    return peers
  } catch (error) {
    await Promise.all(peers.map((peer) => peer.stop()))
    throw error
  }
}

async function startPeer(name: string, environment: Readonly<Record<string, string>>, isIndexed: boolean): Promise<Peer> {
  const definition = definitions[name]
  if (!definition) throw new Error(`there is no peer ${name}; peers are ${peerNames.join(', ')}`)
  const { runtime, packages, translate, readBody } = definition
  const command = [...(runtime === 'Node' ? ['node'] : [process.execPath, '--no-env-file']), `${name}.mjs`]
  const child = await startAndWait(command, /listens on (.*)\)/, {
    cwd: FOLDER,
    environment,
  })
  const [url, pids] = child.found.split(' (processes ') as [string, string]
  const versions = packages.map((library) => `${library} ${dependencies[library]}`)
  return {
    name: isIndexed ? name + INDEXED : name,
    isIndexed,
    url,
    pids: () => pids.split(' ').map(Number),
    version: [...versions, `${runtime} ${versionOf(runtime)}`].join(', '),
    translate,
    readBody,
    stop: child.stop,
  }
}

function versionOf(runtime: Definition['runtime']): string {
  return runtime === 'Bun' ? Bun.version : execFileSync('node', ['--version'], { encoding: 'utf8' }).trim().slice(1)
}
