// The load program. Reads a job as JSON from stdin. Writes the line `begin` when counting begins, `end` when it ends, and then
// the counts as JSON.
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'
import { isRandom, nextPathOf, requestSource } from './requests.mjs'

/**
 * Number of requests that a client draws before the load begins, and then whenever it has used them up. The second number is
 * small, because the client sends nothing while it draws.
 */
const REQUESTS_FIRST = 1_024
const REQUESTS_MORE = 64
/** Minimum number of answers. If there are fewer, the load lasts longer, by up to `MORE_MS_MAX`. */
const ANSWERS_MIN = 10
const MORE_MS_MAX = 30_000
const CHECK_MS = 50

const job = JSON.parse(readFileSync(0, 'utf8'))
const clients = []
let counting = false
let counts = noCounts()

const load = autocannon({
  url: job.url,
  connections: job.connections,
  // Longer than any load; the code below ends it.
  duration: 3_600,
  timeout: job.timeoutSeconds,
  headers: job.headers,
  setupClient,
})
load.on('response', count)
load.on('reqError', () => counting && counts.errors++)
load.on('start', () => setTimeout(begin, job.leadInSeconds * 1_000))

function setupClient(client) {
  const { operations, seed } = job
  const draw = requestSource(operations, seed, clients.length, job.connections)
  const isVaried = operations.length > 1 || isRandom(operations[0])
  const follows = []
  const drawAll = (count) => draw(count).map((request) => followable(request, follows))
  client.setRequests(drawAll(isVaried ? REQUESTS_FIRST : 1))
  if (isVaried) drawMore(client, drawAll, follows)
  clients.push(client)
}

/**
 * Draws more requests, so that no request is repeated in a long load: each list must be new. Pages of `follows` are requested
 * first.
 */
function drawMore({ requestIterator: requests }, draw, follows) {
  const { nextRequest } = requests
  requests.nextRequest = () => {
    if (follows.length > 0) requests.setRequest(follows.pop())
    else if (requests.currentRequestIndex + 1 < requests.requests.length) return nextRequest.call(requests)
    else requests.setRequests(draw(REQUESTS_MORE))
    return requests.currentRequest
  }
}

/**
 * Returns a request. If the operation has `nextKind`, the request for the next page is added to `follows` when the answer
 * arrives.
 */
function followable({ nextKind, ...request }, follows) {
  if (nextKind === undefined) return request
  const onResponse = (_status, _body, _context, headers) => {
    const path = nextPathOf(headers.Link)
    if (path !== null) follows.push({ ...request, path, kind: nextKind })
  }
  return { ...request, onResponse }
}

function noCounts() {
  return { requests: 0, errors: 0, unexpected: {}, buckets: {}, kinds: {} }
}

function count(client, status, _bytes, ms) {
  if (!counting) return
  counts.requests++
  // Without pipelining, the client's current request is the one that was just answered.
  const { status: expected, kind } = client.requestIterator.currentRequest
  if (status !== expected) {
    const fault = `${status} instead of ${expected}`
    counts.unexpected[fault] = (counts.unexpected[fault] ?? 0) + 1
  }
  const us = Math.max(ms * 1_000, 1)
  const bucket = Math.floor(Math.log(us) / Math.log(job.bucketGrowth))
  counts.buckets[bucket] = (counts.buckets[bucket] ?? 0) + 1
  if (kind === undefined) return
  const own = (counts.kinds[kind] ??= {})
  own[bucket] = (own[bucket] ?? 0) + 1
}

function begin() {
  console.log('begin')
  counts = noCounts()
  counting = true
  const startMs = performance.now()
  const startCpu = process.cpuUsage()
  const endMs = startMs + job.seconds * 1_000
  const endIfEnough = () => {
    if (isMoreToCome(endMs)) return void setTimeout(endIfEnough, CHECK_MS)
    counting = false
    const { user, system } = process.cpuUsage(startCpu)
    const seconds = (performance.now() - startMs) / 1_000
    console.log('end')
    finish({ seconds, cpuUs: user + system })
  }
  setTimeout(endIfEnough, job.answers === undefined ? job.seconds * 1_000 : 0)
}

/**
 * True if the load continues: for a job with `answers`, until this number has arrived or the time is over; otherwise until
 * `ANSWERS_MIN` answers have arrived, but at most `MORE_MS_MAX` longer.
 */
function isMoreToCome(endMs) {
  if (job.answers !== undefined) return counts.requests < job.answers && performance.now() < endMs
  return counts.requests < ANSWERS_MIN && performance.now() < endMs + MORE_MS_MAX
}

function waits({ conn, pipelinedRequests }) {
  return conn.readyState === 'open' && pipelinedRequests.size() > 0
}

/** Waits for requests in flight: statements that no one waits for would take time from the next program. */
async function finish(costs) {
  for (const client of clients) client._doRequest = () => undefined
  const giveUpMs = performance.now() + job.timeoutSeconds * 1_000
  while (clients.some(waits) && performance.now() < giveUpMs) await new Promise((done) => setTimeout(done, CHECK_MS))
  console.log(JSON.stringify({ ...counts, ...costs }))
  process.exit(0)
}
