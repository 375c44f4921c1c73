import { describe, expect, test } from 'bun:test'
import type { FileFault } from '../../src/cli/fileFault.ts'
import { jsonArray, jsonLines } from '../../src/cli/jsonText.ts'
import { inPieces } from '../support/pieces.ts'
import { Random } from '../support/random.ts'

const linesOf = (text: string, seed = 1) => Array.fromAsync(jsonLines(inPieces(text, new Random(seed))))
const arrayOf = (text: string) => Array.fromAsync(jsonArray(inPieces(text, new Random(1))))

describe('the rows of a file of JSON', () => {
  test('of lines are found however they come, with their lines', async () => {
    for (let seed = 0; seed < 50; seed++)
      expect(await linesOf('{}\n\n \r\n{"a":1.50}\r\n{}', seed)).toEqual([
        { at: 'line 1', json: '{}' },
        { at: 'line 4', json: '{"a":1.50}' },
        { at: 'line 5', json: '{}' },
      ])
  })

  test('of an array keep the digits of their numbers, and their texts', async () => {
    const rows = ['{"a":1234567890.12345678}', '{"b":[-0,1e400,1.50]}', '{"__proto__":{"c":"\\n\\u0000\u2028"}}', '7']
    expect(await arrayOf(`\n[ ${rows.join('\n, ')}]\n`)).toEqual(rows.map((json, index) => ({ at: `row ${index + 1}`, json })))
    expect(await arrayOf(' [ ] ')).toEqual([])
  })

  const tooLarge = "an array may have up to 64 MiB; make NDJSON of a larger one (jq -c '.[]' rows.json > rows.ndjson)"
  test.each([
    [linesOf, '{}\n{"a":1', 2, "it is not JSON: Expected '}'"],
    [linesOf, `{}\n{"a":"${'x'.repeat(3_000_000)}"}`, 2, 'a row of more than 1 MiB begins here'],
    [arrayOf, '[{"name": 1},\n', null, 'it is not JSON: '],
    [arrayOf, '{"a":1}', null, 'it must be an array; for an object in each line: --format ndjson'],
    [arrayOf, '{"a":1}\n{"a":2}', null, 'it is not JSON: '],
    [arrayOf, `[${' '.repeat(64 * 2 ** 20)}]`, null, tooLarge],
  ])('%# is wrong, and the fault says where', async (rowsOf, text, line, message) => {
    const fault: FileFault = await rowsOf(text).then(null, (error) => error)
    expect([fault.line, fault.message]).toEqual([line, expect.stringContaining(message)])
  })
})
