// Finds the rows that values of a dropped file stand for: a company by its name, or a person by her number.
import type { CsvRecord } from '../../spreadsheets/csvRecords.ts'
import type { ReferenceValues } from '../../spreadsheets/referenceValues.ts'
import { readTotal, send } from './api.ts'
import type { Reader } from './importParts.ts'
import { readStored, untilAnswered, type Watch, WHOLE_ROWS_MAX } from './importRequests.ts'
import type { RowReading } from './importRows.ts'
import { nameIn, nameParts } from './names.ts'
import { collectionsOf, findNamed, type Property, type Resource, type Row, valueIn } from './resources.ts'

/** Rows that the values of a column stand for. */
export interface ReferencedRows {
  readonly values: ReferenceValues
  /** Names of the rows for people, by id. */
  readonly names: ReadonlyMap<string, string>
}

/** Rows by the name of the property that refers to them. */
export type References = ReadonlyMap<string, ReferencedRows>

/** Reads the rows that the values of columns stand for. @throws Problem, AbortError */
export async function readReferences(
  reader: Reader,
  records: readonly CsvRecord[],
  { choices }: RowReading,
  watch: Watch,
): Promise<References> {
  const references = new Map<string, ReferencedRows>()
  for (const [index, { property, by }] of choices) {
    const [target] = by === null || property.references === null ? [] : collectionsOf(property.references)
    if (target === undefined || by === null) continue
    const texts = new Set(records.flatMap(({ cells }) => cells[index]?.trim() || []))
    const isWhole = (await countRows(target, watch)) <= WHOLE_ROWS_MAX
    const fields = [by, ...nameParts(target).map(({ name }) => name)]
    const rows = await readStored(target.plural, fields, isWhole ? null : { name: by, values: [...texts] }, watch)
    const named = findNamed(target.properties, by)
    const values = rows.map((row) => ({ id: String(row.id), value: named ? textIn(row, named) : null }))
    references.set(property.name, {
      values: new reader.ReferenceValues(values, isWhole),
      names: new Map(rows.map((row) => [String(row.id), nameIn(target, row)])),
    })
  }
  return references
}

const textIn = (row: Row, property: Pick<Property, 'path'>) => {
  const value = valueIn(row, property)
  return value === null || value === '' ? null : String(value)
}

/** Returns the number of rows of a collection. @throws Problem, AbortError */
export function countRows({ plural }: Resource, watch: Watch): Promise<number> {
  return untilAnswered(async () => readTotal(await send(`${plural}?fields=Id&PageSize=5`, { method: 'HEAD' })), watch)
}

/**
 * Returns a cell with the name of the row for which it stands: `00421 (Ada Byron)`. If the cell is the name itself, or stands for
 * no row or for several rows, returns only the cell.
 */
export function withName({ values, names }: ReferencedRows, cell: string): string {
  const [id, second] = values.idsOf(cell.trim())
  const name = id === undefined || second !== undefined ? '' : (names.get(id) ?? '')
  return name === '' || name === cell.trim() ? cell : `${cell} (${name})`
}
