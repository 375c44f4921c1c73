import { describe, expect, test } from 'bun:test'
import { findRows, RowsText } from '../../src/parse/rowTexts.ts'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'

const CASES = rounds(4_000, 200_000)

async function rowsOf(text: string, form: 'array' | 'lines' = 'array'): Promise<string[] | string> {
  try {
    const places = await findRows(new RowsText(text, form))
    return Array.from({ length: places.length / 2 }, (_, row) => text.slice(places[2 * row], places[2 * row + 1]))
  } catch (error) {
    return (error as { code: string }).code
  }
}

function parsed(texts: string[]): unknown {
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

describe('rows of an array', () => {
  test('are those that JSON.parse finds, and where it finds none, none are', async () => {
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
      else expect([text, parsed(found as string[])]).toEqual([text, expected])
    }
    expect(wrong).toBeGreaterThan(CASES / 10)
  })

  test('let others have their turn, however long the text is', async () => {
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    while (turns < 3)
      await findRows(new RowsText(`[${'[1,2,"x"],'.repeat(900)}"${'[{,\\"'.repeat(400_000)}"]`, 'array'))
    clearInterval(timer)
  })

  test.each([
    ['[{"name":"A}]', 'at line 1, column 14 there must be the rest of a text, and the quote that ends it'],
    ['[{},\n', 'at line 2, column 1 there must be a value'],
    ['[{}', 'at line 1, column 4 there must be a comma, or ]'],
    ['[{} {}', 'at line 1, column 5 there must be a comma, or ]'],
  ])('%s does not end, and it is said where', async (text, message) => {
    const error = await findRows(new RowsText(text, 'array')).then(null, (thrown) => thrown)
    expect(error.message).toBe(`The body is not JSON: ${message}.`)
  })

  test('are counted no further than they may be', async () => {
    expect((await rowsOf(`[${'1,'.repeat(999)}1]`)).length).toBe(1_000)
    expect(await rowsOf(`[${'1,'.repeat(1_000)}1]`)).toBe('InvalidRows')
    // Nothing behind the last of them is looked at.
    expect(await rowsOf(`[${'1,'.repeat(1_001)}`)).toBe('InvalidRows')
  })
})

test('rows of lines let others have their turn, however many blank ones there are', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const text = `${' \n'.repeat(1_000_000)}{}`
  while (turns < 3) await findRows(new RowsText(text, 'lines'))
  clearInterval(timer)
})

test('rows of lines end at line feeds; blank lines are none', async () => {
  expect(await rowsOf('{"a":1}\r\n \t\r\n\n{"b":"\u2028"}', 'lines')).toEqual(['{"a":1}\r', '{"b":"\u2028"}'])
  expect(await rowsOf(' \n\r\n', 'lines')).toBe('InvalidRows')
  expect(await rowsOf('', 'lines')).toBe('InvalidRows')
  expect(await rowsOf('1\n'.repeat(1_001), 'lines')).toBe('InvalidRows')
})
