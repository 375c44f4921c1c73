// Finds rows of a file that the table has already, so that an import does not create them twice.
import type { Entity, Property } from '../model/entity.ts'
import { nearKey } from '../spreadsheets/nearValues.ts'
import type { UniqueColumn } from '../spreadsheets/uniqueColumns.ts'
import { counted } from './output.ts'
import { type Collection, countRows, readAllRows, readRowsWith, type ValueTexts, WHOLE_ROWS_MAX } from './storedRows.ts'

/**
 * Number of a column's values to look for if the table is too large to read whole. Every n-th value is looked for, with n rounded
 * down, so the real number can be almost twice as high.
 */
const SAMPLE_MAX = 1_000
/**
 * Minimum share of a column's names that must be in the table for the rows to count as doubles. A few equal names are no proof,
 * because people can share a name.
 */
const NAMES_SHARE = 0.5
/**
 * Minimum number of names in a column for `NAMES_SHARE` to apply. If a column has fewer names, all of them must be in the table,
 * because half of a few names can be there by chance.
 */
const FEW_NAMES = 5

/**
 * Returns whether this import has created the row of the table with this id. `value`: value of `property` that the row shares
 * with a row of the file.
 */
export type IsOwn = (id: string, property: Property, value: string) => boolean

/** Rows of a file that a table seems to have already, found by the values of one column. */
export interface Doubles {
  readonly property: Property
  /** Number of different values in the file. */
  readonly values: number
  /** Number of these values that the table has. */
  readonly found: number
  readonly first: { readonly at: string; readonly value: string; readonly id: string; readonly stored: string }
}

/**
 * Returns the first column whose values show that rows of the file are in the table already; null if no column does. A column is
 * ignored if several rows of the table share one of its values. `isOwn`: true for a row that an earlier run of this import
 * created. @throws CommandError
 */
export async function findDoubles(
  collection: Collection,
  entity: Entity,
  columns: readonly UniqueColumn<Property>[],
  isOwn: IsOwn,
): Promise<Doubles | null> {
  const total = columns.length === 0 ? 0 : await countRows(collection)
  if (total === 0) return null
  const isSmall = total <= WHOLE_ROWS_MAX
  const properties = columns.map(({ property }) => property)
  const all = isSmall ? await readAllRows(collection, entity, properties) : []
  // Columns of identifiers, such as numbers, come first. If the file has such a column and none of its identifiers is in the
  // table, columns of names are not compared: equal names then belong to different people.
  const sorted = [...columns].sort((one, other) => Number(other.isIdentifier) - Number(one.isIdentifier))
  for (const column of sorted) {
    if (!column.isIdentifier && sorted[0]?.isIdentifier) return null
    const stored = isSmall ? all : await sampleOf(collection, entity, column)
    const doubles = doublesOf(entity, column, stored, isOwn)
    if (doubles !== null) return doubles
  }
  return null
}

async function sampleOf(
  collection: Collection,
  entity: Entity,
  { property, rows }: UniqueColumn<Property>,
): Promise<ValueTexts[]> {
  const values = [...rows.keys()]
  const step = Math.max(1, Math.floor(values.length / SAMPLE_MAX))
  const sample = values.filter((_, index) => index % step === 0)
  const stored: ValueTexts[] = []
  for await (const found of readRowsWith(collection, entity, property, sample, [])) stored.push(...found.rows)
  return stored
}

function doublesOf(
  entity: Entity,
  { property, rows, isIdentifier }: UniqueColumn<Property>,
  stored: readonly ValueTexts[],
  isOwn: IsOwn,
): Doubles | null {
  const byKey = Map.groupBy(stored, (row) => nearKey(row.get(property) ?? ''))
  let found = 0
  let first: Doubles['first'] | null = null
  for (const [value, at] of rows) {
    const [row, other] = byKey.get(nearKey(value)) ?? []
    const id = row?.get(entity.id)
    if (row === undefined || id == null || isOwn(id, property, value)) continue
    // Several rows of the table have the value, so the property does not tell rows apart.
    if (other) return null
    found++
    first ??= { at, value, id, stored: row.get(property) ?? '' }
  }
  const foundMin = isIdentifier ? 1 : rows.size < FEW_NAMES ? rows.size : rows.size * NAMES_SHARE
  if (first === null || found < foundMin) return null
  return { property, values: rows.size, found, first }
}

/** Returns the message about rows that would exist twice. */
export function doublesText(entity: Entity, { property, values, found, first }: Doubles): string {
  const { name } = property
  const like = first.stored === first.value ? '' : ` with ${JSON.stringify(first.stored)}`
  return [
    `${name} differs in each row of the file, and ${entity.plural} have ${found} of its ${counted(values, 'value')} already`,
    ` (${first.at}: ${JSON.stringify(first.value)} is row ${first.id}${like}): these would be there twice. Nothing was created.\n`,
    `To change these rows, and create the others: --match ${name}. To create all rows all the same: --again.`,
  ].join('')
}
