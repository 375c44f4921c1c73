// Draws requests from operations. Random values in the text of a path or a body:
// `{1..1000}`                 an integer
// `{1..1000!}`                an integer that is repeated only after all others were drawn
// `{0001..1000}`              an integer with leading zeros, at least as long as the first one
// `{0..9980/20}`              an integer in steps of 20 from the first one
// `{2016-07-01..2025-11-01}`  an instant between the two midnights, to the second
// `{60d..61d}`                an instant 60 to 61 days after the previous instant of the text, to the second
// `{Approved|Declined}`       one of these words

const INTEGER = String.raw`(\d+)\.\.(\d+)(?:\/(\d+)|(!))?`
const INSTANT = String.raw`(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)`
const LATER = String.raw`(\d+)d\.\.(\d+)d`
const WORDS = String.raw`([\p{L}\d_]+(?:\|[\p{L}\d_]+)+)`
const DRAWN = new RegExp(`\\{(?:${INTEGER}|${INSTANT}|${LATER}|${WORDS})\\}`, 'gu')
const DAY_SECONDS = 86_400
const CLIENTS_MAX = 1_000
/** Distance of two successive integers, as a fraction of their range. The golden ratio spreads the integers evenly. */
const STEP_SHARE = 0.618

/**
 * Returns a function that draws the next `count` requests for autocannon, each with its expected status. The same seed gives the
 * same requests. `client`: number of this client, from 0. `clients`: number of all clients with this seed.
 */
export function requestSource(operations, seed, client = 0, clients = 1) {
  const random = randomFrom(seed * CLIENTS_MAX + client)
  const once = integersOnce(seed, client, clients)
  const draw = (range) => (range.isOnce ? once(range) : range.low + Math.floor(random() * (range.high - range.low + 1)))
  const next = () => drawRequest(operations[Math.floor(random() * operations.length)], draw)
  return (count) => Array.from({ length: count }, next)
}

/** Returns a function that draws integers from a range. All clients together draw each integer once before one is repeated. */
function integersOnce(seed, client, clients) {
  const start = randomFrom(seed)()
  const drawn = new Map()
  return ({ low, high }) => {
    const key = `${low} ${high}`
    const number = drawn.get(key) ?? client
    drawn.set(key, number + clients)
    const count = high - low + 1
    return low + ((Math.floor(start * count) + (number % count) * coprimeStep(count)) % count)
  }
}

function coprimeStep(count) {
  let step = Math.max(1, Math.round(STEP_SHARE * count))
  while (greatestDivisor(step, count) > 1) step++
  return step
}

function greatestDivisor(one, other) {
  return other === 0 ? one : greatestDivisor(other, one % other)
}

/** True if the requests of an operation differ. */
export function isRandom({ path, body = '', key = '' }) {
  return rangesOf(path + body + key).length > 0
}

/** Returns the path of the link `next` in a Link header; null if there is no such link. */
export function nextPathOf(link) {
  const [, address] = /<([^>]*)>; rel="next"/.exec(link ?? '') ?? []
  return address === undefined ? null : address.replace(/^\w+:\/\/[^/]*/, '')
}

/** Returns the random values of a text, in order. */
export function rangesOf(text) {
  return [...text.matchAll(DRAWN)].map((match) => rangeOf(match))
}

/** Fills in the random values of a text: `draw(range)` returns a number from `low` to `high` of the range. */
export function fillDraws(text, draw) {
  let seconds = 0
  return text.replace(DRAWN, (...match) => {
    const range = rangeOf(match)
    const drawn = draw(range)
    if (range.kind === 'word') return range.words[drawn]
    if (range.kind === 'integer') return String(range.first + range.step * drawn).padStart(range.digits, '0')
    seconds = range.kind === 'instant' ? drawn : seconds + drawn
    return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
  })
}

function rangeOf([, low, high, step, once, day, lastDay, days, daysMax, text]) {
  if (text !== undefined) {
    const words = text.split('|')
    return { kind: 'word', words, low: 0, high: words.length - 1 }
  }
  if (day !== undefined) return { kind: 'instant', low: secondsOf(day), high: secondsOf(lastDay) }
  if (days !== undefined) return { kind: 'later', low: days * DAY_SECONDS, high: daysMax * DAY_SECONDS }
  const digits = low.startsWith('0') ? low.length : 1
  if (step === undefined)
    return { kind: 'integer', digits, low: Number(low), high: Number(high), first: 0, step: 1, isOnce: once !== undefined }
  return { kind: 'integer', digits, low: 0, high: Math.floor((high - low) / step), first: Number(low), step: Number(step) }
}

function secondsOf(day) {
  return Date.parse(`${day}T00:00:00Z`) / 1_000
}

/** Returns the header Authorization. `tokens`: if given, `key` is the number of a token, from 1. */
export function authorizationOf(key, tokens) {
  return tokens === undefined ? `ApiKey ${key}` : `Bearer ${tokens[Number(key) - 1]}`
}

function drawRequest({ method, path, body, status, kind, nextKind, key, tokens }, draw) {
  const request = { method, path: fillDraws(path, draw), headers: {}, status, kind, nextKind }
  if (body !== undefined) {
    request.body = fillDraws(body, draw)
    request.headers['Content-Type'] = 'application/json'
  }
  if (key !== undefined) request.headers.Authorization = authorizationOf(fillDraws(key, draw), tokens)
  return request
}

/** Returns a generator of numbers from 0 up to, not including, 1 (mulberry32). */
function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
