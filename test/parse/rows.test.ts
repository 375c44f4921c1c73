import { describe, expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { UnparsedRows } from '../../src/parse/body.ts'
import { findRows, parseRows } from '../../src/parse/rows.ts'
import { wholeAccess } from '../../src/rights/accesses.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const CASES = rounds(4_000, 200_000)

function findRowsOrNone(body: UnparsedRows): Promise<readonly string[] | string> {
  return findRows(body).catch(({ code }) => code)
}

function rowsOf(text: string, form: 'array' | 'lines' = 'array') {
  return findRowsOrNone(new UnparsedRows(text, form))
}

function parsed(texts: readonly string[]): unknown {
  try {
    return texts.map((text) => JSON.parse(text))
  } catch {
    return 'no JSON'
  }
}

function randomValue(random: Random, depth = 0): unknown {
  const kind = random.below(depth > 3 ? 3 : 5)
  if (kind === 0) return random.pick(['', '"', '\\', '\\"', ']', '},{', '😀', '\n', '[,]', ' '])
  if (kind < 3) return random.pick([1, -0.5, true, null])
  const members = random.times(4, () => randomValue(random, depth + 1))
  return kind === 3 ? members : Object.fromEntries(members.map((value, at) => [`${at}]"`, value]))
}

describe('the rows of an array', () => {
  test('are the same as by JSON.parse, and are refused if JSON.parse fails', async () => {
    const random = new Random(11)
    let wrong = 0
    for (let at = 0; at < CASES; at++) {
      const whole = JSON.stringify(
        random.times(6, () => randomValue(random)),
        null,
        random.below(3),
      )
      const text = random.chance(50) ? whole : random.mangle(whole)
      if (!/^\s*\[/.test(text)) continue
      const found = await rowsOf(text)
      let expected: unknown
      try {
        expected = JSON.parse(text)
      } catch {
        expected = null
      }
      if (expected === null) {
        wrong++
        expect([text, typeof found === 'string' ? 'no JSON' : parsed(found)]).toEqual([text, 'no JSON'])
      } else if ((expected as unknown[]).length === 0) expect([text, found]).toEqual([text, 'InvalidRows'])
      else expect([text, parsed(found as readonly string[])]).toEqual([text, expected])
    }
    expect(wrong).toBeGreaterThan(CASES / 10)
  })

  // D18: an excessive row is refused where it becomes so, though its end is far, or nowhere.
  test.each([
    ['escapes', `"N":"${'\\"'.repeat(100_001)}`],
    ['values', `"N":[${'1,'.repeat(1_100)}`],
    ['nested arrays', `"N":${'['.repeat(2_048)}`],
  ])('are refused for too many %s before the end of the row is found', async (_, start) => {
    const refused = { code: 'InvalidJson', target: '[1]' }
    for (const text of [`[{},{${start}`, `[{},{${start}"}]`])
      await expect(findRows(new UnparsedRows(text, 'array'))).rejects.toMatchObject(refused)
    await expect(findRows(new UnparsedRows(`{}\n{${start}`, 'lines'))).rejects.toMatchObject(refused)
  })

  test('are refused if the array does not end where the body ends', async () => {
    await expect(findRows(new UnparsedRows('[{}}]', 'array'))).rejects.toThrow('the array does not end where the body does')
  })

  test('are refused if there are more than 1,000, without a look at what follows', async () => {
    expect((await rowsOf(`[${'1,'.repeat(999)}1]`)).length).toBe(1_000)
    expect(await rowsOf(`[${'1,'.repeat(1_000)}1]`)).toBe('InvalidRows')
    // Nothing behind the last of them is looked at.
    expect(await rowsOf(`[${'1,'.repeat(1_001)}`)).toBe('InvalidRows')
  })
})

test('rows of NDJSON end at line feeds, and blank lines are skipped', async () => {
  expect(await rowsOf('{"a":1}\r\n \t\r\n\n{"b":"\u2028"}', 'lines')).toEqual(['{"a":1}\r', '{"b":"\u2028"}'])
  expect(await rowsOf(' \n\r\n', 'lines')).toBe('InvalidRows')
  expect(await rowsOf('', 'lines')).toBe('InvalidRows')
  expect(await rowsOf('1\n'.repeat(1_001), 'lines')).toBe('InvalidRows')
})

test('the rows of a long body are parsed with pauses, in which other requests can run', async () => {
  const { create } = wholeAccess(company, true, true)
  let turns = 0
  const counting = setInterval(() => turns++)
  const rows = Array.from({ length: 1_000 }, () => `{"Name":"long"${' '.repeat(20_000)}}`)
  const parsed = await parseRows(company, create as NonNullable<typeof create>, rows)
  expect(parsed.rows).toHaveLength(1_000)
  clearInterval(counting)
  expect(turns).toBeGreaterThan(0)
})
