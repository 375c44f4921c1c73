import { describe, expect, test } from 'bun:test'
import { escapeFormulas, instantOfSpreadsheet, spreadsheetInstant, unescapeFormulas } from '../../src/model/spreadsheet.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const PIECES = ['=', '+', '-', '@', '＝', '＋', '－', '＠', "'", '"', ' ', ';', '|', '\t', '\r', '\n', '\v', '\u2028', ',', 'a']

describe('texts that a spreadsheet would read as formulas', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['Müller & Söhne - Ærø', 'Müller & Söhne - Ærø'],
    ['a;=1', "a;'=1"],
    ['a; -1', "a;' -1"],
    ['a\r\n+1', "a\r\n'+1"],
    ['＝1', "'＝1"],
    ["'=1", "''=1"],
    ['\t=1', "'\t'=1"],
    ['a\n\tb', 'a\n\tb'],
  ])('are escaped: %j becomes %j, and unescapeFormulas restores it', (text, escaped) => {
    expect(escapeFormulas(text)).toBe(escaped)
    expect(unescapeFormulas(escaped)).toBe(text)
  })

  test('are escaped so that no cell begins with a formula, whatever the separator, and unescapeFormulas restores them', () => {
    const random = new Random(12)
    for (let round = 0; round < rounds(5_000, 500_000); round++) {
      const text = random.times(9, () => random.pick(PIECES)).join('')
      const escaped = escapeFormulas(text)
      expect(unescapeFormulas(escaped)).toBe(text)
      for (const separator of [/[\r\n\v\u2028]/, /[;\r\n\v\u2028]/, /[\t\r\n\v\u2028]/, /[|\r\n\v\u2028]/])
        expect(escaped.split(separator).filter((cell) => /^[ "]*[=+\-@＝＋－＠]/.test(cell))).toEqual([])
    }
  })
})

test('a date-time in a spreadsheet is written without its zone, and read as UTC', () => {
  expect(spreadsheetInstant('2026-03-01 09:00:00+00')).toBe('2026-03-01 09:00:00')
  expect(instantOfSpreadsheet('2026-03-01 09:00:00')).toBe('2026-03-01T09:00:00Z')
  for (const text of ['2026-03-01 09:00', '2026-03-01T09:00:00Z', '01.03.2026 09:00:00'])
    expect(instantOfSpreadsheet(text)).toBeNull()
})
