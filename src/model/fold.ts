// Folds texts for [begins] and [contains]: differences of case, accents and variants of letters are ignored. D72
import { letters, type Sql, sql } from './sql.ts'

const ACCENTS = /[\u0300-\u036f]/g
const ASCII = /^[\0-\x7f]*$/
/**
 * Matches characters that PostgreSQL may fold differently: characters added since Unicode 10, because PostgreSQL's Unicode may be
 * older than Bun's, and U+11A7, which only PostgreSQL composes.
 */
const UNSURE =
  /[\u1abf-\u1aff\u1dfa\u07fd\u0897-\u089f\u08ca-\u08d3\u09fe\u0c3c\u0eba\ua82c\u11a7\u1715\u1c80-\u1cbf\u2c2f\ua7b8-\ua7ff\u{10400}-\u{1efff}\p{Cn}]/u

/**
 * Letters that Unicode does not decompose, and the letters that people type for them. The list has ς, and all such letters of
 * Latin-1 and Latin Extended-A. They are replaced as by CLDR's Latin-ASCII, but ŉ loses its apostrophe. Letters such as ə and ɓ
 * are not replaced: Unicode sorts them as separate letters, and people have no common spelling for them.
 */
const SINGLE = { from: 'ðøđħıĸłŉŋŧſŀς', to: 'dodhiqlnntslσ' }
/**
 * Letters that people type as several letters: digraphs and ligatures, which Unicode sorts as several letters, and the point of
 * Catalan l·l.
 */
const SEVERAL = [
  'ß ss',
  'æ ae',
  'œ oe',
  'þ th',
  'ĳ ij',
  'ǆ dz',
  'ǉ lj',
  'ǌ nj',
  'ǳ dz',
  'ﬀ ff',
  'ﬁ fi',
  'ﬂ fl',
  'ﬃ ffi',
  'ﬄ ffl',
  'ﬅ st',
  'ﬆ st',
  'l· l',
].map((pair) => pair.split(' ') as [string, string])

const ofSingle = new Map(Array.from(SINGLE.from, (letter, index) => [letter, SINGLE.to.charAt(index)]))
const ANY_SINGLE = new RegExp(`[${SINGLE.from}]`, 'g')
const ANY_SEVERAL = new RegExp(SEVERAL.map(([from]) => from).join('|'))

/**
 * Folds a text to lower case, without accents and variants of letters. If `isSurelyFolded`, the result equals that of `foldSql`.
 */
export function foldText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const bare = text.normalize('NFD').replace(ACCENTS, '').toLowerCase()
  const single = bare.replace(ANY_SINGLE, (letter) => ofSingle.get(letter) as string)
  if (ASCII.test(single)) return single
  if (!ANY_SEVERAL.test(single)) return single.normalize('NFC')
  return SEVERAL.reduce((folded, [from, to]) => folded.replaceAll(from, to), single).normalize('NFC')
}

/** Returns whether every version of PostgreSQL folds the text as `foldText` does. If not, only PostgreSQL can fold it. */
export function isSurelyFolded(text: string): boolean {
  return ASCII.test(text) || !UNSURE.test(text)
}

/**
 * Folds an expression in SQL. The result is composed (NFC): without this, a search for 이 would find 임, and カ would find ガ. A text
 * with as many bytes as characters is ASCII, as most texts are. It only needs lower case, which costs a fraction of folding.
 */
export function foldSql(text: Sql): Sql {
  const bare = sql`lower(regexp_replace(normalize(${text}, NFD), '[\\u0300-\\u036f]', '', 'g') collate "und-x-icu")`
  const single = sql`translate(${bare}, ${letters(SINGLE.from)}, ${letters(SINGLE.to)})`
  const folded = SEVERAL.reduce((from, [several, to]) => sql`replace(${from}, ${letters(several)}, ${letters(to)})`, single)
  const ascii = sql`lower(${text} collate "C") collate "und-x-icu"`
  return sql`case when octet_length(${text}) = length(${text}) then ${ascii} else normalize(${folded}, NFC) end`
}
