// JSON of rows: writers for an entity, or for the properties that a request has chosen.
import { type Entity, type Group, isGroup, keyOf, type Projection, type Property } from '../model/entity.ts'
import type { Kind } from '../model/kinds.ts'
import { memoize } from '../model/memoize.ts'
import type { Row } from '../model/sql.ts'

export type Write = (row: Row) => string
type Members = readonly (Property | Group)[]
/** Parts of a kind that writers need; without `readText` its values are numbers, as PostgreSQL prints them. */
export type PrintableKind = Pick<Kind, 'name' | 'readText'>

const entityWriter = memoize((entity: Entity) => choiceWriter(entity, entity.properties))

/** Returns a writer of rows, or of what is chosen of them; decimals as PostgreSQL prints them. */
export function rowWriter(entity: Entity, choice: Projection | null = null): Write {
  return choice === null ? entityWriter(entity) : choiceWriter(choice, entity.properties)
}

/** JSON of a written row: all of it, or for a key that may not read, its id alone. D34 */
export function writeWritten(entity: Entity, row: Row, mayRead: boolean): string {
  return mayRead ? rowWriter(entity)(row) : `{"id":${row[0]}}`
}

/** Writes what is chosen of rows with these columns as JSON text: `{"a":1,"b":{"c":2}}`. */
export function choiceWriter({ members }: { readonly members: Members }, columns: readonly Property[]): Write {
  return objectWriter(
    members.map((member) => [
      keyOf(member),
      isGroup(member) ? groupWriter(member, columns) : valueWriter(member.kind, columns.indexOf(member)),
    ]),
  )
}

/** A value that PostgreSQL has printed, as JSON. */
export function jsonOf({ readText }: PrintableKind, text: string | null): string {
  // JSON has no NaN, which only programs that write SQL can have stored.
  if (text === null || (readText === null && text === 'NaN')) return 'null'
  if (readText === null) return text
  const value = readText(text)
  return typeof value === 'string' && PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)
}

/** Texts that need no escapes: most do not, and are found to be so in a third of the time of JSON.stringify. */
const PLAIN = /^[ !#-[\]-~]*$/

/** Writes objects with these keys, in this order. */
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

/** An object without a value in any part is null. */
function groupWriter(group: Group, columns: readonly Property[]): Write {
  const parts = group.whole.map((property) => columns.indexOf(property))
  const write = choiceWriter({ members: group.properties }, columns)
  return (row) => {
    // Of a part that the row lacks it is not known that it has no value.
    for (const index of parts) if (index < 0 || row[index] !== null) return write(row)
    return 'null'
  }
}
