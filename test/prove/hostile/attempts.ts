import type { RawResponse } from '../../support/connection.ts'
import type { Random } from '../../support/random.ts'
import { bytesOf, type RandomRequest, randomRequest } from '../../support/randomRequests.ts'
import type { Surface } from '../../support/surface.ts'
import { brokenHead } from './brokenHeads.ts'
import { followable, followOf } from './follow.ts'

/** One action of a hostile client. */
export interface Attempt {
  readonly kind: Kind
  /** Pieces to send, one in each turn of the event loop. */
  readonly pieces: readonly Buffer[]
  /** Complete requests among the bytes, in order; empty if the bytes may not be HTTP. */
  readonly requests: readonly RandomRequest[]
  /** Returns a request that is made from the first response; null for none. */
  follow?(response: RawResponse): { request: RandomRequest; bytes: Buffer } | null
  /** True if the client disconnects after its last byte. */
  readonly leaves: boolean
}

type Kind = keyof typeof makers

/** Draws an attempt; the same random numbers give the same attempt, over every connection and at any time. */
export function attemptOf(random: Random, surface: Surface, host: string): Attempt {
  const place = random.below(100)
  const kind = (Object.keys(makers) as Kind[]).find((name) => place < shares[name]) as Kind
  return { kind, requests: [], leaves: false, ...makers[kind](random, surface, host) }
}

/** Cumulative percentages of the kinds. */
const shares = { whole: 66, followed: 72, trickled: 78, pipelined: 84, cut: 89, broken: 94, garbled: 98, garbage: 100 }

type Made = Pick<Attempt, 'pieces'> & Partial<Attempt>

const makers = {
  whole(random: Random, surface: Surface, host: string): Made {
    const request = randomRequest(random, surface)
    return { requests: [request], pieces: [bytesOf(request, host, random)] }
  },
  followed(random: Random, surface: Surface, host: string): Made {
    const request = followable(random, surface)
    const follow = (response: RawResponse) => {
      const next = followOf(random, surface, request.target, response)
      return next && { request: next, bytes: bytesOf(next, host, random) }
    }
    return { requests: [request], pieces: [bytesOf(request, host, random)], follow }
  },
  trickled(random: Random, surface: Surface, host: string): Made {
    const { requests, pieces } = makers.whole(random, surface, host)
    return { requests: requests as RandomRequest[], pieces: divided(pieces[0] as Buffer, random) }
  },
  pipelined(random: Random, surface: Surface, host: string): Made {
    const requests = Array.from({ length: 2 + random.below(4) }, () => randomRequest(random, surface))
    const bytes = Buffer.concat(requests.map((request) => bytesOf(request, host, random)))
    return { requests, pieces: random.chance(70) ? [bytes] : divided(bytes, random) }
  },
  cut(random: Random, surface: Surface, host: string): Made {
    const bytes = wildRequest(random, surface, host)
    return { pieces: [bytes.subarray(0, random.below(bytes.length))], leaves: true }
  },
  broken(random: Random, surface: Surface, host: string): Made {
    return { pieces: [brokenHead(random, wildRequest(random, surface, host))] }
  },
  garbled(random: Random, surface: Surface, host: string): Made {
    const bytes = wildRequest(random, surface, host)
    for (let changes = 1 + random.below(5); changes > 0; changes--)
      bytes[random.below(Math.min(bytes.length, 400))] = random.pick([random.below(256), 0, 10, 13, 32, 58])
    return { pieces: [bytes] }
  },
  garbage(random: Random): Made {
    const bytes = Buffer.from(Array.from({ length: 1 + random.below(400) }, () => random.below(256)))
    const tls = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'
    const starts = ['', '', 'GET ', 'POST / HTTP/1.1\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', tls]
    return { pieces: [Buffer.concat([Buffer.from(random.pick(starts), 'latin1'), bytes])], leaves: random.chance(50) }
  },
} as const

/**
 * Returns a request to mutate. HEAD is replaced by GET, because a response to HEAD looks the same as a response that is cut off.
 */
function wildRequest(random: Random, surface: Surface, host: string): Buffer {
  const request = randomRequest(random, surface)
  return bytesOf({ ...request, method: request.method === 'HEAD' ? 'GET' : request.method }, host, random)
}

/** Cuts bytes into two to seven pieces. */
function divided(bytes: Buffer, random: Random): Buffer[] {
  const places = Array.from({ length: 1 + random.below(6) }, () => random.below(bytes.length)).sort((a, b) => a - b)
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length))
}
