// Compares the rows of a dropped file with the stored rows: which are new, which differ, and which nearly match.
import { rowsInWords } from '../../spreadsheets/faults.ts'
import { nearKey } from '../../spreadsheets/nearValues.ts'
import { UniqueColumns } from '../../spreadsheets/uniqueColumns.ts'
import type { Change } from './importJournal.ts'
import type { ImportFault, ImportRow, ImportValue } from './importRows.ts'
import { comparable, type ImportProperty } from './importTarget.ts'

/** A stored row, with the values of the properties that the file has. */
export interface StoredRow {
  readonly id: string
  /** Values by the names of properties. A number that a double would round is a text. */
  readonly values: ReadonlyMap<string, string | number | boolean | null>
}

/** A row of the file that differs from its stored row in some values. */
export interface ChangedRow {
  readonly at: string
  readonly id: string
  /** Value by which the stored row was found. */
  readonly value: string
  readonly changes: readonly Change[]
}

/** A new row of the file whose `value` nearly equals `stored`, the value of a stored row. */
export interface NearRow {
  readonly at: string
  readonly value: string
  readonly id: string
  readonly stored: string
}

/** A row of the file whose values all equal the values of a stored row. */
export interface TwinRow {
  readonly at: string
  readonly id: string
}

interface Matched {
  readonly created: readonly ImportRow[]
  readonly changed: readonly ChangedRow[]
  readonly equal: number
  readonly near: readonly NearRow[]
  readonly faults: readonly ImportFault[]
}

/**
 * Minimum share of a column's names that stored rows must have. With a smaller share, equal names may be names of different
 * people, so rows are not found by name.
 */
const NAMES_SHARE = 0.5
/**
 * Minimum number of names to which `NAMES_SHARE` applies. Fewer names must all be stored, because a few names can match by
 * chance.
 */
const FEW_NAMES = 5

/** A property whose values can find the stored row for a row of the file. */
interface Candidate {
  readonly property: ImportProperty
  /** True if all values look like numbers or e-mail addresses; false for names, which two people can have. */
  readonly isIdentifier: boolean
}

/** Returns the properties by which stored rows can be found, the best first. */
export function matchCandidates(rows: readonly ImportRow[], properties: readonly ImportProperty[]): readonly Candidate[] {
  const unique = new UniqueColumns<ImportProperty>({ properties })
  for (const { at, values } of rows) unique.add(at, new Map(values.map(({ property, text }) => [property, text])))
  const id = rows[0]?.values.find(({ property }) => property.name === 'Id')?.property
  const found = unique.find().toSorted((one, other) => Number(other.isIdentifier) - Number(one.isIdentifier))
  return [...(id ? [{ property: id, isIdentifier: true }] : []), ...found]
}

/** Matches names of properties whose values no two rows share, even in different companies. */
const OWN_VALUES = /number|mail|code/i
/** Maximum share of repeated values that counts as a mistake in the file. A larger share counts as intended. */
const REPEATED_SHARE = 0.05

/**
 * Finds properties such as an e-mail address: each row should have a different value, but the file repeats a few values. Returns
 * a sentence for each of these properties. Stored rows cannot be found by them.
 */
export function repeatedValues(rows: readonly ImportRow[], properties: readonly ImportProperty[]): readonly string[] {
  const own = properties.filter(({ name, writable, reference }) => writable && reference === null && OWN_VALUES.test(name))
  return own.flatMap((property) => {
    const named = rows.flatMap((row) => {
      const text = textOf(row, property)
      return text === null ? [] : [{ text, at: row.at }]
    })
    const byText = Map.groupBy(named, ({ text }) => text)
    const [first, ...others] = [...byText].filter(([, same]) => same.length > 1)
    if (first === undefined || others.length > byText.size * REPEATED_SHARE) return []
    const lines = rowsInWords(first[1].map(({ at }) => at))
    const more = others.length === 0 ? '' : ', and others are in several, too'
    return `${lines} have the same ${property.label}, “${first[0]}”${more}. Rows that are there already cannot be found by it: correct the file first.`
  })
}

/**
 * Returns the property by which stored rows are found for the rows of the file. Returns null if there is none: all rows are then
 * new.
 */
export function proposeMatch(
  rows: readonly ImportRow[],
  candidates: readonly Candidate[],
  stored: readonly StoredRow[],
): ImportProperty | null {
  const hasIdentifier = candidates.some(({ isIdentifier }) => isIdentifier)
  for (const { property, isIdentifier } of candidates) {
    // The file has identifiers, such as numbers, but none of them finds a stored row. So a stored row with an equal name is a
    // different person.
    if (!isIdentifier && hasIdentifier) return null
    const keys = new Map<string, number>()
    for (const { values } of stored) {
      const key = keyOf(property, values.get(property.name))
      if (key !== null) keys.set(key, (keys.get(key) ?? 0) + 1)
    }
    const texts = rows.flatMap((row) => textOf(row, property) ?? [])
    const found = texts.filter((text) => keys.has(nearKey(text)))
    // A value that several stored rows have does not say which of them is meant.
    if (found.some((text) => (keys.get(nearKey(text)) ?? 0) > 1)) continue
    const foundMin = isIdentifier ? 1 : texts.length < FEW_NAMES ? texts.length : texts.length * NAMES_SHARE
    if (found.length > 0 && found.length >= foundMin) return property
  }
  return null
}

