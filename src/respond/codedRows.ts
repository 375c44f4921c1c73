import type { Choice } from '../model/choice.ts'
import { type Entity, type Group, isGroup, type Property } from '../model/entity.ts'
import { keyOf, wholeOf } from './json.ts'
import { type JsonWriter, type Mark, markOf } from './jsonWriter.ts'

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

/** One step of writing: a prefix, and the value behind it. */
interface Step {
  readonly prefix: Mark
  /** Column of the value; `NO_PLACE`: there is no value, or it is an object, of which the parts follow. */
  readonly place: number
  /** Columns of all parts of an object: if none of them has a value, it is null. */
  readonly whole: readonly number[] | null
  /** The step behind that object. */
  readonly next: number
}

const writers = new WeakMap<Entity, WriteRow>()
const [END, NONE] = [markOf('}'), markOf('null')]
const [NO_PLACE, NO_STEP] = [-1, -1]

/** Writes entities, or what is chosen of them, from rows that are coded: the same as of rows as PostgreSQL prints them. */
export function codedWriter(entity: Entity, choice: Choice | null): WriteRow {
  if (choice !== null) return compile(choice.members, entity)
  let write = writers.get(entity)
  if (!write) writers.set(entity, (write = compile(entity.members, entity)))
  return write
}

/** `{"a":1,"b":{"c":2}}`, in one loop, without a call of a function for each member. */
function compile(members: readonly (Property | Group)[], entity: Entity): WriteRow {
  const steps: Step[] = []
  addSteps(steps, members, entity)
  return (rows, index, into) => {
    for (let at = 0; at < steps.length; ) {
      const { prefix, place, whole, next } = steps[at++] as Step
      into.mark(prefix)
      if (place !== NO_PLACE) rows.write(index, place, into)
      else if (whole !== null && !hasAny(rows, index, whole)) {
        into.mark(NONE)
        at = next
      }
    }
  }
}

function addSteps(steps: Step[], members: readonly (Property | Group)[], entity: Entity): void {
  const placeOf = (property: Property) => entity.properties.indexOf(property)
  for (const [index, member] of members.entries()) {
    const prefix = markOf(`${index === 0 ? '{' : ','}${JSON.stringify(keyOf(member))}:`)
    if (isGroup(member)) {
      const parts: Step[] = []
      addSteps(parts, member.properties, entity)
      const next = steps.length + 1 + parts.length
      steps.push({ prefix, place: NO_PLACE, whole: wholeOf(member).map(placeOf), next }, ...parts)
    } else steps.push({ prefix, place: placeOf(member), whole: null, next: NO_STEP })
  }
  steps.push({ prefix: END, place: NO_PLACE, whole: null, next: NO_STEP })
}

function hasAny(rows: CodedRows, index: number, places: readonly number[]): boolean {
  for (const place of places) if (rows.hasValue(index, place)) return true
  return false
}
