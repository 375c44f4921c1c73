import { isPlainInstant } from './plainInstant.ts'

const NEARLY = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d))?(?:\.\d+)?)? ?(Z|[+-]\d\d:?\d\d)?$/i
/** Beyond that length it is no slip, and the message would repeat all of it. */
const LENGTH_MAX = 40
const PLUS_LOST = /T[\d:.]+ \d\d:\d\d$/i

/**
 * `; for 2024-01-31 write 2024-01-31T00:00:00Z`: what a text lacks of a date-time, where its date exists; '' where it is
 * another kind of text.
 */
export function instantHint(text: string): string {
  if (text.length > LENGTH_MAX) return ''
  if (PLUS_LOST.test(text)) return '; a + in a query string must be written %2B'
  const [, date, minute = '00:00', second = '00', zone = 'Z'] = NEARLY.exec(text) ?? []
  if (date === undefined || !isPlainInstant(`${date}T${minute}:${second}Z`)) return ''
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase()
  return `; for ${text.trimEnd()} write ${date}T${minute}:${second}${offset}`
}
