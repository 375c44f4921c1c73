import type { ChosenGroup } from '../model/choice.ts'
import { type Entity, type Group, isGroup, type Property } from '../model/entity.ts'
import type { Kind } from '../model/kinds.ts'
import type { Row } from '../model/sql.ts'

export type Write = (row: Row) => string
type Members = readonly (Property | Group)[]
/** Index of each property's value in a row. */
type ColumnIndexes = ReadonlyMap<Property, number>

const writers = new WeakMap<Entity, Write>()
const writersOfJson = new WeakMap<Entity, Write>()

/** The entity as JSON text; decimals as PostgreSQL writes them. `isJson`: the row's values are JSON already. */
export function writeEntity(entity: Entity, row: Row, isJson = false): string {
  const known = isJson ? writersOfJson : writers
  let write = known.get(entity)
  if (!write) known.set(entity, (write = choiceWriter(entity, entity.properties, isJson)))
  return write(row)
}

/** JSON of a written row: all of it, or for a key that may not read, its id alone. D34 */
export function writeWritten(entity: Entity, row: Row, mayRead: boolean): string {
  return mayRead ? writeEntity(entity, row) : `{"id":${row[0]}}`
}

/** Writes what is chosen of rows with these columns as JSON text. `isJson`: their values are JSON already. */
export function choiceWriter({ members }: { readonly members: Members }, columns: readonly Property[], isJson = false): Write {
  const indexes = new Map(columns.map((property, index) => [property, index]))
  return objectWriter(members, indexes, isJson)
}

/** A value that PostgreSQL has printed, as JSON; null stays null. */
export function jsonOf({ readText }: Kind, text: string | null): string | null {
  return text === null || readText === null ? text : JSON.stringify(readText(text))
}

/** `{"a":1,"b":{"c":2}}` */
function objectWriter(members: Members, indexes: ColumnIndexes, isJson: boolean): Write {
  const parts = members.map((member, index) => ({
    prefix: `${index === 0 ? '{' : ','}${JSON.stringify(keyOf(member))}:`,
    write: memberWriter(member, indexes, isJson),
  }))
  return (row) => {
    let json = ''
    for (const { prefix, write } of parts) json += prefix + write(row)
    return `${json}}`
  }
}

function memberWriter(member: Property | Group, indexes: ColumnIndexes, isJson: boolean): Write {
  if (isGroup(member)) return groupWriter(member, indexes, isJson)
  const index = indexes.get(member) as number
  const { kind } = member
  return isJson ? (row) => row[index] ?? 'null' : (row) => jsonOf(kind, row[index] ?? null) ?? 'null'
}

/** An object without a value in any part is null. */
function groupWriter(group: Group, indexes: ColumnIndexes, isJson: boolean): Write {
  const { whole = group.properties }: Partial<ChosenGroup> = group
  const parts = whole.map((property) => indexes.get(property) as number)
  const write = objectWriter(group.properties, indexes, isJson)
  return (row) => {
    for (const index of parts) if (row[index] !== null) return write(row)
    return 'null'
  }
}

function keyOf(member: Property | Group): string {
  return isGroup(member) ? member.key : (member.path.at(-1) as string)
}
