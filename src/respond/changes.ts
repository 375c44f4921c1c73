// Writes the change feed as JSON: events, and pages of events.
import type { Row } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { jsonOf, rowWriter } from './json.ts'
import { respondJson, type TextReply } from './reply.ts'

/** A change event as the database stores it. */
export interface ChangeEvent {
  readonly token: string
  /** The entity as the reader of the event sees it. */
  readonly entity: View
  readonly id: string
  readonly action: string
  /** Time of the write as PostgreSQL prints it. */
  readonly at: string
  /** Name of the API key that wrote; null if the write came without a key. */
  readonly key: string | null
  /** JSON text of an array: the columns whose old and new values differ. */
  readonly changed: string
  /** JSON text of an array with the old values of the `changed` columns; null: the values were not recorded. */
  readonly before: string | null
  /** JSON text of an array with the new values of the `changed` columns; null: the values were not recorded. */
  readonly after: string | null
  /** The row in its current state; null: the row was deleted; undefined: the request did not ask for rows. */
  readonly row?: Row | null
}

const ACTIONS: Readonly<Record<string, string>> = { c: 'create', u: 'update', d: 'delete' }

/** Converts a token to the form that its reader gets: sealed (encrypted), or as it is. */
export type ShowToken = (token: string) => string

/** Responds with a page of events. `hasValues`: true to include old and new values, if they were recorded. */
export function respondChanges(
  events: readonly ChangeEvent[],
  next: string | null,
  more: boolean,
  { hasValues, show }: { readonly hasValues: boolean; readonly show: ShowToken },
): TextReply {
  const changes = events.map((event) => eventText(event, hasValues, show)).join()
  const shown = next === null ? null : show(next)
  return respondJson(200, `{"changes":[${changes}],"next":${JSON.stringify(shown)},"more":${more}}`)
}

/** Returns the time of an event in UTC, such as `2024-01-31T09:30:00Z`. */
export function instantOf({ at }: ChangeEvent): string {
  return `${at.slice(0, 10)}T${at.slice(11, 19)}Z`
}

/** Returns the name of an event, such as `Employees:update`. */
export function eventOf({ entity, action }: ChangeEvent, separator: string): string {
  return `${entity.plural}${separator}${ACTIONS[action]}`
}

/** Writes an event as JSON, the same for pages, streams and webhooks. */
export function eventText(event: ChangeEvent, hasValues: boolean, show: ShowToken): string {
  const { token, entity, id, action, key, before, after } = event
  const changed = changedProperties(event)
  const head = `"token":"${show(token)}","entity":"${entity.plural}","id":${id},"action":"${ACTIONS[action]}","at":"${instantOf(event)}"`
  const names = changed.map(({ property }) => JSON.stringify(property.name))
  const row = event.row === undefined ? '' : `,"row":${event.row === null ? 'null' : rowWriter(entity)(event.row)}`
  const text = `${head},"key":${JSON.stringify(key)},"changed":[${names.join()}]${row}`
  if (!hasValues) return `{${text}}`
  return `{${text},"before":${valuesText(changed, before)},"after":${valuesText(changed, after)}}`
}

/** Returns the changed properties that the reader may see, each with its index among the event's values. */
function changedProperties({ entity, changed }: ChangeEvent) {
  const names: string[] = JSON.parse(changed)
  if (names.length === 0) return []
  return entity.properties.flatMap((property) => {
    const index = names.indexOf(property.column)
    return index < 0 ? [] : [{ property, index }]
  })
}

/** Writes values as a JSON object with the names of their properties; `null` if the values were not recorded. */
function valuesText(changed: ReturnType<typeof changedProperties>, texts: string | null): string {
  if (texts === null) return 'null'
  const values: (string | null)[] = JSON.parse(texts)
  const members = changed.map(
    ({ property: { name, kind }, index }) => `${JSON.stringify(name)}:${jsonOf(kind, values[index] ?? null)}`,
  )
  return `{${members.join()}}`
}
