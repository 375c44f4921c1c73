// Shows what `--match` would change: the first differences as text, all of them as a CSV.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { errorOf } from '../errors.ts'
import type { Entity, Property } from '../model/entity.ts'
import { escapeFormulas } from '../model/spreadsheet.ts'
import type { Change } from './matchRows.ts'
import { counted } from './output.ts'
import { CommandError } from './run.ts'

const DIFFERENCES_SHOWN = 10

/**
 * Returns the first differences, such as `line 7: lastName "A" -> "B"`. A last line counts all differences, and the changed rows
 * of each property. `output`: file that lists all differences; null: there is no such file.
 */
export function differenceLines({ properties }: Entity, changed: readonly Change[], output: string | null): string[] {
  const shown = (text: string | null) => (text === null ? 'nothing' : JSON.stringify(text))
  const lines: string[] = []
  const rows = new Map<Property, number>()
  let count = 0
  for (const { at, differences } of changed)
    for (const { property, before, after } of differences) {
      if (count++ < DIFFERENCES_SHOWN) lines.push(`${at}: ${property.path.join('.')} ${shown(before)} -> ${shown(after)}`)
      rows.set(property, (rows.get(property) ?? 0) + 1)
    }
  if (count === 0) return []
  const rest = output === null ? 'all with --output <file>' : `all are in ${output}`
  const extent = count > DIFFERENCES_SHOWN ? `, of which the first ${DIFFERENCES_SHOWN} are shown (${rest})` : ''
  const byProperty = properties.flatMap((property) => {
    const of = rows.get(property)
    return of === undefined ? [] : `${property.path.join('.')} in ${counted(of, 'row')}`
  })
  return [...lines, `${counted(count, 'difference')}${extent}: ${byProperty.join(', ')}`]
}

/** Writes all differences as a CSV for spreadsheets. Only the user can read the file. @throws CommandError */
export function writeDifferences(path: string, matched: Property, changed: readonly Change[]): void {
  const header = ['place', 'id', matched.name, 'property', 'before', 'after']
  const records = changed.flatMap(({ at, id, value, differences }) =>
    differences.map(({ property, before, after }) => [at, id, value, property.name, before ?? '', after ?? '']),
  )
  const text = [header, ...records].map((record) => `${record.map(csvCell).join(',')}\r\n`).join('')
  const unfinished = `${path}.${crypto.randomUUID()}.part`
  try {
    // The byte order mark tells spreadsheets that the file is UTF-8.
    writeFileSync(unfinished, `\ufeff${text}`, { flag: 'wx', mode: 0o600 })
    renameSync(unfinished, path)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw new CommandError(`--output ${path} could not be written: ${errorOf(error).message}`)
  }
}

function csvCell(text: string): string {
  const safe = escapeFormulas(text)
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
