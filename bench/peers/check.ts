import { isDeepStrictEqual } from 'node:util'
import { Random } from '../../test/support/random.ts'
import { fillDraws, rangesOf } from '../load/draws.mjs'
import type { Operation } from '../scenarios.ts'
import type { HttpTarget } from '../targets.ts'
import type { Peer } from './peer.ts'

/** So many values of each random one. */
const DRAWS = 5
const SEED = 20_260_105

/** What two servers must agree on. */
interface Answer {
  readonly status: number
  /** `X-Total-Count`. */
  readonly total: string | null
  readonly body: unknown
}

/**
 * Asks every peer and Roster for the same, each reading operation with several random values.
 * @throws Error naming the peer, the request and the first difference
 */
export async function checkPeers(
  peers: readonly Peer[],
  { urls, headers }: Pick<HttpTarget, 'urls' | 'headers'>,
  operations: readonly Operation[],
): Promise<void> {
  const reads = operations.filter(({ method, status }) => method === 'GET' && status === 200)
  for (const operation of reads.flatMap((read) => draw(read))) {
    const expected = await ask(urls[0] + operation.path, headers)
    for (const peer of peers) await checkPeer(peer, operation, expected)
  }
}

async function checkPeer(peer: Peer, operation: Operation, expected: Answer) {
  const translated = peer.translate(operation)
  if (!translated) return
  const answer = await ask(peer.url + translated.path)
  const body = answer.status === expected.status ? peer.readBody(answer.body) : answer.body
  const difference = firstDifference({ ...answer, body }, expected, 'answer')
  if (difference) throw new Error(`${peer.name} does not answer ${translated.path} as Roster does: ${difference}`)
}

/** The operation once, or with several random values; the same each time. */
function draw(operation: Operation): Operation[] {
  const { path } = operation
  if (rangesOf(path).length === 0) return [operation]
  const random = new Random(SEED)
  const fill = () => fillDraws(path, ({ low, high }) => low + random.below(high - low + 1))
  return Array.from({ length: DRAWS }, () => ({ ...operation, path: fill() }))
}

async function ask(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const answer = await fetch(url, { headers })
  const text = await answer.text()
  const isJson = answer.headers.get('Content-Type')?.startsWith('application/json')
  return {
    status: answer.status,
    total: answer.headers.get('X-Total-Count'),
    body: isJson ? JSON.parse(text) : text,
  }
}

/** `answer.body[3].start is "x" instead of "y"`; null: there is none. `place` is how the values are called. */
function firstDifference(actual: unknown, expected: unknown, place: string): string | null {
  if (isDeepStrictEqual(actual, expected)) return null
  if (!isObject(actual) || !isObject(expected) || Array.isArray(actual) !== Array.isArray(expected))
    return `${place} is ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`
  const keys = new Set([...Object.keys(expected), ...Object.keys(actual)])
  for (const key of keys) {
    const inside = Array.isArray(expected) ? `${place}[${key}]` : `${place}.${key}`
    const difference = firstDifference(actual[key], expected[key], inside)
    if (difference) return difference
  }
  return `${place} differs`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
