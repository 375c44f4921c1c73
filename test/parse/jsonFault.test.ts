import { describe, expect, test } from 'bun:test'
import { findJsonFault } from '../../src/parse/jsonFault.ts'
import { Random } from '../support/random.ts'

const placeIn = (text: string) => {
  const fault = findJsonFault(text)
  return fault && `${fault.line}:${fault.column} ${fault.expected}`
}
const REST = 'the rest of a text, and the quote that ends it'
const NAME = "a property's name in double quotes"

describe('the first place at which a text is not JSON', () => {
  test.each([
    ['{"Name": "a",}', `1:14 ${NAME}`],
    ["{'Name': 1}", `1:2 ${NAME}, or }`],
    ['{Name: 1}', `1:2 ${NAME}, or }`],
    ['{"Name" 1}', '1:9 a colon'],
    ['{"Name": }', '1:10 a value'],
    ['{\n  "Name": \'a\'\n}', '2:11 a value'],
    ['{"a": 1 "b": 2}', '1:9 a comma, or }'],
    ['{"a": [1 2]}', '1:10 a comma, or ]'],
    ['{"a": [1, ]}', '1:11 a value'],
    ['{"a": [1}', '1:9 a comma, or ]'],
    ['{"a": [', '1:8 a value, or ]'],
    ['{"a": 1', '1:8 a comma, or }'],
    ['{"a": 1}\r\n{}', '2:1 nothing more'],
    ['{"a": 01}', '1:7 a value'],
    ['{"a": 1.}', '1:7 a value'],
    ['{"a": +1}', '1:7 a value'],
    ['{"a": True}', '1:7 a value'],
    ['{"a": undefined}', '1:7 a value'],
    ['{"a": NaN}', '1:7 a value'],
    ['{"a": "b}', `1:10 ${REST}`],
    ['{"a": "b\nc"}', `1:9 ${REST}`],
    ['{"a": "\\x"}', `1:8 ${REST}`],
    ['{"a": "\\u12"}', `1:8 ${REST}`],
    ['{"😀": x}', '1:8 a value'],
    ['// {}', '1:1 a value'],
    ['x', '1:1 a value'],
    [']', '1:1 a value'],
  ])('%j: %s', (text, place) => {
    expect(placeIn(text)).toBe(place)
  })

  test('is none in JSON', () => {
    const all = ' {"a":[],"b":{},"c":[1,-0.5e+3,true,false,null,"\\u00e9\\n\\"",{"d":[[]]}]}\r\n\t'
    for (const text of [all, '1', '"x"', 'null', '[]']) expect(findJsonFault(text)).toBeNull()
  })
})

/** Node's parser says where it stopped, Bun's does not. */
const ORACLE = `
  const { line } = require('node:process')
  const texts = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
  console.log(JSON.stringify(texts.map((text) => {
    try { return (JSON.parse(text), null) } catch (error) {
      const [, at] = /at position (\\d+)/.exec(error.message) ?? []
      return at === undefined ? (/end of JSON/.test(error.message) ? text.length : -1) : Number(at)
    }
  })))`

test('agrees with JSON.parse, and with the place where that of Node stops, for 2,000 bodies with a slip', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = new Random(seed)
  const bodies = [
    '{"Name":"Acme \\u00e9","Enabled":true}',
    '{\n "Period": {"Days": 4.50, "Hours": [1, 2e3]},\n "End": null\n}',
  ]
  const texts = Array.from({ length: 2_000 }, () => {
    const body = random.pick(bodies)
    const at = random.below(body.length + 1)
    const character = random.pick([...'{}[],:"\\\n 01.eE-+tnu\'x', ''])
    return body.slice(0, at) + character + body.slice(at + random.below(3))
  })
  const oracle = Bun.spawn(['node', '-e', ORACLE], { stdin: new Blob([JSON.stringify(texts)]), stdout: 'pipe' })
  const places: (number | null)[] = JSON.parse(await new Response(oracle.stdout).text())
  const differing = texts.filter((text, index) => {
    const fault = findJsonFault(text)
    const place = places[index] as number | null
    if (fault === null || place === null) return fault !== place
    const before = text.split('\n').slice(0, fault.line - 1)
    const own = before.join('\n').length + (before.length > 0 ? 1 : 0) + fault.column - 1
    // Within a number, a word or an escape it stops behind the characters that could have been one.
    return place !== -1 && !/^[\w.+\\-]{0,6}$/.test(text.slice(Math.min(own, place), Math.max(own, place)))
  })
  expect([seed, differing]).toEqual([seed, []])
  expect(places.filter((place) => place === null).length).toBeGreaterThan(50)
  expect(places.filter((place) => place !== null).length).toBeGreaterThan(500)
})

test('is not looked for behind 10,000 values and signs', () => {
  expect(placeIn(`[${'1,'.repeat(4_000)}x`)).toBe('1:8002 a value')
  expect(placeIn(`[${'1,'.repeat(6_000)}x`)).toBeNull()
  expect(placeIn('['.repeat(2 ** 20))).toBeNull()
})

test('is found in a text of 1 MiB of few values', () => {
  for (const text of [`{"a":"${'x'.repeat(2 ** 20)}`, '\n'.repeat(2 ** 20), `${'1'.repeat(2 ** 20)}x`])
    expect(findJsonFault(text)).not.toBeNull()
})
