import type { ChangesPlace } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { integer, join, param, type Statement, sql, toStatement, word } from '../model/sql.ts'
import { wantsEvent } from './events.ts'

const ACTIONS = ['create', 'update', 'delete']

/** The first lines behind a place that the events name, up to so many; null: they name nothing that there is. */
export function compileWaiting(
  events: readonly string[],
  entities: readonly Entity[],
  { position, number }: ChangesPlace,
  most: number,
): Statement | null {
  const behind = sql`(position, number) > (${param(position)}::bigint, ${param(number)}::bigint)`
  const settled = sql`position < pg_snapshot_xmin(pg_current_snapshot())::text::bigint`
  const limit = sql`order by position, number limit ${integer(most)}`
  const pieces = entities.flatMap(({ plural, table }) => {
    const actions = ACTIONS.filter((action) => wantsEvent(events, `${plural}:${action}`))
    if (actions.length === 0) return []
    const letters = join(
      actions.map((action) => word(action[0] as string)),
      sql`, `,
    )
    return [
      sql`(select position, number from entity_change where entity = ${word(table)} and action in (${letters}) and ${behind} and ${settled} ${limit})`,
    ]
  })
  if (pieces.length === 0) return null
  return toStatement(
    // By the columns: what is selected under their names are texts.
    sql`select position::text, number::text from (${join(pieces, sql` union all `)}) as piece order by piece.position, piece.number limit ${integer(most)}`,
  )
}
