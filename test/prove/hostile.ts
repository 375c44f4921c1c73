import type postgres from 'postgres'
import type { OpenApi } from '../../src/describe/openApi.ts'
import { loadEntities } from '../../src/registry.ts'
import { Conformance } from '../support/conformance.ts'
import { Connection, type RawResponse } from '../support/connection.ts'
import { until } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { bytesOf, type RandomRequest } from '../support/randomRequests.ts'
import { processesOf, resourcesOf, sum } from '../support/resources.ts'
import { type Surface, surfaceOf } from '../support/surface.ts'
import { faultsOfAnswer, faultsOfShape, hasOddBytes, isBareRefusal } from './hostile/answerFaults.ts'
import { type Attempt, attemptOf } from './hostile/attempts.ts'
import { sendWild } from './hostile/wild.ts'

interface Options {
  readonly url: string
  /** Process of the server's supervisor. */
  readonly pid: number
  /** Returns the log so far. */
  readonly log: () => string
  /** Seeds. Each seed generates a part of the requests. */
  readonly seeds: readonly number[]
  readonly requests: number
  /** Number of the first attempt of each seed, as a line of an earlier run names it. */
  readonly from?: number
}

interface Findings {
  /** Faults, one per line, with the request. */
  readonly faults: readonly string[]
  readonly requests: number
  /** Number of responses: `answers` by kind of attempt and status, `codes` by error code. */
  readonly answers: Readonly<Record<string, number>>
  readonly codes: Readonly<Record<string, number>>
  /** Memory of all processes together, after a tenth of the requests and at the end. */
  readonly rssMb: readonly [number, number]
  readonly descriptors: readonly [number, number]
}

