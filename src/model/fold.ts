// Folding of texts for [begins] and [contains]: case, accents and the form of a final sigma do not count. D72
import { type Sql, sql } from './sql.ts'

const ACCENTS = /[\u0300-\u036f]/g
const ASCII = /^[\0-\x7f]*$/
/**
 * Characters that PostgreSQL may fold otherwise than this process. Of those since Unicode 10, and of those that are not assigned yet,
 * the lower case may be another one there, and of marks the order. U+11A7 is composed by PostgreSQL alone.
 */
const UNSURE =
  /[\u1abf-\u1aff\u1dfa\u07fd\u0897-\u089f\u08ca-\u08d3\u09fe\u0c3c\u0eba\ua82c\u11a7\u1715\u1c80-\u1cbf\u2c2f\ua7b8-\ua7ff\u{10400}-\u{1efff}\p{Cn}]/u

/** The text without case and accents, as `foldSql` has it if `isSurelyFolded`. */
export function foldText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  return text.normalize('NFD').replace(ACCENTS, '').toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/** Returns whether every PostgreSQL folds the text as `foldText` does; of other texts PostgreSQL must be asked. */
export function isSurelyFolded(text: string): boolean {
  return ASCII.test(text) || !UNSURE.test(text)
}

/** The text of an expression without case and accents. Composed again, since 이 is no part of 임, nor カ of ガ. */
export function foldSql(text: Sql): Sql {
  const bare = sql`regexp_replace(normalize(${text}, NFD), '[\\u0300-\\u036f]', '', 'g')`
  return sql`normalize(replace(lower(${bare} collate "und-x-icu"), 'ς', 'σ'), NFC)`
}
