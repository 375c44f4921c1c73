// Case folding for [begins] and [contains]: case, accents and the form of a final sigma do not count. D72
import { type Sql, sql } from './sql.ts'

const ACCENTS = /[\u0300-\u036f]/g
const ASCII = /^[\0-\x7f]*$/
/** Characters since Unicode 10, or not assigned yet: their lower case may be another one in PostgreSQL's ICU than here. */
const UNSURE = /[\p{Cn}\u1c80-\u1cbf\u2c2f\ua7b8-\ua7ff\u{10400}-\u{1efff}]/u

/** The text without case and accents, as `foldSql` has it if `isSurelyFolded`. */
export function foldText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  return text.normalize('NFD').replace(ACCENTS, '').toLowerCase().replaceAll('ς', 'σ')
}

/** Returns whether every PostgreSQL folds the text as `foldText` does; of other texts PostgreSQL must be asked. */
export function isSurelyFolded(text: string): boolean {
  return ASCII.test(text) || !UNSURE.test(text)
}

/** The text of an expression without case and accents. */
export function foldSql(text: Sql): Sql {
  const bare = sql`regexp_replace(normalize(${text}, NFD), '[\\u0300-\\u036f]', '', 'g')`
  return sql`replace(lower(${bare} collate "und-x-icu"), 'ς', 'σ')`
}
