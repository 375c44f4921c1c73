import { ApiError } from '../errors.ts'
import { type Conditions, type EntityTags, readTags } from '../model/entityTag.ts'
import { shown } from '../model/shown.ts'

/** Parses the preconditions in a request's headers; null: there are none. @throws ApiError InvalidHeader. RFC 9110, 13.1 */
export function parseConditions(headers: Headers): Conditions | null {
  const [match, noneMatch] = [headers.get('if-match'), headers.get('if-none-match')]
  if (match === null && noneMatch === null) return null
  return { ifMatch: parseTags('If-Match', match), ifNoneMatch: parseTags('If-None-Match', noneMatch) }
}

function parseTags(target: 'If-Match' | 'If-None-Match', text: string | null): EntityTags | null {
  if (text === null) return null
  const tags = readTags(text)
  if (tags !== null) return tags
  const allowed = `${target} is * or one or more tags as ETag has them, in double quotes and separated by commas`
  throw new ApiError('InvalidHeader', `${allowed}, not ${shown(text) || 'empty'}.${hint(text)}`, { target })
}

/** Hint for a tag that lost its quotes. */
function hint(text: string): string {
  const [, weak = '', bare] = /^(W\/)?['"]?([\w.-]{1,60})['"]?$/.exec(text) ?? []
  return bare === undefined ? '' : ` Did you mean ${weak}"${bare}"?`
}
