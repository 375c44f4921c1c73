// Colours of values in tables, panels, forms and charts. A state has the colour of its meaning; any other value gets a colour of
// its own, and keeps it.
import type { Property } from './resources.ts'

/** Meaning of a state for the row that has it. */
type Tone = 'waits' | 'good' | 'bad' | 'ended'

/** States by meaning; capitals do not matter. */
const STATES: Readonly<Record<Tone, string>> = {
  waits: 'Requested Pending Submitted Waiting Open New Planned Draft Joining',
  good: 'Approved Active Enabled Accepted Confirmed Current Completed Done Paid Granted',
  bad: 'Declined Rejected Terminated Refused Denied Suspended Blocked Failed Overdue',
  ended: 'Cancelled Canceled Inactive Disabled Withdrawn Archived Closed Expired Leaving Left',
}
const toneByState = new Map(
  Object.entries(STATES).flatMap(([tone, states]) => states.split(' ').map((state) => [state.toLowerCase(), tone as Tone])),
)
const toneOf = (value: string) => toneByState.get(value.toLowerCase()) ?? ''

/** Colours of `explore.css` for values that are no states. */
const HUES = ['s0', 's1', 's2', 's3', 's4']
const TONES: readonly string[] = Object.keys(STATES)
/** Maximum examples of a text that has few values. For names and codes, the document has more examples. */
const EXAMPLES_MAX = 12

/**
 * True if a property has few values: the document lists them, or has several examples. A status or state needs only one example.
 */
export function hasPills({ kind, name, values, references, copiedThrough }: Property): boolean {
  if (references !== null || copiedThrough !== null || values.length === 0) return false
  if (kind === 'oneOf' || /(^|\.)(Status|State)$/.test(name)) return true
  return kind === 'text' && values.length > 1 && values.length <= EXAMPLES_MAX
}

/** A value in the colour of its meaning, or with a dot of its own colour. */
export function Pill({ property, value }: { readonly property: Pick<Property, 'name'>; readonly value: string }) {
  const tone = toneOf(value)
  return (
    <bdi class={`pill ${tone}`} title={value}>
      {tone === '' && <i style={{ background: `var(--${hueOf(property.name, value)})` }} />}
      {value}
    </bdi>
  )
}

/** Colours that were given to values, by the name of the property. */
const taken = new Map<string, Map<string, string>>()

/**
 * Returns the colour of a value, as a variable of `explore.css`. A value keeps its colour until the page is left. The values of a
 * property have different colours until all colours are used.
 */
function hueOf(property: string, value: string): string {
  const hues = taken.get(property) ?? new Map<string, string>()
  taken.set(property, hues)
  const used = [...hues.values()]
  const wanted = wantedHues(value)
  const hue = hues.get(value) ?? wanted.find((one) => !used.includes(one)) ?? (wanted[0] as string)
  hues.set(value, hue)
  return hue
}

/** Returns a colour for each of the values that one chart shows. Two values have the same colour only if all colours are used. */
export function huesOf(property: string, values: readonly string[]): string[] {
  const shown: string[] = []
  for (const value of values) {
    const own = hueOf(property, value)
    shown.push(shown.includes(own) ? (wantedHues(value).find((one) => !shown.includes(one)) ?? own) : own)
  }
  return shown
}

/**
 * Returns all colours in the order in which they suit a value. For a state, the colour of its meaning comes first. The letters of
 * the value determine with which of `HUES` the other colours begin.
 */
function wantedHues(value: string): string[] {
  let hash = 0
  for (const letter of value.toLowerCase()) hash = (hash * 31 + (letter.codePointAt(0) as number)) % 1_000_003
  const start = hash % HUES.length
  const others = [...HUES.slice(start), ...HUES.slice(0, start), ...TONES]
  const tone = toneOf(value)
  return tone === '' ? others : [tone, ...others]
}
