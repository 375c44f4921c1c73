// The parameter `zone` of summaries: the time zone of their periods. D119, D120
import { ApiError } from '../errors.ts'
import { excerpt } from '../model/excerpt.ts'
import { nearestOf } from '../model/nearest.ts'
import type { GroupKey } from '../model/summary.ts'
import { Zone, zoneNames } from '../model/zone.ts'
import { listed } from './names.ts'

/** Beginning of messages about a text that is no zone. */
const FORM = 'zone is the IANA name of a time zone, such as Europe/Amsterdam'
const OFFSET = /^(?:UTC|GMT)?[ +-]?\d/i

/** Parses the name of a zone, in upper or lower case. @throws ApiError InvalidZone */
export function parseZone(text: string): Zone {
  const zone = Zone.named(text)
  if (zone !== null) return zone
  if (text === '') throw invalid(`${FORM}.`)
  const hint = OFFSET.test(text) ? '; an offset does not say when clocks change' : ''
  throw invalid(`${FORM}, not "${excerpt(text)}"${hint}.${suggestZone(text)}`)
}

/**
 * Rejects a zone that would have no effect. `periods`: names of group keys for which a zone has an effect, for the message.
 * @throws ApiError InvalidZone
 */
export function rejectUnusedZone(keys: readonly GroupKey[], periods: readonly string[]): void {
  if (keys.some(isZoned)) return
  const dates = keys.some(({ period }) => period !== null) ? ', and dates without a time are the same in every zone' : ''
  const remedy = periods.length === 0 ? 'leave it out' : `group by ${listed(periods, 'or')}, or leave zone out`
  throw invalid(`zone is that of periods of date-times, which these groups have none of${dates}: ${remedy}.`)
}

/** Returns whether the groups of a key depend on a zone. */
export function isZoned({ property, period }: Pick<GroupKey, 'property' | 'period'>): boolean {
  return period !== null && property.kind.temporal === 'instant'
}

/**
 * Returns a hint with a zone that has a similar name, or that is named after a city with a similar name, such as `Amsterdam` or
 * `New York`; '' if there is no such zone.
 */
function suggestZone(text: string): string {
  const names = zoneNames()
  const cityOf = (name: string) => name.slice(name.lastIndexOf('/') + 1)
  const cities = names.map(cityOf)
  const written = text.replaceAll(' ', '_')
  const near = nearestOf(cityOf(written), cities)
  const nearest = nearestOf(written, names) ?? (near === null ? null : names[cities.indexOf(near)])
  return nearest ? ` Did you mean ${nearest}?` : ''
}

function invalid(message: string): ApiError {
  return new ApiError('InvalidZone', message, { target: 'zone' })
}
