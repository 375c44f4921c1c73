import { describe, expect, test } from 'bun:test'
import { parse } from 'csv-parse/sync'
import { csvRecords, csvWriter, type FileFault } from '../../src/cli/csvText.ts'
import { boolean, decimal, defineEntity, identity, integer, text } from '../../src/model/entity.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const CASES = rounds(3_000, 100_000)
/** The text in pieces that end anywhere: short ones of a short text, up to a fifth of a long one. */
async function* inPieces(text: string, random: Random): AsyncGenerator<string> {
  for (let at = 0; at < text.length; ) {
    const end = at + random.below(text.length / 5 + 3)
    yield text.slice(at, end)
    at = end
  }
}

const recordsOf = (text: string, random = new Random(text.length)) => Array.fromAsync(csvRecords(inPieces(text, random)))
const cellsOf = async (text: string, random?: Random) => (await recordsOf(text, random)).map(({ cells }) => cells)

/** As csv-parse reads it; null: it does not. */
function oracle(text: string, delimiter: string): unknown {
  try {
    const records: (string | null)[][] = parse(text, {
      ...{ delimiter, relax_column_count: true, skip_empty_lines: true, record_delimiter: ['\r\n', '\n', '\r'] },
      cast: (value, { quoting }) => (quoting || value !== '' ? value : null),
    })
    return records.filter((cells) => cells.some((cell) => cell !== null))
  } catch {
    return null
  }
}

describe('numbers of a CSV', () => {
  const room = defineEntity('Room', {
    id: identity(),
    desks: integer(),
    area: decimal(2),
    open: boolean(),
    city: text({ required: true }),
  })
  const rowOf = async (text: string) => {
    const [header, record] = await recordsOf(text)
    return csvWriter(room, header as never, { isExcel: null, matched: null, onNote: () => undefined })(record as never)
  }

  test.each([
    ['Desks,Area\n12,2.500', '{"desks":12,"area":2.500}'],
    ['Desks;Area\n12;2,5', '{"desks":12,"area":2.5}'],
    ['Desks;Area\n12;1234.25', '{"desks":12,"area":1234.25}'],
    // An empty cell clears: the server names the property that may not be null.
    ['Area,Desks,Open,City\n1,,,', '{"area":1,"desks":null,"open":false,"city":null}'],
    // The server refuses the text.
    ['Desks;Area\n1.000;1', '{"desks":"1.000","area":1}'],
    ['Desks,Area\n1e3,1', '{"desks":"1e3","area":1}'],
  ])('%j is %s', async (text, expected) => {
    expect(await rowOf(text)).toBe(expected)
  })

  test.each([
    ['2.500', ';'],
    ['-1.000.000', ';'],
    ['2.500', '\t'],
  ])('%s beside %j may be thousands, so it is refused', async (cell, separator) => {
    await expect(rowOf(`Desks${separator}Area\n1${separator}${cell}`)).rejects.toThrow(`area is ${cell}: write it without points`)
  })
})

describe('the records of a CSV', () => {
  test('are those that csv-parse reads, of any texts, however they come', async () => {
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
        found = await cellsOf(text, random)
      } catch {
        found = null
        wrong++
      }
      expect([text, found]).toEqual([text, oracle(text, separator)])
    }
    expect(wrong).toBeGreaterThan(CASES / 50)
  })

  test('begin at the lines of their first characters', async () => {
    const linesOf = async (text: string, seed: number) => (await recordsOf(text, new Random(seed))).map(({ line }) => line)
    for (let seed = 0; seed < 50; seed++) {
      expect(await linesOf('a,b\r\n1,"x\r\ny"\r\n\r\n"",\r\n"\n\n",1', seed)).toEqual([1, 2, 5, 6])
      expect(await linesOf('\n\na\r1\r"\r"\r2', seed)).toEqual([3, 4, 5, 7])
    }
  })

  test('are separated by what a line before the header names, as Excel takes it', async () => {
    for (let seed = 0; seed < 30; seed++) {
      for (const [separator, end] of [
        [';', '\r\n'],
        ['|', '\n'],
        ['\t', '\r'],
        [',', '\r\n'],
      ]) {
        const records = await recordsOf(`sep=${separator}${end}a${separator}"b,"${end}1${separator}2`, new Random(seed))
        expect(records.map(({ line, cells }) => [line, cells])).toEqual([
          [2, ['a', 'b,']],
          [3, ['1', '2']],
        ])
      }
    }
    expect(await cellsOf('\n"SEP=;"\na,b;c\n')).toEqual([['a,b', 'c']])
    expect(await cellsOf('sep=;')).toEqual([])
    await expect(recordsOf('sep=x\na')).rejects.toThrow('sep= names a comma, a semicolon, a tab or |, and nothing else')
  })

  test.each([
    ['a\n"b\n\nc', 2],
    ['a\n"b"c', 2],
    ['a,b\n"x\ny",b"c', 3],
  ])('%j is wrong in line %d', async (text, line) => {
    const fault: FileFault = await cellsOf(text).then(
      () => null,
      (error) => error,
    )
    expect(fault.line).toBe(line)
  })

  test('without an end take no more memory than a row may have', async () => {
    let taken = 0
    async function* endless() {
      yield 'name\n"'
      for (;;) {
        taken += 65_536
        yield 'x'.repeat(65_536)
      }
    }
    const fault: FileFault = await Array.fromAsync(csvRecords(endless())).then(null, (error) => error)
    expect([fault.line, fault.message]).toEqual([2, 'a row of more than 1 MiB begins here'])
    expect(taken).toBeLessThan(3 * 1024 * 1024)
  })
})
