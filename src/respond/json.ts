import type { Choice, ChosenGroup } from '../model/choice.ts'
import { type Entity, type Group, isGroup, type Property } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'

type Read = (row: Row) => unknown
export type Write = (row: Row) => string
type Members = readonly (Property | Group)[]
type ColumnIndexes = ReadonlyMap<Property, number>

const writers = new WeakMap<Entity, Write>()

/** The entity as JSON text; decimals as PostgreSQL writes them. */
export function writeEntity(entity: Entity, row: Row): string {
  let write = writers.get(entity)
  if (!write) writers.set(entity, (write = compileWriter(entity)))
  return write(row)
}

/** JSON of a written row: all of it, or for a key that may not read, its id alone. D34 */
export function writeWritten(entity: Entity, row: Row, mayRead: boolean): string {
  return mayRead ? writeEntity(entity, row) : `{"id":${row[0]}}`
}

/** Writes what is chosen of rows with these columns as JSON text. */
export function choiceWriter({ members }: Choice, columns: readonly Property[]): Write {
  return compileWriter({ members, properties: columns })
}

/** Compiles a writer: the members before the first decimal are printed as one object, the rest is appended as text. */
function compileWriter({ members, properties }: { members: Members; properties: readonly Property[] }): Write {
  const indexes = new Map(properties.map((property, index) => [property, index]))
  const firstDecimal = members.findIndex(hasDecimal)
  const read = objectReader(firstDecimal === -1 ? members : members.slice(0, firstDecimal), indexes)
  if (firstDecimal === -1) return (row) => JSON.stringify(read(row))
  const writeRest = membersWriter(members.slice(firstDecimal), indexes)
  const separator = firstDecimal === 0 ? '' : ','
  return (row) => `${JSON.stringify(read(row)).slice(0, -1)}${separator}${writeRest(row)}}`
}

function hasDecimal(member: Property | Group): boolean {
  return isGroup(member) ? member.properties.some(hasDecimal) : member.kind.readText === null
}

/**
 * Always the same object with other values, which is what JSON.stringify prints fastest. Reading and printing a row are
 * one synchronous step, so no two rows are ever in it. No member may be a decimal.
 */
function objectReader(members: Members, indexes: ColumnIndexes): Read {
  const object: Record<string, unknown> = Object.fromEntries(members.map((member) => [keyOf(member), null]))
  const groups = members.filter(isGroup).map((group) => ({
    key: group.key,
    read: unlessEmpty(group, indexes, null, objectReader(group.properties, indexes)),
  }))
  const values = members.flatMap((member) => {
    if (isGroup(member)) return []
    return [
      { key: keyOf(member), index: indexes.get(member) as number, readText: member.kind.readText as (text: string) => unknown },
    ]
  })
  return (row) => {
    for (const { key, index, readText } of values) {
      const text = row[index]
      object[key] = text === null || text === undefined ? null : readText(text)
    }
    for (const { key, read } of groups) object[key] = read(row)
    return object
  }
}

/** `"a":1,"b":2` */
function membersWriter(members: Members, indexes: ColumnIndexes): Write {
  const parts = members.map((member, index) => ({
    prefix: `${index === 0 ? '' : ','}${JSON.stringify(keyOf(member))}:`,
    write: memberWriter(member, indexes),
  }))
  return (row) => {
    let json = ''
    for (const { prefix, write } of parts) json += prefix + write(row)
    return json
  }
}

function memberWriter(member: Property | Group, indexes: ColumnIndexes): Write {
  if (isGroup(member)) {
    const write = membersWriter(member.properties, indexes)
    return unlessEmpty(member, indexes, 'null', (row) => `{${write(row)}}`)
  }
  const index = indexes.get(member) as number
  const { readText } = member.kind
  return (row) => {
    const text = row[index]
    if (text === null || text === undefined) return 'null'
    return readText ? JSON.stringify(readText(text)) : text
  }
}

/** An object without a value in any part is null. */
function unlessEmpty<Result>(
  group: Group,
  indexes: ColumnIndexes,
  empty: Result,
  make: (row: Row) => Result,
): (row: Row) => Result {
  const parts = wholeOf(group).map((property) => indexes.get(property) as number)
  return (row) => {
    for (const index of parts) if (row[index] !== null) return make(row)
    return empty
  }
}

/** The name of a member in JSON. */
export function keyOf(member: Property | Group): string {
  return isGroup(member) ? member.key : (member.path.at(-1) as string)
}

/** All parts of an object: where none of them has a value, the object is null. */
export function wholeOf(group: Group): readonly Property[] {
  const { whole = group.properties }: Partial<ChosenGroup> = group
  return whole
}
