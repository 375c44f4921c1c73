// Reports faults of a file's rows: equal faults once, with their number and the first lines and values. Runs in browsers, too.
import { KIND_TRAITS, type NotatedName } from '../model/kindTraits.ts'
import { proposalText, proposeLanguages } from './notation.ts'
import { isPlaceholder, placeholderHint } from './placeholders.ts'

/** A fault of one row. */
export interface RowFault {
  /** Position of the row in the file: `line 3`, `row 3`. */
  readonly at: string
  /** Sentence that says what is wrong. Faults with equal sentences are reported as one. */
  readonly message: string
  /** Value of the cell as the file has it; undefined if the fault is not about a value. */
  readonly value?: string | undefined
  /** Kind of the property if its notation depends on the language, so that the message can propose a language. */
  readonly kind?: NotatedName | undefined
}

/** A fault with all rows that have it. */
export interface FaultGroup {
  readonly message: string
  readonly kind: NotatedName | undefined
  readonly rows: string[]
  readonly values: Set<string>
}

const LINES_SHOWN = 3
const VALUES_SHOWN = 3
/** Maximum number of values that a group keeps. Messages propose only languages in which all of these values are valid. */
const VALUES_MAX = 1_000

/** Joins equal faults, in the order of their first rows. */
export function groupFaults(faults: readonly RowFault[]): FaultGroup[] {
  const groups = new Map<string, FaultGroup>()
  for (const { at, message, value, kind } of faults) {
    const group = groups.get(message) ?? { message, kind, rows: [], values: new Set() }
    groups.set(message, group)
    if (group.rows.at(-1) !== at) group.rows.push(at)
    if (value !== undefined && group.values.size < VALUES_MAX) group.values.add(value)
  }
  return [...groups.values()]
}

/** Returns a sentence such as `1998 lines, the first 2, 3 and 4: Started must be ... They are "01.09.2026", ...`. */
export function faultText(group: FaultGroup): string {
  return `${rowsInWords(group.rows)}: ${group.message}${valuesText(group)}`
}

/** Returns words for the rows of a fault: `line 2`, `lines 2 and 3`, `1998 lines, the first 2, 3 and 4`. */
export function rowsInWords(rows: readonly string[]): string {
  const [first = ''] = rows
  if (rows.length === 1) return first
  const [unit = ''] = first.split(' ')
  const numbers = rows.slice(0, LINES_SHOWN).map((at) => at.slice(unit.length + 1))
  const listed = `${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`
  return rows.length <= LINES_SHOWN ? `${unit}s ${listed}` : `${rows.length} ${unit}s, the first ${listed}`
}

function valuesText({ message, kind, rows, values }: FaultGroup): string {
  const all = [...values]
  // The message may contain the value already, for example if it comes from the server.
  const isSaid = all.length === 1 && message.includes(all[0] as string)
  if (all.length === 0 || isSaid) return ''
  const listed = faultValues(all)
  const hint = kind === undefined ? [] : hintsFor(kind, all)
  if (hint.length === 0 && isTime(kind) && all.some((value) => SHORT_YEAR.test(value))) hint.push('a year needs four digits')
  const verb = rows.length === 1 ? 'It is' : all.length === 1 ? 'All are' : 'They are'
  return ` ${verb} ${listed}${hint.length === 0 ? '' : `; ${hint.join(', ')}`}.`
}

/** Returns words for options with which the values can be read: options for a language, and for words that stand for no value. */
function hintsFor(kind: NotatedName, all: readonly string[]): string[] {
  const written = all.filter((value) => !isPlaceholder(value))
  const languages = proposeLanguages(kind, written).map((proposal) => proposalText(proposal, written[0] ?? ''))
  const empty = placeholderHint(all)
  return empty === null ? languages : [...languages, empty]
}

/** Returns the first wrong values as a list: `"a", "b", "c" and others`. */
export function faultValues(all: readonly string[]): string {
  const shown = all.slice(0, VALUES_SHOWN).map((value) => JSON.stringify(excerptOf(value)))
  return all.length > VALUES_SHOWN ? `${shown.join(', ')} and others` : shown.join(', ')
}

/** Matches a day such as `01.09.26`, whose century would be a guess. */
const SHORT_YEAR = /^\d{1,2}([./-]) ?\d{1,2}\1 ?\d\d(?!\d)/

function isTime(kind: NotatedName | undefined): boolean {
  return kind !== undefined && KIND_TRAITS[kind].temporal !== null
}

const EXCERPT_LENGTH = 60

function excerptOf(value: string): string {
  return value.length > EXCERPT_LENGTH ? `${value.slice(0, EXCERPT_LENGTH)}…` : value
}
