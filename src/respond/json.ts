// JSON of rows: writers for all properties of a view, or for chosen properties.
import { type Group, isGroup, keyOf, type Projection, type Property } from '../model/entity.ts'
import type { Kind } from '../model/kinds.ts'
import type { Row } from '../model/sql.ts'
import type { View } from '../model/view.ts'

export type Write = (row: Row) => string
type Members = readonly (Property | Group)[]
/** Fields of a kind that the writers of JSON and CSV need. If `readText` is null, the text from PostgreSQL is JSON already. */
export type PrintableKind = Pick<Kind, 'readText' | 'isEscaped' | 'temporal'>

/** Writers of whole views, by the members of the view. */
const writers = new WeakMap<Members, Write>()

/**
 * Returns a writer of all members of a view, or of chosen properties. It takes rows with the columns of the whole entity,
 * followed by the columns of chosen related properties.
 */
export function rowWriter({ members, whole }: View, choice: Projection | null = null): Write {
  if (choice !== null) return choiceWriter(choice, [...whole.properties, ...choice.related])
  return writers.getOrInsertComputed(members, () => choiceWriter({ members }, whole.properties))
}

/** Writes the JSON of a row after a write. `view`: null if the key may not read the row, and gets only its id. D34 */
export function writeWritten(view: View | null, row: Row): string {
  return view === null ? `{"id":${row[0]}}` : rowWriter(view)(row)
}

/**
 * Returns a writer of objects with these members, such as `{"a":1,"b":{"c":2}}`. `columns`: the property of each value of a row,
 * in the order of the values.
 */
export function choiceWriter({ members }: { readonly members: Members }, columns: readonly Property[]): Write {
  return objectWriter(
    members.map((member) => [
      keyOf(member),
      isGroup(member) ? groupWriter(member, columns) : valueWriter(member.kind, columns.indexOf(member)),
    ]),
  )
}

/** Returns the JSON of a value, which PostgreSQL has printed as text. */
export function jsonOf({ readText }: PrintableKind, text: string | null): string {
  // JSON has no NaN. A NaN was not stored through the API, but by SQL.
  if (text === null || (readText === null && text === 'NaN')) return 'null'
  if (readText === null) return text
  const value = readText(text)
  return typeof value === 'string' && PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)
}

/** Matches texts that need no escapes. Quoting such a text takes a third of the time of JSON.stringify. */
const PLAIN = /^[ !#-[\]-~]*$/

/** Returns a writer of objects with these keys, in this order. */
export function objectWriter(members: readonly (readonly [key: string, write: Write])[]): Write {
  const parts = members.map(([key, write], index) => ({ prefix: `${index === 0 ? '{' : ','}${JSON.stringify(key)}:`, write }))
  return (row) => {
    let json = ''
    for (const { prefix, write } of parts) json = `${json}${prefix}${write(row)}`
    return `${json}}`
  }
}

function valueWriter(kind: Kind, index: number): Write {
  return (row) => jsonOf(kind, row[index] ?? null)
}

/** Returns a writer of an object. It writes `null` if none of the object's parts has a value. */
function groupWriter(group: Group, columns: readonly Property[]): Write {
  const parts = group.allProperties.map((property) => columns.indexOf(property))
  const write = choiceWriter({ members: group.properties }, columns)
  return (row) => {
    // A part whose column is missing may have a value, so the object is written.
    for (const index of parts) if (index < 0 || row[index] !== null) return write(row)
    return 'null'
  }
}
