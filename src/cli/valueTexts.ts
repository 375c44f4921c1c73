import type { Entity, Property } from '../model/entity.ts'
import { JsonNumber, Mismatch } from '../model/kinds.ts'
import { parsePartial } from '../parse/assignments.ts'

/** The values of a row, as PostgreSQL prints them, so that equal values have equal texts; null: no value. */
export type ValueTexts = ReadonlyMap<Property, string | null>

/** The values that a row of a file would write. @throws ApiError that lists its faults */
export function fileTexts(entity: Entity, row: Record<string, unknown>): ValueTexts {
  const values = [...parsePartial(entity, row)]
  return new Map(values.map(([property, text]) => [property, text === null ? null : property.kind.printFilter(text)]))
}

/** The values of a row that the server has written; one that clients may not write is as it stands. */
export function storedTexts({ properties }: Entity, row: Record<string, unknown>): ValueTexts {
  return new Map(properties.map((property) => [property, storedText(property, row)]))
}

function storedText({ path, kind }: Property, row: Record<string, unknown>): string | null {
  const value = path.reduce<unknown>((object, key) => (object as Record<string, unknown> | null)?.[key] ?? null, row)
  if (value === null) return null
  try {
    return kind.printFilter(kind.parseJson(value))
  } catch (error) {
    if (error instanceof Mismatch) return value instanceof JsonNumber ? value.source : String(value)
    throw error
  }
}

/** The body of a request that writes these values. */
export function bodyOf(values: ValueTexts): string {
  const groups = Map.groupBy(values, ([{ path }]) => (path.length > 1 ? (path[0] as string) : ''))
  const members = [...groups].map(([group, entries]) => {
    const text = entries.map(([{ path, kind }, value]) => `${JSON.stringify(path.at(-1))}:${jsonOf(kind, value)}`).join()
    return group === '' ? text : `${JSON.stringify(group)}:{${text}}`
  })
  return `{${members.join()}}`
}

function jsonOf({ readText }: Property['kind'], text: string | null): string {
  if (text === null) return 'null'
  return readText ? JSON.stringify(readText(text)) : text
}
