// Operations as lists of requests for autocannon, drawn before they are due so that a request costs the load little.
import { fillDraws, rangesOf } from './draws.mjs'

/**
 * Draws requests from the operations, their random values filled: each call of the result gives so many more.
 * The same for the same seed. Each has the status that it must be answered with.
 */
export function requestSource(operations, seed) {
  const random = randomFrom(seed)
  const next = () => drawRequest(operations[Math.floor(random() * operations.length)], random)
  return (count) => Array.from({ length: count }, next)
}

/** The first `count` requests of a source. */
export function drawRequests(operations, count, seed) {
  return requestSource(operations, seed)(count)
}

/** Whether its requests differ. */
export function isRandom({ path, body = '' }) {
  return rangesOf(path + body).length > 0
}

function drawRequest({ method, path, body, status }, random) {
  const fill = (text) => fillDraws(text, ({ low, high }) => low + Math.floor(random() * (high - low + 1)))
  const request = { method, path: fill(path), headers: {}, status }
  if (body !== undefined) {
    request.body = fill(body)
    request.headers['Content-Type'] = 'application/json'
  }
  return request
}

/** 0 up to, not including, 1 (mulberry32). */
function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
