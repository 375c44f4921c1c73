import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { JsonNumber, Mismatch } from '../model/kinds.ts'
import { suggest } from '../model/nearest.ts'

/** A value of a row. */
interface FileValue {
  /** As PostgreSQL prints it, so that equal values have equal texts; null: no value. */
  readonly text: string | null
  /** The value as JSON. */
  readonly json: string
}

export type FileValues = ReadonlyMap<Property, FileValue>

/** Thrown for a value that no row can have; the message is a sentence. */
export class ValueFault extends Error {}

/**
 * The values of a row that is JSON, by property; names in any case. `isStored`: values are taken that clients may not write.
 * @throws ValueFault for the first fault
 */
export function readValues(entity: Entity, json: string, isStored = false): FileValues {
  const values = new Map<Property, FileValue>()
  const row: unknown = JSON.parse(json, withDigits)
  if (!isObject(row)) throw new ValueFault('The row must be an object.')
  for (const [name, value] of Object.entries(row)) {
    const member = entity.byName.get(name.toLowerCase())
    if (!member) throw new ValueFault(`${entity.plural} have no property "${name}".${suggest(name, namesOf(entity.properties))}`)
    if (!isGroup(member)) values.set(member, parsed(member, value, isStored))
    else if (value === null) for (const part of member.properties) values.set(part, NONE)
    else if (!isObject(value)) throw new ValueFault(`${member.name} must be an object, or null.`)
    else
      for (const [name, inner] of Object.entries(value)) {
        const part = member.properties.find(({ path }) => path.at(-1)?.toLowerCase() === name.toLowerCase())
        if (!part) throw new ValueFault(`${member.name} has no property "${name}".${suggest(name, namesOf(member.properties))}`)
        values.set(part, parsed(part, inner, isStored))
      }
  }
  return values
}

/** The values as the body of a request. */
export function writeValues(values: FileValues): string {
  const groups = Map.groupBy(values, ([{ path }]) => (path.length > 1 ? (path[0] as string) : ''))
  const members = [...groups].map(([group, entries]) => {
    const text = entries.map(([{ path }, { json }]) => `${JSON.stringify(path.at(-1))}:${json}`).join()
    return group === '' ? text : `${JSON.stringify(group)}:{${text}}`
  })
  return `{${members.join()}}`
}

const NONE: FileValue = { text: null, json: 'null' }

function parsed({ kind, name, writable }: Property, value: unknown, isStored: boolean): FileValue {
  const json = value instanceof JsonNumber ? value.source : JSON.stringify(value)
  if (value === null && (kind.nullable || !writable)) return NONE
  try {
    return { text: kind.printFilter(kind.parseJson(value)), json }
  } catch (error) {
    // What the server makes of others fits no kind for clients; it is not written.
    if (error instanceof Mismatch && !writable) return { text: null, json }
    if (error instanceof Mismatch && isStored) return { text: json, json }
    if (error instanceof Mismatch) throw new ValueFault(`${name} ${error.message}.`)
    throw error
  }
}

function namesOf(properties: readonly Property[]): string[] {
  return properties.map(({ path }) => path.at(-1) as string)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
}

function withDigits(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && context ? new JsonNumber(context.source) : value
}
