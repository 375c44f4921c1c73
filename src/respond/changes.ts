import type { Entity, Property } from '../model/entity.ts'
import { respondJson, type TextReply } from './reply.ts'

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

function lineText({ token, entity, id, action, at, key, changed, before, after }: ChangeLine, hasValues: boolean) {
  const instant = `${at.slice(0, 10)}T${at.slice(11, 19)}Z`
  const head = `"token":"${token}","entity":"${entity.plural}","id":${id},"action":"${ACTIONS[action]}","at":"${instant}"`
  const line = `${head},"key":${JSON.stringify(key)},"changed":${changed}`
  if (!hasValues) return `{${line}}`
  const names: string[] = JSON.parse(changed)
  return `{${line},"before":${valuesText(entity, names, before)},"after":${valuesText(entity, names, after)}}`
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
