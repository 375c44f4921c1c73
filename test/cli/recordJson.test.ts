import { describe, expect, test } from 'bun:test'
import { recordReader } from '../../src/cli/recordJson.ts'
import { boolean, decimal, defineEntity, identity, instant, integer, json, text, uuid } from '../../src/model/entity.ts'
import { csvRecords, type FileFault } from '../../src/spreadsheets/csvRecords.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const CASES = rounds(3_000, 100_000)
/** Yields the text in chunks that end between any two characters; chunks of a long text have up to a fifth of it. */
async function* inPieces(text: string, random: Random): AsyncGenerator<string> {
  const isHalf = (at: number) => /[\ud800-\udbff]/.test(text.charAt(at - 1))
  for (let at = 0; at < text.length; ) {
    let end = at + random.below(text.length / 5 + 3)
    if (isHalf(end)) end++
    yield text.slice(at, end)
    at = end
  }
}

const recordsOf = (text: string, random = new Random(text.length)) => Array.fromAsync(csvRecords(inPieces(text, random)))
const cellsOf = async (text: string, random?: Random) => (await recordsOf(text, random)).map(({ cells }) => cells)

/** A cell, in quotes or without, and the separator or line break that ends it. */
const cellPattern = (separator: string) =>
  new RegExp(`(?:"((?:[^"]|"")*)"|([^"\\r\\n${separator}]*))(${separator}|\\r\\n|\\n|\\r|$)`, 'y')

/** The records of a CSV by the grammar of RFC 4180, each with its line; null: its quotes are wrong. */
function oracle(text: string, separator: string): [line: number, cells: (string | null)[]][] | null {
  const pattern = cellPattern(separator)
  const records: [number, (string | null)[]][] = []
  let cells: (string | null)[] = []
  let begin = 0
  for (let at = 0; at < text.length || cells.length > 0; at = pattern.lastIndex) {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match === null) return null
    const [, quoted, plain, end] = match
    if (cells.length === 0) begin = at
    cells.push(quoted?.replaceAll('""', '"') ?? (plain || null))
    if (end === separator) continue
    const line = 1 + text.slice(0, begin).split(/\r\n|\n|\r/).length - 1
    if (cells.some((cell) => cell !== null)) records.push([line, cells])
    cells = []
  }
  return records
}

describe('records of a CSV', () => {
  const room = defineEntity('Room', {
    id: identity(),
    desks: integer(),
    area: decimal(2),
    balance: decimal(2, { min: -100 }),
    token: uuid(),
    settings: json(),
    open: boolean(),
    city: text({ required: true }),
  })
  const rowOf = async (text: string, entity = room) => {
    const [header, record] = await recordsOf(text)
    const reading = {
      isExcel: null,
      matched: null,
      notation: null,
      mapping: new Map(),
      lookups: [],
      empty: new Set<string>(),
      onNote: () => undefined,
    }
    return recordReader(entity, header as never, reading)(record as never)
  }

  test.each([
    ['Desks,Area\n12,2.500', '{"desks":12,"area":2.500}'],
    ['Desks;Area\n12;2,5', '{"desks":12,"area":2.5}'],
    ['Desks;Area\n12;1234.25', '{"desks":12,"area":1234.25}'],
    // An empty cell clears: the server names the property that may not be null.
    ['Area,Desks,Open,City\n1,,,', '{"area":1,"desks":null,"open":false,"city":null}'],
    [
      'Balance;Token\n-3,5;c56a4180-65aa-42ec-a945-5fd21dec0538',
      '{"balance":-3.5,"token":"c56a4180-65aa-42ec-a945-5fd21dec0538"}',
    ],
    // JSON is a value of its own, with its numbers as they are written.
    [
      'Settings,City\n"{""a"": [12345678901234567890.50, null], ""__proto__"": 1}",x',
      '{"settings":{"a":[12345678901234567890.50,null],"__proto__":1},"city":"x"}',
    ],
    ['Settings;City\n-1.5e3;x', '{"settings":-1.5e3,"city":"x"}'],
    ['Settings,City\n"""text""",x', '{"settings":"text","city":"x"}'],
    ['Settings,City\n,x', '{"settings":null,"city":"x"}'],
    // The server refuses the text.
    ['Desks;Area\n1.000;1', '{"desks":"1.000","area":1}'],
    ['Desks,Area\n1e3,1', '{"desks":"1e3","area":1}'],
  ])('become JSON: %j, %s', async (text, expected) => {
    expect((await rowOf(text)).json).toBe(expected)
  })

  test('get the time 23:59 for a day without a time, but only at the end of the last of several consecutive spans', async () => {
    const trip = defineEntity(
      'Trip',
      { id: identity(), leaves: instant(), arrives: instant(), returns: instant() },
      {
        notBefore: [
          ['arrives', 'leaves'],
          ['returns', 'arrives'],
        ],
      },
    )
    const { json: row } = await rowOf('leaves,arrives,returns\n2026-12-01,2026-12-02,2026-12-03', trip)
    expect(JSON.parse(row)).toEqual({
      leaves: '2026-12-01T00:00:00Z',
      arrives: '2026-12-02T00:00:00Z',
      returns: '2026-12-03T23:59:00Z',
    })
  })

  test('have a fault if the cell of a JSON property is no JSON', async () => {
    const { faults } = await rowOf('Settings,City\ntext,x')
    expect(faults).toEqual([{ message: 'settings must be JSON, in which texts have quotes.', value: 'text' }])
  })

  test.each([
    ['2.500', ';'],
    ['-1.000.000', ';'],
    ['2.500', '\t'],
  ])('have a fault for the number %s in a CSV with the separator %j, because it may mean thousands', async (cell, separator) => {
    const { faults } = await rowOf(`Desks${separator}Area\n1${separator}${cell}`)
    expect(faults).toEqual([
      { message: expect.stringContaining('area has two meanings: --locale de reads it as thousands'), value: cell },
    ])
  })
})

