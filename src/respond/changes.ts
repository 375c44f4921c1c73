// JSON of the change feed: events, and pages of them.
import type { Entity } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'
import { jsonOf, rowWriter } from './json.ts'
import { respondJson, type TextReply } from './reply.ts'

/** An event, as the database has it. */
export interface ChangeLine {
  readonly token: string
  readonly entity: Entity
  readonly id: string
  readonly action: string
  /** As PostgreSQL prints it. */
  readonly at: string
  /** Null: no API key has asked for the write. */
  readonly key: string | null
  /** JSON texts of arrays. Columns; properties in lines of earlier versions. */
  readonly changed: string
  readonly before: string | null
  readonly after: string | null
  /** The row as it is now, null if it is gone; undefined: it was not asked for. */
  readonly row?: Row | null
}

const ACTIONS: Readonly<Record<string, string>> = { c: 'create', u: 'update', d: 'delete' }

/** Writes a page. `hasValues`: with the values that differ, if they were kept. */
export function respondChanges(lines: readonly ChangeLine[], next: string | null, more: boolean, hasValues: boolean): TextReply {
  const changes = lines.map((line) => lineText(line, hasValues)).join()
  return respondJson(200, `{"changes":[${changes}],"next":${JSON.stringify(next)},"more":${more}}`)
}

/** Time of an event, as its JSON has it. */
export function instantOf({ at }: ChangeLine): string {
  return `${at.slice(0, 10)}T${at.slice(11, 19)}Z`
}

/** Name of an event, such as `Employees:update`. */
export function eventOf({ entity, action }: ChangeLine, separator: string): string {
  return `${entity.plural}${separator}${ACTIONS[action]}`
}

/** Writes an event as pages, streams and webhooks have it. */
export function lineText(line: ChangeLine, hasValues: boolean): string {
  const { token, entity, id, action, key, before, after } = line
  const changed = changedProperties(line)
  const head = `"token":"${token}","entity":"${entity.plural}","id":${id},"action":"${ACTIONS[action]}","at":"${instantOf(line)}"`
  const names = changed.map(({ property }) => JSON.stringify(property.name))
  const row = line.row === undefined ? '' : `,"row":${line.row === null ? 'null' : rowWriter(entity)(line.row)}`
  const text = `${head},"key":${JSON.stringify(key)},"changed":[${names.join()}]${row}`
  if (!hasValues) return `{${text}}`
  return `{${text},"before":${valuesText(changed, before)},"after":${valuesText(changed, after)}}`
}

/** Properties that differ, each with its place among the values of a line. Columns that are of no property are left out. */
function changedProperties({ entity, changed }: ChangeLine) {
  const names: string[] = JSON.parse(changed)
  if (names.length === 0) return []
  return entity.properties.flatMap((property) => {
    const place = names.findIndex((name) => name === property.column || name === property.name)
    return place < 0 ? [] : [{ property, place }]
  })
}

/** An object of the values by their properties' names; null: they were not kept. */
function valuesText(changed: ReturnType<typeof changedProperties>, texts: string | null): string {
  if (texts === null) return 'null'
  const values: (string | null)[] = JSON.parse(texts)
  const members = changed.map(
    ({ property: { name, kind }, place }) => `${JSON.stringify(name)}:${jsonOf(kind, values[place] ?? null)}`,
  )
  return `{${members.join()}}`
}
