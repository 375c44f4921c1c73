// The load, in a process of its own. Reads a job as JSON from stdin; writes the line `begin` when counting begins, `end`
// when it ends, and then the counts as JSON.
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'
import { isRandom, requestSource } from './requests.mjs'

/** Drawn before the load begins, over all clients; a short load needs fewer. */
const REQUESTS_PER_SECOND = 8_192
const REQUESTS_MAX = 32_768
/** Drawn by a client that has used its own up. Little at once, since meanwhile nothing is sent. */
const REQUESTS_MORE = 64
/** No query of the server's takes longer. */
const ANSWERS_MS_MAX = 5_000

const job = JSON.parse(readFileSync(0, 'utf8'))
const clients = []
let counting = false
let counts = noCounts()

const load = autocannon({
  url: job.url,
  connections: job.connections,
  // It ends when we say so.
  duration: job.leadInSeconds + job.seconds + 60,
  timeout: job.timeoutSeconds,
  headers: job.headers,
  setupClient,
})
load.on('response', count)
load.on('reqError', () => counting && counts.errors++)
load.on('start', () => setTimeout(begin, job.leadInSeconds * 1_000))

function setupClient(client) {
  const { connections, operations, rate, seed } = job
  const draw = requestSource(operations, seed * 1_000 + clients.length)
  client.setRequests(draw(requestsOfClient(job)))
  if (isVaried(operations)) drawMore(client, draw)
  if (rate !== null) pace(client, (connections / rate) * 1_000, (clients.length / rate) * 1_000)
  clients.push(client)
}

function requestsOfClient({ connections, operations, rate, leadInSeconds, seconds }) {
  if (!isVaried(operations)) return 1
  const needed = (leadInSeconds + seconds) * (rate ?? REQUESTS_PER_SECOND)
  return Math.ceil(Math.min(REQUESTS_MAX, needed) / connections)
}

function isVaried(operations) {
  return operations.length > 1 || isRandom(operations[0])
}

/** No request comes twice because of a load that lasts: a list that was not asked before must stay one. */
function drawMore({ requestIterator: requests }, draw) {
  const { nextRequest } = requests
  requests.nextRequest = () => {
    if (requests.currentRequestIndex + 1 < requests.requests.length) return nextRequest.call(requests)
    requests.setRequests(draw(REQUESTS_MORE))
    return requests.currentRequest
  }
}

function noCounts() {
  return { requests: 0, errors: 0, unexpected: {}, buckets: {} }
}

function count(client, status, _bytes, ms) {
  if (!counting) return
  counts.requests++
  // Without pipelining the client's current request is the one that has just been answered.
  const { status: expected } = client.requestIterator.currentRequest
  if (status !== expected) {
    const kind = `${status} instead of ${expected}`
    counts.unexpected[kind] = (counts.unexpected[kind] ?? 0) + 1
  }
  const us = Math.max((ms + (client.waitedMs ?? 0)) * 1_000, 1)
  const bucket = Math.floor(Math.log(us) / Math.log(job.bucketGrowth))
  counts.buckets[bucket] = (counts.buckets[bucket] ?? 0) + 1
}

function begin() {
  console.log('begin')
  counts = noCounts()
  counting = true
  const startMs = performance.now()
  setTimeout(() => {
    counting = false
    const seconds = (performance.now() - startMs) / 1_000
    console.log('end')
    finish(seconds)
  }, job.seconds * 1_000)
}

function waits({ conn, pipelinedRequests }) {
  return conn.readyState === 'open' && pipelinedRequests.size() > 0
}

/** Waits for what is under way, so that no work of ours goes on behind our end. */
async function finish(seconds) {
  for (const client of clients) client._doRequest = () => undefined
  const giveUpMs = performance.now() + ANSWERS_MS_MAX
  while (clients.some(waits) && performance.now() < giveUpMs) await new Promise((done) => setTimeout(done, 5))
  console.log(JSON.stringify({ ...counts, seconds }))
  process.exit(0)
}

/**
 * Makes a client of autocannon send at even intervals: autocannon's own rates send each second's requests in one burst.
 * A request that is due while the one before is unanswered waits, and `client.waitedMs` counts towards its latency.
 */
function pace(client, intervalMs, offsetMs) {
  const send = client._doRequest
  let dueMs = performance.now() + offsetMs
  let timer
  client.waitedMs = 0
  const sendNow = (waitedMs) => {
    client.waitedMs = waitedMs
    dueMs += intervalMs
    send.call(client)
  }
  client._doRequest = () => {
    clearTimeout(timer)
    const leftMs = dueMs - performance.now()
    if (leftMs <= 0) sendNow(-leftMs)
    else timer = setTimeout(sendNow, leftMs, 0)
  }
}
