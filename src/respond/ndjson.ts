import type { Choice } from '../model/choice.ts'
import type { Property } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'
import { choiceWriter } from './json.ts'

/** Writes rows that have these columns as lines of JSON. */
export function ndjsonWriter(choice: Choice, columns: readonly Property[]): (row: Row) => string {
  const write = choiceWriter(choice, columns)
  return (row) => `${write(row, 0)}\n`
}
