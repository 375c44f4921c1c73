import { weightsOf } from '../model/preferences.ts'

/** In what form a list is answered: pages as JSON, or all rows as a stream. */
export type Form = 'json' | StreamForm
export type StreamForm = 'csv' | 'ndjson'

const CSV_MEDIA = 'text/csv'
const NDJSON_MEDIA = 'application/x-ndjson'

/** Clients that ask for no form in particular, browsers among them, get pages. RFC 9110, 12.5.1. D55 */
export function formOf(accept: string | null): Form {
  // Most requests end here, without a look at weights.
  if (accept === null || !/csv|ndjson/i.test(accept)) return 'json'
  const weightOf = weightsOf(accept)
  const [csv, ndjson, json] = [weightOf(CSV_MEDIA), weightOf(NDJSON_MEDIA), weightOf('application/json')]
  const [form, weight] = ndjson > csv ? (['ndjson', ndjson] as const) : (['csv', csv] as const)
  // What is named by itself goes before what a wildcard takes along.
  const other = json > 0 ? json : weightOf('application/*', '*/*')
  return weight > 0 && (json > 0 ? weight > json : weight >= other) ? form : 'json'
}
