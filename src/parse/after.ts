import { ApiError } from '../errors.ts'
import { type Position, readPositions } from '../model/position.ts'
import { shown } from '../model/shown.ts'

/** The positions that an answer is to include; null: none. @throws ApiError InvalidHeader. D54 */
export function parseAfter(headers: Headers): Position[] | null {
  const text = headers.get('x-roster-after')
  if (text === null) return null
  const positions = readPositions(text)
  if (positions !== null) return positions
  const allowed = 'X-Roster-After is what answers to writes have as X-Roster-Position, or several of these with commas'
  throw new ApiError('InvalidHeader', `${allowed}, not ${shown(text) || 'empty'}.`, { target: 'X-Roster-After' })
}
