import { describe, expect, test } from 'bun:test'
import type { FileFault } from '../../src/cli/fileFault.ts'
import { jsonRows } from '../../src/cli/jsonText.ts'
import { inPieces } from '../support/pieces.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const CASES = rounds(3_000, 100_000)
const rowsOf = (text: string, random: Random) => Array.fromAsync(jsonRows(inPieces(text, random)))
const parsed = (text: string) => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

describe('the rows of a file of JSON', () => {
  test('are the values of its array, however it comes, and none where JSON.parse reads none', async () => {
    const random = new Random(23)
    let wrong = 0
    for (let at = 0; at < CASES; at++) {
      const value = () =>
        random.pick<unknown>([{}, { name: 'a "b" \\\\' }, { n: [1, { x: ']' }] }, '],[', 1.5, null, [], { '{"': '\n' }])
      const text = ` ${JSON.stringify(random.times(5, value), null, random.pick([0, 2]))}\n`
      const whole = random.chance(60) ? text : ` [${random.mangle(text.trim().slice(1))}`
      const expected = parsed(whole)
      const found = await rowsOf(whole, random).then(
        (rows) => rows.map(({ json }) => JSON.parse(json)),
        () => null,
      )
      if (expected === null) wrong++
      expect([whole, found]).toEqual([whole, expected])
    }
    expect(wrong).toBeGreaterThan(CASES / 10)
  })

  test('begin at the lines of their first characters', async () => {
    for (let seed = 0; seed < 50; seed++) {
      const linesOf = async (text: string) => (await rowsOf(text, new Random(seed))).map(({ line }) => line)
      expect(await linesOf('\n[\n{},\n\n {"a":\n1}, 2\n,3]\n')).toEqual([3, 5, 6, 7])
      expect(await linesOf('{}\n\n \r\n{"a":1}\r\n{}')).toEqual([1, 4, 5])
    }
    expect(await rowsOf('', new Random(1))).toEqual([])
    expect(await rowsOf(' [ ] ', new Random(1))).toEqual([])
  })

  test.each([
    ['[{"name": 1},\n', 2, 'the file ends before the array does'],
    ['[{},\n,{}]', 2, 'it is not JSON: there must be a value'],
    ['[{}]\n[]', 2, 'nothing may follow the array'],
    ['[{}\n}', 1, 'a value of the array ends with }, which begins nowhere'],
    ['{}\n{"a":1', 2, 'it is not JSON: there must be a comma, or }'],
    ['[{"a":\n"x\ny"}]', 2, 'it is not JSON: there must be the rest of a text, and the quote that ends it'],
    [`[{"a":"${'x'.repeat(3_000_000)}"}]`, 1, 'a row of more than 1 MiB begins here'],
    [`{}\n{"a":"${'x'.repeat(3_000_000)}"}`, 2, 'a row of more than 1 MiB begins here'],
  ])('%# is wrong, and it is said in which line', async (text, line, message) => {
    const fault: FileFault = await rowsOf(text, new Random(1)).then(null, (error) => error)
    expect([fault.line, fault.message]).toEqual([line, message])
  })
})
