import { ApiError } from '../errors.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import type { ListQuery, Seek } from '../model/query.ts'

/** The place that a cursor names in this list. @throws ApiError InvalidCursor */
export function parseCursor(
  entity: Entity,
  list: Pick<ListQuery, 'filters' | 'sorts'>,
  text: string,
  cursors: Cursors | null,
): Seek {
  const seek = cursors?.read(entity, list, text)
  if (seek) return seek
  const message = 'The cursor is not one of this list: it was altered, or the filters or the sort were.'
  throw new ApiError('InvalidCursor', message, { target: 'cursor' })
}
