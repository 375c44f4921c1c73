import { describe, expect, test } from 'bun:test'
import { foldSql, foldText, isSurelyFolded } from '../../src/model/fold.ts'
import { param, sql, toStatement } from '../../src/model/sql.ts'
import { useDatabase } from '../support/database.ts'
import { foldedText } from '../support/foldedText.ts'
import { Random } from '../support/random.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

const { sql: database } = useDatabase('empty')

/** The texts as PostgreSQL folds them. */
async function foldedByPostgres(texts: readonly string[]): Promise<string[]> {
  const given = param(null)
  const { text } = toStatement(
    sql`select ${foldSql(sql`"V"`)} as folded from json_array_elements_text(${given}::text::json) with ordinality as given ("V", "N") order by "N"`,
    [given],
  )
  const rows = await database.unsafe(text, [JSON.stringify(texts)])
  return rows.map(({ folded }) => folded)
}

/** Texts that PostgreSQL, the server or the oracle folds otherwise than another of them. */
async function differences(texts: readonly string[]): Promise<unknown[]> {
  const folded = await foldedByPostgres(texts)
  return texts.flatMap((text, index) => {
    const all = { postgres: folded[index], server: foldText(text), oracle: foldedText(text) }
    return all.postgres === all.server && all.server === all.oracle ? [] : [{ text, codes: codesOf(text), ...all }]
  })
}

const codesOf = (text: string) => Array.from(text, (one) => one.codePointAt(0)?.toString(16)).join(' ')

test.each([
  ['case does not count', 'GROSS', 'gross'],
  ['accents do not count', 'Öberg Žižek Nguyễn', 'oberg zizek nguyen'],
  ['accents in any order and form do not count', 'e\u0301\u0323 e\u0323\u0301 ẹ\u0301', 'e e e'],
  ['a syllable of Hangul is one letter', '이 임 인', '이 임 인'],
  ['jamo make a syllable', '\u110b\u1175\u11b7', '임'],
  ['a kana with its mark is another letter', 'カ カ\u3099 ガ', 'カ ガ ガ'],
  ['dotless and dotted i are i', 'YILDIZ Yıldız İnci', 'yildiz yildiz inci'],
  ['ß is ss', 'Groß GROẞ', 'gross gross'],
  ['letters with a stroke are the letters', 'Łukasz Søren Đặng Ħamrun', 'lukasz soren dang hamrun'],
  ['ligatures are their letters', 'Ægir œuvre Griﬃn Ĳssel Ǆ', 'aegir oeuvre griffin ijssel dz'],
  ['thorn and eth are th and d', 'Þórður', 'thordur'],
  ['Catalan’s l·l is ll', 'Gal·la Gaŀla L·L', 'galla galla ll'],
  ['a sigma has one form', 'ΟΔΟΣ οδος', 'οδοσ οδοσ'],
  ['letters that are no variants of others stay', 'Əli Ɓala', 'əli ɓala'],
])('D72: %s, as in %s', async (_, text, folded) => {
  expect(foldText(text)).toBe(folded)
  expect(await foldedByPostgres([text])).toEqual([folded])
})