const CONNECTIONS = 24
/** Matches lines of the log that report a fault of the server. */
const LOGGED = /^.*("level":"error"|a request failed).*$/gm
const FAULTS_MAX = 5
/** Matches a fault that means that nothing was done, so that the attempt is repeated. */
const REFUSED = /^the status is 503: \{"Error":\{"Code":"ServiceUnavailable"/
const AGAIN_MAX = 20
const AGAIN_AFTER_MS = 1_000
const BODY_BYTES_MAX = 2 ** 20
/** Maximum size of a body that the server reads although it refuses the request. */
const REST_BYTES_MAX = 16 * 1024
/** Tolerances for memory, because a heap frees memory late: a factor for the memory at the start, and MB for each process. */
const RSS_FACTOR_MAX = 1.3
const RSS_MORE_MB_MAX = 96
/** Tolerance for descriptors, because pools open connections to PostgreSQL only when they need them. */
const DESCRIPTORS_MORE_MAX = 8

/** Inserts rows for most ids in the requests. */
export async function fillForHostile(sql: postgres.Sql): Promise<void> {
  await sql`insert into company (name) select 'Company ' || n from generate_series(1, 120) as n`
  await sql`insert into employee (first_name) select 'Employee ' || n from generate_series(1, 120) as n`
  await sql`insert into absence (status) select 'Approved' from generate_series(1, 120) as n`
}

/** Sends requests that clients should not send. Checks each response, and at the end the server's resources. */
export async function proveHostile(options: Options): Promise<Findings> {
  const { url, pid, log, seeds, requests, from = 0 } = options
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi
  const described = new Conformance(document)
  const surface = surfaceOf(await loadEntities(), document)
  const run = new Run(url, seeds, requests / seeds.length, from, surface, described)
  const pids = processesOf(pid)
  const hold = async () => {
    const { rssMb, descriptors } = resourcesOf(pids)
    return { rssMb: sum(rssMb), descriptors: sum(descriptors) }
  }
  await run.send(requests / 10)
  const before = await hold()
  await run.send(requests)
  let after = await hold()
  await until(async () => {
    after = await hold()
    return after.descriptors <= before.descriptors + DESCRIPTORS_MORE_MAX
  })
  if (after.rssMb > before.rssMb * RSS_FACTOR_MAX + RSS_MORE_MB_MAX * pids.length)
    run.faults.push(`the server grew from ${before.rssMb} to ${after.rssMb} MB`)
  if (String(processesOf(pid)) !== String(pids)) run.faults.push('a process of the server has ended')
  const isReady = (await fetch(`${url}/readyz`)).status === 200
  if (!isReady) run.faults.push('the server is not ready')
  const errors = log().match(LOGGED) ?? []
  if (errors.length > 0) run.faults.push(`the server logged ${errors.length} errors, as ${errors[0]}`)
  return {
    faults: run.faults,
    requests: run.sent,
    answers: run.answers,
    codes: run.codes,
    rssMb: [Math.round(before.rssMb), Math.round(after.rssMb)],
    descriptors: [before.descriptors, after.descriptors],
  }
}

class Run {
  readonly faults: string[] = []
  readonly answers: Record<string, number> = {}
  readonly codes: Record<string, number> = {}
  sent = 0
  private readonly next = new Map<number, number>()
  private readonly host: string

  constructor(
    private readonly url: string,
    private readonly seeds: readonly number[],
    private readonly each: number,
    private readonly from: number,
    private readonly surface: Surface,
    private readonly described: Conformance,
  ) {
    this.host = new URL(url).host
  }

  /** Sends requests until the total is reached. */
  async send(requests: number): Promise<void> {
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        const connection = new Connection(this.url)
        while (this.sent < requests && this.faults.length < FAULTS_MAX) await this.attempt(connection)
        connection.close()
      }),
    )
  }

  private async attempt(connection: Connection): Promise<void> {
    const seed = this.seeds[Math.min(Math.floor(this.sent / this.each), this.seeds.length - 1)] as number
    const number = this.next.get(seed) ?? this.from
    this.next.set(seed, number + 1)
    // Each attempt has its own generator, so that it is the same over every connection and at any time.
    const attempt = attemptOf(new Random(seed ^ Math.imul(number + 1, 0x9e3779b1)), this.surface, this.host)
    this.sent += Math.max(1, attempt.requests.length)
    let faults = await this.carryOut(attempt, connection)
    // On a busy machine, a statement may exceed its time, so the attempt is repeated. It is a fault if this always happens.
    for (let again = 0; again < AGAIN_MAX && faults.some((fault) => REFUSED.test(fault)); again++) {
      await Bun.sleep(AGAIN_AFTER_MS)
      faults = await this.carryOut(attempt, connection)
    }
    if (faults.length > 0)
      this.faults.push(`attempt ${number} of seed ${seed}, ${attempt.kind}: ${faults.join('; ')}\n${show(attempt)}`)
  }

  /** Sends the requests of an attempt; returns the faults of the answers. */
  private carryOut(attempt: Attempt, connection: Connection): Promise<string[]> {
    const sending = attempt.requests.length > 0 ? this.sendWhole(attempt, connection) : this.sendWild(attempt)
    return sending.catch((error: Error) => {
      connection.close()
      return [error.message]
    })
  }

  /** Sends whole requests, and checks that each gets a response in turn, up to one that closes the connection. */
  private async sendWhole(attempt: Attempt, connection: Connection): Promise<string[]> {
    const { kind, pieces, requests, follow } = attempt
    const responses = await connection.sendAll(
      pieces,
      requests.map(({ method }) => method === 'HEAD'),
    )
    const faults = responses.flatMap((response, at) => this.judge(kind, requestOf(requests, at, response), response))
    const last = responses.at(-1)
    const isClosed = last !== undefined && (isBareRefusal(last) || last.headers.get('connection') === 'close')
    // Bun closes a connection if a request arrives before the previous request is answered.
    if (responses.length < requests.length && !isClosed && kind !== 'pipelined')
      if (!(await this.isCutOff(requests[0] as RandomRequest))) faults.push('there is no answer')
    const next = last && follow ? follow(last) : null
    if (next === null || faults.length > 0) return faults
    this.sent++
    const response = await connection.send(next.bytes, false)
    return this.judge(kind, next.request, response).map((fault) => `${fault}\n${next.bytes}`)
  }

  /**
   * Returns whether the server closes the connection instead of reading the body. If the client still sends then, it may get a
   * reset and no response. The server reads no body of GET, no body over 1 MiB, and no body over 16 KiB that it does not need or
   * refuses unread. D18
   */
  private async isCutOff(request: RandomRequest): Promise<boolean> {
    const { method, body } = request
    if (body === null) return false
    if (/^(GET|HEAD)$/.test(method) || body.length > BODY_BYTES_MAX) return true
    if (body.length <= REST_BYTES_MAX) return false
    if (!/^(POST|PUT|PATCH)$/.test(method)) return true
    const connection = new Connection(this.url)
    const response = await connection.send(bytesOf({ ...request, body: null }, this.host, new Random(0)), false)
    connection.close()
    // With the code InvalidJson, the server has read the body.
    return response.status >= 400 && JSON.parse(response.body).Error.Code !== 'InvalidJson'
  }

  private judge(kind: string, request: RandomRequest, response: RawResponse): string[] {
    this.count(kind, response)
    return faultsOfAnswer(request, response, this.url, this.described)
  }

  private async sendWild(attempt: Attempt): Promise<string[]> {
    const { answers, rest } = await sendWild(this.url, attempt)
    const faults = rest === '' ? [] : [`no HTTP came back: ${JSON.stringify(rest.slice(0, 300))}`]
    for (const answer of answers) {
      this.count(attempt.kind, answer)
      if (!isBareRefusal(answer)) faults.push(...faultsOfShape(answer, this.url))
    }
    return faults
  }

  private count(kind: string, { status, body, headers }: RawResponse) {
    add(this.answers, `${kind} ${status}`)
    const isError = status >= 400 && body !== '' && headers.get('content-type')?.startsWith('application/json')
    if (isError) add(this.codes, JSON.parse(body).Error?.Code)
  }
}

/**
 * Returns the request that a response answers. If valid requests are followed by bytes that are not HTTP, these end the
 * connection, and the response to them can come earlier than the responses to the valid requests.
 */
function requestOf(requests: readonly RandomRequest[], at: number, response: RawResponse): RandomRequest {
  const request = requests[at] as RandomRequest
  return isBareRefusal(response) ? (requests.slice(at).find(hasOddBytes) ?? request) : request
}

function add(counts: Record<string, number>, name: string) {
  counts[name] = (counts[name] ?? 0) + 1
}

function show({ pieces }: Attempt): string {
  const bytes = Buffer.concat([...pieces])
  return `${JSON.stringify(bytes.toString('latin1').slice(0, 700))} (${bytes.length} bytes in ${pieces.length})`
}
