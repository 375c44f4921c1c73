import { joinPostgres, leavePostgres, startPostgres } from '../support/postgres.ts'
import { provePairs } from '../support/rightsPairs.ts'
import { noFindings, type PairsFindings } from '../support/rightsPairsReport.ts'

interface Options {
  readonly seed: number
  /** Minimum number of pairs of answers to compare. */
  readonly pairs: number
  /** Number of the first key, as a line of an earlier run names it. */
  readonly from?: number | undefined
  /** Number of keys to try; default: as many as the pairs need. */
  readonly keys?: number | undefined
}

export interface RightsProof {
  /** Differences, each with the rights and the request; there must be none. */
  readonly differences: readonly string[]
  readonly pairs: number
  readonly rights: number
  readonly refused: number
  readonly interrupted: number
  readonly hiddenCells: number
  /** Share of answers that are 200. `channels`: number of answers of each channel by status. */
  readonly answered: number
  readonly channels: Record<string, Record<string, number>>
  readonly seconds: number
}

/** Settings of the servers in turn: with and without memory, without and with values in histories. */
const SETTINGS = [{}, { MEMORY_MB: '0' }, { CHANGES_VALUES: 'on' }, { MEMORY_MB: '0', CHANGES_VALUES: 'on' }]
/** Number of keys that a pair of servers tries before a new pair replaces it. */
const KEYS = 100
const READS = 64
const WRITES = 36
/**
 * Every twelfth key is compared with a server that lacks the properties which the key cannot read. `followsMax`: maximum number
 * of keys that follow the change feed, of each pair of servers.
 */
const TURNS = { shadowEvery: 12, followsMax: 5 }

/** Compares the answers of pairs of servers, until there are enough. Two pairs of servers run at a time. */
export async function proveRights({ seed, pairs, from = 0, keys = Number.POSITIVE_INFINITY }: Options): Promise<RightsProof> {
  const postgres = await startPostgres(40 + (seed % 20))
  joinPostgres(postgres.url)
  const all = noFindings()
  const startMs = performance.now()
  let next = 0
  const lane = async () => {
    while (all.pairs < pairs && next < keys && all.differences.length === 0) {
      const first = from + next
      const count = Math.min(KEYS, keys - next)
      next += count
      const environment = SETTINGS[Math.floor(first / KEYS) % SETTINGS.length] as Record<string, string>
      add(all, await provePairs({ seed, from: first, keys: count, reads: READS, writes: WRITES, environment, ...TURNS }))
    }
  }
  try {
    await Promise.all([lane(), lane()])
  } finally {
    await leavePostgres()
    await postgres.stop()
  }
  const { differences, rights, refused, interrupted, hiddenCells, channels } = all
  const statuses = Object.values(channels).flatMap((counts) => Object.entries(counts))
  const of200 = statuses.reduce((sum, [status, count]) => sum + (status === '200' ? count : 0), 0)
  return {
    differences,
    pairs: all.pairs,
    rights: rights.size,
    refused,
    interrupted,
    hiddenCells,
    answered: Math.round((100 * of200) / all.pairs) / 100,
    channels,
    seconds: Math.round((performance.now() - startMs) / 100) / 10,
  }
}

function add(all: PairsFindings, found: PairsFindings): void {
  all.differences.push(...found.differences)
  all.pairs += found.pairs
  all.refused += found.refused
  all.interrupted += found.interrupted
  all.hiddenCells += found.hiddenCells
  for (const text of found.rights) all.rights.add(text)
  for (const [channel, counts] of Object.entries(found.channels)) {
    const sums = (all.channels[channel] ??= {})
    for (const [status, count] of Object.entries(counts)) sums[status] = (sums[status] ?? 0) + count
  }
}