const ALPHABET = [
  ...['a', 'E', 's', 'S', 'l', 'L', 'i', 'I', 'o', ' ', '·', '-', "'", '9', '\n'],
  ...['é', 'ä', 'ǽ', 'ǿ', 'ệ', 'Ǆ', 'ǅ', 'ß', 'ẞ', 'æ', 'Æ', 'œ', 'Œ', 'ø', 'Ø', 'đ', 'Đ', 'ð', 'Ð', 'þ', 'Þ', 'ħ', 'ı', 'İ'],
  ...['ł', 'Ł', 'ŋ', 'ĸ', 'ŧ', 'ŀ', 'Ŀ', 'ŉ', 'ſ', 'ĳ', 'Ĳ', 'ǆ', 'ǉ', 'Ǌ', 'ǳ', 'ﬀ', 'ﬁ', 'ﬃ', 'ﬄ', 'ﬆ', 'ə', 'ɓ', 'K', 'Å'],
  ...['Σ', 'σ', 'ς', 'Ω', 'ᾳ', 'ΐ', 'й', 'Ё', 'ї', 'Ꭰ', 'ꭰ', 'აბ'],
  ...['이', '임', '가', '각', '\u1100', '\u110b', '\u1161', '\u1175', '\u11a8', '\u11b7', '\u11c2', '\u11f0', 'ㅇ', 'ㅣ'],
  ...['カ', 'ガ', 'は', 'ぱ', 'ｶ', '\u3099', '\u309a', 'ﾞ', 'か', 'ヴ', '漢', '\uf900'],
  ...[
    '\u0300',
    '\u0301',
    '\u0307',
    '\u0308',
    '\u0323',
    '\u031b',
    '\u0327',
    '\u0328',
    '\u0338',
    '\u0345',
    '\u034f',
    '\u035c',
    '\u0340',
  ],
  ...[
    '\u1dc4',
    '\u20d0',
    '\u20dd',
    '\u0591',
    '\u05b0',
    'א',
    '\ufb2e',
    'ا',
    '\u0653',
    '\u0654',
    '\u0655',
    '\u064b',
    'أ',
    'ئ',
    '\u0670',
  ],
  ...[
    'क',
    '\u093c',
    'क़',
    'ড',
    '\u09bc',
    '\u09c7',
    '\u09be',
    '\u0b47',
    '\u0b3e',
    '\u0dd9',
    '\u0dcf',
    '\u0dca',
    '\u1025',
    '\u102e',
  ],
  ...['\u0f71', '\u0f72', '\u0f73', '\u0e38', '\u0e48', '\u1b05', '\u1b35', '\u0cc6', '\u0cc2', '\u0cd5', '\u30d2'],
  ...['👩', '\u200d', '🚀', '🏽', '\ufe0f', '\u{1d15e}', '\u{2f800}', '\ufeff', '\u00a0', '\u00ad', 'ａ', 'Ａ', '½', '\u0378'],
  ...['\u11a7', '\u0898', '\u1ac1', '\u07fd', '\u0c3c', 'Ა', 'Ɤ', '\u{1e900}'],
]

describe('PostgreSQL and the server fold a text in the same way', () => {
  test('for random letters and marks in any order, except for texts that the server leaves to PostgreSQL', async () => {
    const random = new Random(firstSeed)
    const count = rounds(6_000, 200_000)
    for (let left = count; left > 0; left -= 2_000) {
      const texts = Array.from({ length: 2_000 }, () => {
        const letters = random.chance(30) ? random.times(12, () => random.pick(ALPHABET)).slice(0, 4) : ALPHABET
        return letters.length === 0 ? '' : random.times(9, () => random.pick(letters)).join('')
      })
      const sure = texts.filter(isSurelyFolded)
      expect(sure.length).toBeGreaterThan(1_000)
      expect(await differences(sure)).toEqual([])
      // Only PostgreSQL folds the other texts, which it must accept.
      expect(await foldedByPostgres(texts.filter((text) => !isSurelyFolded(text)))).not.toContain(null)
    }
  })

  test('for each letter with an x, an accent or a mark after it', async () => {
    const letters = Array.from({ length: 0xffff }, (_, code) => String.fromCharCode(1 + code)).filter(
      (letter) => /[^\p{Cs}\p{Cn}\p{Script=Han}\p{Script=Yi}]/u.test(letter) && isSurelyFolded(letter),
    )
    expect(letters.length).toBeGreaterThan(20_000)
    const marks = letters.filter((letter) => /\p{M}/u.test(letter))
    const texts = letters.flatMap((letter, index) => [`${letter}x`, `${letter}\u0301`, letter + marks[index % marks.length]])
    expect(await differences(texts)).toEqual([])
  })
})

test('each letter of Latin-1 and Latin Extended-A is found by typing ASCII letters', () => {
  const letters = Array.from({ length: 0x180 - 0xc0 }, (_, index) => String.fromCharCode(0xc0 + index)).filter((letter) =>
    /\p{L}/u.test(letter),
  )
  expect(letters.filter((letter) => !/^[a-z]+$/.test(foldText(letter)))).toEqual([])
})
