import type { Entity, Property } from '../model/entity.ts'
import { takesGzip } from '../model/preferences.ts'
import { NO_STORE, respondJson, type TextReply } from './reply.ts'

/** A line of what has changed, as the database has it. */
export interface ChangeLine {
  readonly token: string
  readonly entity: Entity
  readonly id: string
  readonly action: string
  /** As PostgreSQL prints it. */
  readonly at: string
  readonly key: string
  /** JSON texts of arrays. */
  readonly changed: string
  readonly before: string | null
  readonly after: string | null
}

const ACTIONS: Readonly<Record<string, string>> = { c: 'create', u: 'update', d: 'delete' }

/** A page of lines. `hasValues`: with the values that differ, where they were kept. */
export function respondChanges(
  lines: readonly ChangeLine[],
  next: string | null,
  more: boolean,
  hasValues: boolean,
): TextReply {
  const changes = lines.map((line) => lineText(line, hasValues)).join()
  return respondJson(200, `{"changes":[${changes}],"next":${JSON.stringify(next)},"more":${more}}`)
}

/** What stands above lines that go on coming. */
export function followHeaders(request: Headers): Record<string, string> {
  const headers: Record<string, string> = {
    'Content-Type': 'application/x-ndjson; charset=utf-8',
    'Cache-Control': NO_STORE,
    Vary: 'Accept, Accept-Encoding',
  }
  if (takesGzip(request.get('accept-encoding'))) headers['Content-Encoding'] = 'gzip'
  return headers
}

/** A line that is no change: the token behind all that was read. */
export function nextText(token: string): string {
  return `{"next":"${token}"}\n`
}

/** When it was written, as the line says it. */
export function instantOf({ at }: ChangeLine): string {
  return `${at.slice(0, 10)}T${at.slice(11, 19)}Z`
}

/** `Employees:update`. */
export function eventOf({ entity, action }: ChangeLine, separator: string): string {
  return `${entity.plural}${separator}${ACTIONS[action]}`
}

/** A line as pages, streams and webhooks have it. */
export function lineText(line: ChangeLine, hasValues: boolean): string {
  const { token, entity, id, action, key, changed, before, after } = line
  const head = `"token":"${token}","entity":"${entity.plural}","id":${id},"action":"${ACTIONS[action]}","at":"${instantOf(line)}"`
  const text = `${head},"key":${JSON.stringify(key)},"changed":${changed}`
  if (!hasValues) return `{${text}}`
  const names: string[] = JSON.parse(changed)
  return `{${text},"before":${valuesText(entity, names, before)},"after":${valuesText(entity, names, after)}}`
}

/** An object of the values by their properties' names; null: they were not kept. Properties that are no more are left out. */
function valuesText(entity: Entity, names: readonly string[], texts: string | null): string {
  if (texts === null) return 'null'
  const values: (string | null)[] = JSON.parse(texts)
  const members = names.flatMap((name, index) => {
    const property = entity.properties.find((one) => one.name === name)
    return property ? [`${JSON.stringify(name)}:${valueText(property, values[index] ?? null)}`] : []
  })
  return `{${members.join()}}`
}

function valueText({ kind }: Property, text: string | null): string {
  if (text === null) return 'null'
  return kind.readText ? JSON.stringify(kind.readText(text)) : text
}