describe('csvRecords', () => {
  test('reads random CSVs in chunks of any size with the same records and lines as the grammar of RFC 4180', async () => {
    const random = new Random(17)
    let wrong = 0
    for (let at = 0; at < CASES; at++) {
      const separator = random.pick([',', ';', '\t'])
      const end = random.pick(['\r\n', '\n', '\r'])
      const cell = () => {
        const text = random.pick(['', 'a', ' b ', '😀', '1', separator, '"', '\r\n', '\n', 'x"y', `${separator}"`])
        return random.chance(60) || /["\r\n,;\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
      }
      const line = () => [cell(), ...random.times(3, cell)].join(separator)
      const whole = [`name${separator}b`, line(), ...random.times(5, line)].join(end) + random.pick(['', end])
      const header = 6 + end.length
      const text = random.chance(60) ? whole : whole.slice(0, header) + random.mangle(whole.slice(header))
      let found: unknown
      try {
        found = (await recordsOf(text, random)).map(({ line, cells }) => [line, cells])
      } catch {
        found = null
        wrong++
      }
      expect([text, found]).toEqual([text, oracle(text, separator)])
    }
    expect(wrong).toBeGreaterThan(CASES / 50)
  })

  test('returns the number of the line in which each record begins', async () => {
    const linesOf = async (text: string, seed: number) => (await recordsOf(text, new Random(seed))).map(({ line }) => line)
    for (let seed = 0; seed < 50; seed++) {
      expect(await linesOf('a,b\r\n1,"x\r\ny"\r\n\r\n"",\r\n"\n\n",1', seed)).toEqual([1, 2, 5, 6])
      expect(await linesOf('\n\na\r1\r"\r"\r2', seed)).toEqual([3, 4, 5, 7])
    }
  })

  test('uses the separator that a line such as `sep=;` before the header names', async () => {
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
  ])('reports wrong quotes in %j at line %d', async (text, line) => {
    const fault: FileFault = await cellsOf(text).then(
      () => null,
      (error) => error,
    )
    expect(fault.line).toBe(line)
  })

  test('reads a file with a single column as whole lines', async () => {
    expect(await cellsOf('name\na,b;c\td\n"e,\n"\n')).toEqual([['name'], ['a,b;c\td'], ['e,\n']])
  })

  test('yields the records before a fault, also if the CSV comes in chunks of any size', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const names: unknown[] = []
      const read = async () => {
        for await (const { cells } of csvRecords(inPieces('a\nb\nc"\nd', new Random(seed)))) names.push(cells[0])
      }
      await expect(read()).rejects.toThrow('its quotes are doubled')
      expect(names).toEqual(['a', 'b'])
    }
  })

  test.each([
    ['a text', 'name\n"', 'x', 2, 'a row of more than 1 MiB begins here'],
    ['a first line', '\r\n\n', 'x', 3, 'a row of more than 1 MiB begins here'],
    ['a row of empty cells', 'a,b\n\n', ',', 3, 'a row of more than 1 MiB begins here'],
    ['a text of many lines', 'a,b\n"x\n","', 'x\n', 3, 'the quote that ends a text is missing'],
  ])('refuses %s that never ends, before it takes more memory than one row may', async (_, begin, repeated, line, message) => {
    let taken = 0
    async function* endless() {
      yield begin
      for (;;) {
        taken += 65_536
        yield repeated.repeat(65_536 / repeated.length)
      }
    }
    const fault: FileFault = await Array.fromAsync(csvRecords(endless())).then(null, (error) => error)
    expect([fault.line, fault.message]).toEqual([line, message])
    expect(taken).toBeLessThan(3 * 1024 * 1024)
  })
})
