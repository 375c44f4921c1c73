import { ApiError } from '../errors.ts'
import { shown } from '../model/shown.ts'
import { parseQueryString } from './queryString.ts'

/** Whether rows that are sent shall only be checked: `dryRun=1`. Nothing else is taken there. D59 @throws ApiError */
export function parseDryRun(query: string): boolean {
  if (query === '') return false
  let isDry: boolean | null = null
  for (const { name, value } of parseQueryString(query)) {
    if (name.toLowerCase() !== 'dryrun')
      throw new ApiError('UnknownParameter', 'To create takes no query parameter but dryRun.', { target: shown(name) })
    if (isDry !== null) throw invalid('dryRun is given twice.')
    if (value !== '1' && value !== '0') throw invalid('dryRun is 1 or 0.')
    isDry = value === '1'
  }
  return isDry === true
}

function invalid(message: string): ApiError {
  return new ApiError('InvalidDryRun', message, { target: 'dryRun' })
}
