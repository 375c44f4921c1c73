import type { Choice } from '../model/choice.ts'
import { type Entity, type Group, isGroup, type Property } from '../model/entity.ts'
import type { JsonWriter } from './jsonWriter.ts'
import { keyOf, wholeOf } from './members.ts'

/** Rows of an entity whose values are codes; a value is asked for by its row and by the place of its property. */
export interface CodedRows {
  readonly length: number
  /** The value as PostgreSQL prints it; null: there is none. */
  print(index: number, place: number): string | null
  hasValue(index: number, place: number): boolean
  /** Writes the value; `null` where there is none. */
  write(index: number, place: number, into: JsonWriter): void
}

type WriteRow = (rows: CodedRows, index: number, into: JsonWriter) => void

const writers = new WeakMap<Entity, WriteRow>()
const encoder = new TextEncoder()
const [END, NONE] = [encoder.encode('}'), encoder.encode('null')]

/** Writes entities, or what is chosen of them, from rows that are coded: the same as of rows as PostgreSQL prints them. */
export function codedWriter(entity: Entity, choice: Choice | null): WriteRow {
  if (choice !== null) return compile(choice.members, entity)
  let write = writers.get(entity)
  if (!write) writers.set(entity, (write = compile(entity.members, entity)))
  return write
}

/** `{"a":1,"b":2}` */
function compile(members: readonly (Property | Group)[], entity: Entity): WriteRow {
  const parts = members.map((member, index) => ({
    prefix: encoder.encode(`${index === 0 ? '{' : ','}${JSON.stringify(keyOf(member))}:`),
    write: isGroup(member) ? groupWriter(member, entity) : valueWriter(entity.properties.indexOf(member)),
  }))
  return (rows, index, into) => {
    for (let at = 0; at < parts.length; at++) {
      const { prefix, write } = parts[at] as (typeof parts)[number]
      into.raw(prefix)
      write(rows, index, into)
    }
    into.raw(END)
  }
}

function valueWriter(place: number): WriteRow {
  return (rows, index, into) => rows.write(index, place, into)
}

function groupWriter(group: Group, entity: Entity): WriteRow {
  const places = wholeOf(group).map((property) => entity.properties.indexOf(property))
  const write = compile(group.properties, entity)
  return (rows, index, into) => {
    for (const place of places) if (rows.hasValue(index, place)) return write(rows, index, into)
    into.raw(NONE)
  }
}