const textOf = ({ values }: ImportRow, property: ImportProperty) =>
  values.find((value) => value.property.name === property.name)?.text ?? null

function keyOf({ kind }: ImportProperty, value: unknown): string | null {
  const text = comparable(kind.name, value)
  return text === null ? null : nearKey(text)
}

/**
 * Divides the rows of the file into new, changed and equal ones. `matched`: property that finds stored rows; null: all rows are
 * new.
 */
export function matchRows(rows: readonly ImportRow[], matched: ImportProperty | null, stored: readonly StoredRow[]): Matched {
  if (matched === null) return { created: rows, changed: [], equal: 0, near: [], faults: [] }
  const byText = Map.groupBy(stored, ({ values }) => comparable(matched.kind.name, values.get(matched.name)) ?? '')
  const byKey = new Map(stored.map((row) => [keyOf(matched, row.values.get(matched.name)) ?? '', row]))
  const lineByText = new Map<string, string>()
  const result = {
    created: [] as ImportRow[],
    changed: [] as ChangedRow[],
    equal: 0,
    near: [] as NearRow[],
    faults: [] as ImportFault[],
  }
  for (const row of rows) {
    const { at } = row
    const text = textOf(row, matched)
    const fault = (message: string) => void result.faults.push({ at, name: matched.name, message })
    const before = lineByText.get(text ?? '')
    const [known, other] = text === null ? [] : (byText.get(text) ?? [])
    if (text === null && matched.name === 'Id') result.created.push(row)
    else if (text === null) fault(`${matched.label} is empty, so that the row cannot be found.`)
    else if (before !== undefined) fault(`${matched.label} “${text}” is also in ${before}.`)
    else if (other) fault(`${matched.label} “${text}” is in several rows that are there already.`)
    else if (known) compare(row, known, text, result)
    else if (matched.name === 'Id') fault(`There is no row with the id ${text}, or you may not see it.`)
    else {
      const near = byKey.get(nearKey(text))
      if (near) result.near.push({ at, value: text, id: near.id, stored: String(near.values.get(matched.name)) })
      result.created.push(row)
    }
    if (text !== null) lineByText.set(text, at)
  }
  return result
}

/**
 * Returns the rows of the file that equal a stored row in all values. Each stored row is counted for one row of the file only.
 */
export function twinsOf(rows: readonly ImportRow[], stored: readonly StoredRow[]): readonly TwinRow[] {
  const [{ values: first } = { values: [] }] = rows
  const properties = first.map(({ property }) => property)
  const textsOf = ({ values }: StoredRow) => properties.map(({ kind, name }) => comparable(kind.name, values.get(name)))
  const free = Map.groupBy(stored, (row) => JSON.stringify(textsOf(row)))
  return rows.flatMap((row) => {
    const twin = free.get(JSON.stringify(properties.map((property) => textOf(row, property))))?.pop()
    return twin === undefined ? [] : [{ at: row.at, id: twin.id }]
  })
}

function compare(
  { at, values }: ImportRow,
  known: StoredRow,
  value: string,
  result: { changed: ChangedRow[]; equal: number; faults: ImportFault[] },
): void {
  const differing = values.filter((one) => one.property.writable && isOther(one, known))
  const fixed = differing.filter(({ property }) => !property.mayChange)
  for (const { property } of fixed)
    result.faults.push({
      at,
      name: property.name,
      message: `${property.label} differs, and you may not change it. Leave the column out, or correct the file.`,
    })
  if (differing.length === 0) result.equal++
  else if (fixed.length === 0)
    result.changed.push({
      at,
      id: known.id,
      value,
      changes: differing.map(({ property, json }) => ({
        name: property.name,
        label: property.label,
        before: jsonOf(property, known.values.get(property.name) ?? null),
        after: json,
      })),
    })
}

const isOther = ({ property, text }: ImportValue, { values }: StoredRow) =>
  comparable(property.kind.name, values.get(property.name)) !== text

/** Writes a value as JSON. A number with more digits than a double holds comes as text, and is written as a number. */
function jsonOf({ kind }: ImportProperty, value: string | number | boolean | null): string {
  const isNumber = kind.name === 'integer' || kind.name === 'decimal'
  return isNumber && typeof value === 'string' ? value : JSON.stringify(value)
}
