// Finds rows of a file that the table has already, so that an import does not create them twice.
import type { Entity, Property } from '../model/entity.ts'
import { nearKey } from '../spreadsheets/nearValues.ts'
import { counted } from './output.ts'
import { type Collection, countRows, readAllRows, readRowsWith, type ValueTexts, WHOLE_ROWS_MAX } from './storedRows.ts'

/** Maximum rows of a file whose values are compared, which are held in memory. */
const ROWS_MAX = 100_000
/** Maximum values of a column that are looked for in a table that is too large to read. */
const SAMPLE_MAX = 1_000
/** Share of its values that a column of names must have in common with a table: two people may have one name. */
const NAMES_SHARE = 0.5
/** Maximum values of a column of names of which the table must have all, because a few are soon there by chance. */
const FEW_NAMES = 5

/** Values of a column that differ in each row. */
interface UniqueColumn {
  readonly property: Property
  /** Position of the row by the value. */
  readonly rows: Map<string, string>
  /** True if the values look like numbers or addresses of e-mail rather than names, or no two rows may share one. */
  isIdentifier: boolean
}

/** Collects the columns of a file by which its rows may be found in the table. */
export class UniqueColumns {
  private readonly columns: Map<Property, UniqueColumn>
  private readonly rejected = new Set<Property>()
  private count = 0

  constructor(entity: Entity) {
    const usable = entity.properties.filter(
      ({ writable, reference, kind }) => writable && reference === null && (kind.name === 'text' || kind.name === 'integer'),
    )
    this.columns = new Map(usable.map((property) => [property, { property, rows: new Map(), isIdentifier: true }]))
  }

  add(at: string, texts: ValueTexts): void {
    if (++this.count > ROWS_MAX) return
    for (const [property, value] of texts) {
      const column = this.columns.get(property)
      if (column === undefined || this.rejected.has(property) || value === null || value.trim() === '') continue
      if (column.rows.has(value)) this.rejected.add(property)
      else column.rows.set(value, at)
      column.isIdentifier &&= property.unique !== null || isIdentifier(value)
    }
  }

  /** Returns the columns that have a value in at least half of the rows. */
  find(): UniqueColumn[] {
    const found = [...this.columns.values()].filter(({ property }) => !this.rejected.has(property))
    return found.filter(({ rows }) => rows.size > 0 && rows.size >= Math.min(this.count, ROWS_MAX) / 2)
  }
}

/** Returns whether a value looks like a number or an address of e-mail: `E-0017` does, `Building 17` does not. */
function isIdentifier(value: string): boolean {
  const letters = value.match(/\p{Letter}/gu)?.length ?? 0
  const digits = value.match(/\p{Number}/gu)?.length ?? 0
  return value.includes('@') || (digits > 0 && digits >= letters)
}

/** Returns whether the row of the table with this id, found by the value of a row of the file, is one of this import. */
export type IsOwn = (id: string, property: Property, value: string) => boolean

/** Rows of a file that a table has already, by a column. */
export interface Doubles {
  readonly property: Property
  /** Number of different values in the file. */
  readonly values: number
  /** Number of those that the table has. */
  readonly found: number
  readonly first: { readonly at: string; readonly value: string; readonly id: string; readonly stored: string }
}

/**
 * Returns the column by which rows of the file are in the table already; null: none. A value that several rows of the table have
 * tells nothing. `isOwn`: true for a row that an earlier run of this import created. @throws CommandError
 */
export async function findDoubles(
  collection: Collection,
  entity: Entity,
  columns: readonly UniqueColumn[],
  isOwn: IsOwn,
): Promise<Doubles | null> {
  const total = columns.length === 0 ? 0 : await countRows(collection)
  if (total === 0) return null
  const isSmall = total <= WHOLE_ROWS_MAX
  const properties = columns.map(({ property }) => property)
  const all = isSmall ? await readAllRows(collection, entity, properties) : []
  // Numbers first: where the file has them, and they are new, equal names are of other people.
  const sorted = [...columns].sort((one, other) => Number(other.isIdentifier) - Number(one.isIdentifier))
  for (const column of sorted) {
    if (!column.isIdentifier && sorted[0]?.isIdentifier) return null
    const stored = isSmall ? all : await sampleOf(collection, entity, column)
    const doubles = doublesOf(entity, column, stored, isOwn)
    if (doubles !== null) return doubles
  }
  return null
}

async function sampleOf(collection: Collection, entity: Entity, { property, rows }: UniqueColumn): Promise<ValueTexts[]> {
  const values = [...rows.keys()]
  const step = Math.max(1, Math.floor(values.length / SAMPLE_MAX))
  const sample = values.filter((_, index) => index % step === 0)
  const stored: ValueTexts[] = []
  for await (const found of readRowsWith(collection, entity, property, sample, [])) stored.push(...found.rows)
  return stored
}

function doublesOf(
  entity: Entity,
  { property, rows, isIdentifier }: UniqueColumn,
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
    // Several rows have it: the property is none that tells rows apart.
    if (other) return null
    found++
    first ??= { at, value, id, stored: row.get(property) ?? '' }
  }
  const foundMin = isIdentifier ? 1 : rows.size < FEW_NAMES ? rows.size : rows.size * NAMES_SHARE
  if (first === null || found < foundMin) return null
  return { property, values: rows.size, found, first }
}

/** Returns the message about rows that would be there twice. */
export function doublesText(entity: Entity, { property, values, found, first }: Doubles): string {
  const { name } = property
  const like = first.stored === first.value ? '' : ` with ${JSON.stringify(first.stored)}`
  return [
    `${name} differs in each row of the file, and ${entity.plural} have ${found} of its ${counted(values, 'value')} already`,
    ` (${first.at}: ${JSON.stringify(first.value)} is row ${first.id}${like}): these would be there twice. Nothing was created.\n`,
    `To change these rows, and create the others: --match ${name}. To create all rows all the same: --again.`,
  ].join('')
}
