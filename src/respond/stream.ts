import { type Choice, chooseAll } from '../model/choice.ts'
import type { Entity, Property } from '../model/entity.ts'
import { takesGzip } from '../model/preferences.ts'
import type { StreamQuery } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { csvHeader, csvWriter } from './csv.ts'
import { choiceWriter } from './json.ts'
import { NDJSON_TYPE, NO_STORE } from './reply.ts'

const TYPES = { csv: 'text/csv; charset=utf-8', ndjson: NDJSON_TYPE } as const

/** How rows of a stream are written. */
export interface StreamWriter {
  /** In front of all rows. */
  readonly begin: string
  readonly write: (row: Row) => string
}

/** Rows that have these columns, in the form that was asked for. */
export function streamWriter(
  entity: Entity,
  query: StreamQuery,
  columns: readonly Property[],
  form: keyof typeof TYPES,
): StreamWriter {
  const choice = query.choice ?? chooseAll(entity)
  if (form === 'ndjson') return { begin: '', write: ndjsonWriter(choice, columns) }
  return {
    begin: csvHeader(
      choice.properties.map(({ path }) => path.join('.')),
      query,
    ),
    write: csvWriter(choice, columns, query),
  }
}

/** Headers of a stream, which browsers save as `file`. Its length and its total are not known before its end. */
export function streamHeaders(file: string, form: keyof typeof TYPES, request: Headers): Record<string, string> {
  const headers: Record<string, string> = {
    'Content-Type': TYPES[form],
    'Cache-Control': NO_STORE,
    Vary: 'Accept, Accept-Encoding',
  }
  if (form === 'csv') headers['Content-Disposition'] = `attachment; filename="${file}.csv"`
  if (takesGzip(request.get('accept-encoding'))) headers['Content-Encoding'] = 'gzip'
  return headers
}

/** Writes rows that have these columns as lines of JSON. */
function ndjsonWriter(choice: Choice, columns: readonly Property[]): (row: Row) => string {
  const write = choiceWriter(choice, columns)
  return (row) => `${write(row, 0)}\n`
}
