// The time zone in which the reader sees date-times: UTC, or the zone of the computer.
import { keepText, readText } from './storage.ts'
import { Store } from './store.ts'

const NAME = 'roster.zone'
/**
 * Text that the browser stores if the reader chooses the computer's zone. The name of the zone is not stored: a reader who
 * travels sees times in the new zone.
 */
const OWN = 'own'

/** Time zone of the computer, such as `Europe/Amsterdam`. */
export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Name of the chosen zone. */
export const zoneStore = new Store(readText('localStorage', NAME) === OWN ? ownZone : 'UTC')

export function chooseZone(zone: string): void {
  keepText('localStorage', NAME, zone === ownZone ? OWN : 'UTC')
  zoneStore.set(zone)
}

/** Returns the short name of a zone, by default the chosen one, for titles of columns: `UTC`, `Amsterdam`. */
export const zoneLabel = (zone = zoneStore.value) => zone.replace(/^.*\//, '').replaceAll('_', ' ')
