// Draws requests from operations. Random values in the text of a path or a body:
// `{1..1000}`                 an integer
// `{0..9980/20}`              a multiple of 20, counted from the first
// `{2016-07-01..2025-11-01}`  an instant between the two midnights, to the second
// `{60d..61d}`                an instant so long after the one before it in the same text, to the second

const INTEGER = String.raw`(\d+)\.\.(\d+)(?:\/(\d+))?`
const INSTANT = String.raw`(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)`
const LATER = String.raw`(\d+)d\.\.(\d+)d`
const DRAWN = new RegExp(`\\{(?:${INTEGER}|${INSTANT}|${LATER})\\}`, 'g')
const DAY_SECONDS = 86_400

/**
 * Returns a function that draws the next `count` requests for autocannon, each with its expected status. The same seed gives the
 * same requests.
 */
export function requestSource(operations, seed) {
  const random = randomFrom(seed)
  const next = () => drawRequest(operations[Math.floor(random() * operations.length)], random)
  return (count) => Array.from({ length: count }, next)
}

/** True if the requests of an operation differ. */
export function isRandom({ path, body = '' }) {
  return rangesOf(path + body).length > 0
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
    if (range.kind === 'integer') return String(range.first + range.step * drawn)
    seconds = range.kind === 'instant' ? drawn : seconds + drawn
    return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
  })
}

function rangeOf([, low, high, step, day, lastDay, days, daysMax]) {
  if (day !== undefined) return { kind: 'instant', low: secondsOf(day), high: secondsOf(lastDay) }
  if (days !== undefined) return { kind: 'later', low: days * DAY_SECONDS, high: daysMax * DAY_SECONDS }
  if (step === undefined) return { kind: 'integer', low: Number(low), high: Number(high), first: 0, step: 1 }
  return { kind: 'integer', low: 0, high: Math.floor((high - low) / step), first: Number(low), step: Number(step) }
}

function secondsOf(day) {
  return Date.parse(`${day}T00:00:00Z`) / 1_000
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
