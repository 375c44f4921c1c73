import { ApiError } from '../errors.ts'
import { shown } from '../model/shown.ts'
import { parseQueryString } from './queryString.ts'

/** For addresses that take no query parameters: one that is there was meant to do something. @throws ApiError */
export function parseNoParameters(query: string): void {
  if (query === '') return
  const [first] = parseQueryString(query)
  if (first)
    throw new ApiError('UnknownParameter', 'This address takes no query parameters.', {
      target: shown(first.name),
    })
}
