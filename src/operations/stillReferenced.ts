// Refused deletions: names the referring rows that the key may read. D16
import { compileDeleteBlockers } from '../compile/remove.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import { allows, type Rights } from '../model/rights.ts'

/** Maximum rows of a column to count; more are "over 1,000". */
const COUNTED_MAX = 1_000

/** Number of rows that refer to a row, for each column. */
type Counts = readonly number[]

/** Counts the rows that refer to a row, up to `COUNTED_MAX` each; null if the row does not exist. */
export async function countReferring(
  database: Database,
  entity: Entity,
  id: string,
  referring: readonly ReferringColumn[],
  rights: Rights | null,
): Promise<Counts | null> {
  const isCounted = referring.some(({ plural }) => rights && allows(rights, plural, 'read'))
  const [found] = await database.read(compileDeleteBlockers(entity, id, referring, isCounted ? COUNTED_MAX + 1 : 1))
  return found ? referring.map((_, index) => Number(found[index])) : null
}

/**
 * Error: other rows refer to the row. Its message counts only rows that the key may read, and does not say whether there are
 * others. `isWhole`: no other table can refer to the row.
 */
export function stillReferenced(
  entity: Entity,
  id: string,
  referring: readonly ReferringColumn[],
  counts: Counts,
  rights: Rights | null,
  isWhole: boolean,
): ApiError {
  const isReadable = ({ plural }: ReferringColumn) => rights !== null && allows(rights, plural, 'read')
  const texts = referring.flatMap((column, index) => {
    const count = counts[index] ?? 0
    if (count === 0 || !isReadable(column)) return []
    return `${count > COUNTED_MAX ? 'over 1,000' : count} of ${column.plural} (${column.property}=${id})`
  })
  const among = isWhole && referring.every(isReadable) ? ': ' : ', among them '
  const list = texts.length === 0 ? '' : among + texts.join(', ')
  return new ApiError('StillReferenced', `${entity.name} ${id} was not deleted: other rows refer to it${list}.`)
}
