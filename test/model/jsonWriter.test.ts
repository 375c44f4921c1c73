import { describe, expect, test } from 'bun:test'
import { JsonWriter } from '../../src/model/jsonWriter.ts'
import { Random } from '../support/random.ts'

/** Seed of the random values, another one in each run; set SEED to the printed seed to repeat a run. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

const writer = new JsonWriter()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

function written(write: (into: JsonWriter) => void): string {
  write(writer)
  return decoder.decode(writer.take())
}

function textOf(text: string): string {
  const octets = new TextEncoder().encode(`<${text}>`)
  return written((into) => into.text(octets, 1, octets.length - 1))
}

describe('a text written as JSON', () => {
  test('equals that of JSON.stringify for each of the first 300 characters', () => {
    for (let code = 0; code < 300; code++) {
      const text = `a${String.fromCharCode(code)}b`
      expect(textOf(text)).toBe(JSON.stringify(text))
    }
  })

  test(`equals that of JSON.stringify for any characters; SEED=${SEED}`, () => {
    const random = new Random(SEED)
    const characters = [...'aZ09 "\\\n\t\r\b\f\u0000\u001f\u007f/<ß€ﬀ\u2028\ufeff😀\u{10ffff}']
    for (let times = 0; times < 500; times++) {
      const text = Array.from({ length: random.below(40) }, () => random.pick(characters)).join('')
      expect(textOf(text)).toBe(JSON.stringify(text))
    }
  })

  test('is complete also if it is longer than the buffer', () => {
    const text = '"€'.repeat(50_000)
    expect(textOf(text)).toBe(JSON.stringify(text))
    expect(textOf('short')).toBe('"short"')
  })
})

test('separators of any length are written between values, also when the buffer is nearly full', () => {
  const marks = ['', '"a":', ',"bc":', '{"Zoë€":', '[1,2,3,4]'].map((json) => ({ json, mark: new TextEncoder().encode(json) }))
  for (const times of [1, 5_000]) {
    const expected = marks.map(({ json }, index) => json + index).join('')
    const all = written((into) => {
      for (let time = 0; time < times; time++)
        for (const [index, { mark }] of marks.entries()) {
          into.raw(mark)
          into.integer(index)
        }
    })
    expect(all).toBe(expected.repeat(times))
  }
})

test('decimals are written as JSON with all digits of their scale', () => {
  const of = (units: number, scale: number) => written((into) => into.decimal(units, scale))
  expect([of(1, 8), of(0, 2), of(12, 0)]).toEqual(['0.00000001', '0.00', '12'])
  expect([of(999_999_999_999_999, 15), of(999_999_999_999_999, 4)]).toEqual(['0.999999999999999', '99999999999.9999'])
})

test('bytes that take() has returned do not change with later writes', () => {
  writer.json('[1]')
  const taken = writer.take()
  writer.json('{"a":"ß"}')
  expect(decoder.decode(taken)).toBe('[1]')
  expect(decoder.decode(writer.take())).toBe('{"a":"ß"}')
  expect(writer.take()).toHaveLength(0)
})
