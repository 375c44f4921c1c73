// Random values in the text of a path or a body, as every program of the bench reads them:
// `{1..1000}`                 an integer
// `{0..9980/20}`              a multiple of 20, counted from the first
// `{2016-07-01..2025-11-01}`  an instant between the two midnights, to the second
// `{60d..61d}`                an instant so long after the one before it in the same text, to the second

const INTEGER = String.raw`(\d+)\.\.(\d+)(?:\/(\d+))?`
const INSTANT = String.raw`(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)`
const LATER = String.raw`(\d+)d\.\.(\d+)d`
const DRAWN = new RegExp(`\\{(?:${INTEGER}|${INSTANT}|${LATER})\\}`, 'g')
const DAY_SECONDS = 86_400

/** The random values of a text, in their order. */
export function rangesOf(text) {
  return [...text.matchAll(DRAWN)].map((match) => rangeOf(match))
}

/** The text with its random values: `draw(range, place)` gives the number of each, from `low` to `high` of its range. */
export function fillDraws(text, draw) {
  let seconds = 0
  let place = 0
  return text.replace(DRAWN, (...match) => {
    const range = rangeOf(match)
    const drawn = draw(range, place++)
    if (range.kind === 'integer') return String(range.first + range.step * drawn)
    seconds = range.kind === 'instant' ? drawn : seconds + drawn
    return instantText(seconds)
  })
}

/** `2026-01-05T08:00:00Z` */
function instantText(seconds) {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}

/** Its number is `low` to `high`; of an integer the value is `first + step * number`, of others it is in seconds. */
function rangeOf([, low, high, step, day, lastDay, days, daysMax]) {
  if (day !== undefined) return { kind: 'instant', low: secondsOf(day), high: secondsOf(lastDay) }
  if (days !== undefined) return { kind: 'later', low: days * DAY_SECONDS, high: daysMax * DAY_SECONDS }
  if (step === undefined) return { kind: 'integer', low: Number(low), high: Number(high), first: 0, step: 1 }
  return { kind: 'integer', low: 0, high: Math.floor((high - low) / step), first: Number(low), step: Number(step) }
}

function secondsOf(day) {
  return Date.parse(`${day}T00:00:00Z`) / 1_000
}
