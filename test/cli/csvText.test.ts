import { describe, expect, test } from 'bun:test'
import { parse } from 'csv-parse/sync'
import { type CsvFault, csvRecords } from '../../src/cli/csvText.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const CASES = rounds(3_000, 100_000)
const cellsOf = (text: string) => [...csvRecords(text)].map(({ cells }) => cells)

/** As csv-parse reads it; null: it does not. */
function oracle(text: string, delimiter: string): unknown {
  try {
    return parse(text, {
      ...{ delimiter, relax_column_count: true, skip_empty_lines: true, record_delimiter: ['\r\n', '\n', '\r'] },
      cast: (value, { quoting }) => (quoting || value !== '' ? value : null),
    })
  } catch {
    return null
  }
}

describe('the records of a CSV', () => {
  test('are those that csv-parse reads, of any texts', () => {
    const random = new Random(17)
    let wrong = 0
    for (let at = 0; at < CASES; at++) {
      const [separator, end] = [random.pick([',', ';', '\t']), random.pick(['\r\n', '\n', '\r'])]
      const cell = () => {
        const text = random.pick(['', 'a', ' b ', '😀', '1', separator, '"', '\r\n', '\n', 'x"y', `${separator}"`])
        return random.chance(60) || /["\r\n,;\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
      }
      const line = () => [cell(), ...random.times(3, cell)].join(separator)
      const whole = [`name${separator}b`, line(), ...random.times(5, line)].join(end) + random.pick(['', end])
      const header = 6 + end.length
      const text = random.chance(60) ? whole : whole.slice(0, header) + random.mangle(whole.slice(header))
      // Files are UTF-8, which has no half of a character; and csv-parse takes NUL for none.
      if (!text.isWellFormed() || text.includes('\0')) continue
      let found: unknown
      try {
        found = cellsOf(text)
      } catch {
        found = null
        wrong++
      }
      expect([text, found]).toEqual([text, oracle(text, separator)])
    }
    expect(wrong).toBeGreaterThan(CASES / 50)
  })

  test('begin at the lines of their first characters', () => {
    const linesOf = (text: string) => [...csvRecords(text)].map(({ line }) => line)
    expect(linesOf('a,b\r\n1,"x\r\ny"\r\n\r\n"",\r\n"\n\n",1')).toEqual([1, 2, 5, 6])
    expect(linesOf('\n\na\r1\r"\r"\r2')).toEqual([3, 4, 5, 7])
  })

  test.each([
    ['a\n"b\n\nc', 2],
    ['a\n"b"c', 2],
    ['a\n"x\ny",b"c', 3],
  ])('%j is wrong in line %d', (text, line) => {
    let fault: CsvFault | null = null
    try {
      cellsOf(text)
    } catch (error) {
      fault = error as CsvFault
    }
    expect(fault?.line).toBe(line)
  })

  test('of long texts are read', () => {
    const long = `${'x""y\n'.repeat(200_000)}`
    expect(cellsOf(`a\n"${long}"`)[1]?.[0]).toBe(long.replaceAll('""', '"'))
  })
})
