import { describe, expect, test } from 'bun:test'
import { JsonWriter, markOf } from '../../src/respond/jsonWriter.ts'
import { Random } from '../support/random.ts'

/** Another each time; a run is repeated with the one that it printed. */
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

describe('a text', () => {
  test('of each of the first 300 characters is as JSON.stringify prints it', () => {
    for (let code = 0; code < 300; code++) {
      const text = `a${String.fromCharCode(code)}b`
      expect(textOf(text)).toBe(JSON.stringify(text))
    }
  })

  test(`of any characters is as JSON.stringify prints it; SEED=${SEED}`, () => {
    const random = new Random(SEED)
    const characters = [...'aZ09 "\\\n\t\r\b\f\u0000\u001f\u007f/<ß€ﬀ\u2028\ufeff😀\u{10ffff}']
    for (let times = 0; times < 500; times++) {
      const text = Array.from({ length: random.below(40) }, () => random.pick(characters)).join('')
      expect(textOf(text)).toBe(JSON.stringify(text))
    }
  })

  test('that is long finds room', () => {
    const text = '"€'.repeat(50_000)
    expect(textOf(text)).toBe(JSON.stringify(text))
    expect(textOf('short')).toBe('"short"')
  })
})

test(`integers are as JavaScript prints them; SEED=${SEED}`, () => {
  const random = new Random(SEED)
  const numbers = [0, 1, 9, 10, 2 ** 31 - 1, 2 ** 31, 10 ** 15, Number.MAX_SAFE_INTEGER]
  for (let digits = 1; digits <= 15; digits++)
    for (let times = 0; times < 20; times++) numbers.push(10 ** digits - 1 - random.below(10 ** Math.min(digits, 9)))
  for (const number of numbers) expect(written((into) => into.integer(number))).toBe(String(number))
})

test('marks stand between what is written, whatever their length, also where there is little room', () => {
  const marks = ['', '"a":', ',"bc":', '{"Zoë€":', '[1,2,3,4]'].map((json) => ({ json, mark: markOf(json) }))
  for (const times of [1, 5_000]) {
    const expected = marks.map(({ json }, index) => json + index).join('')
    const all = written((into) => {
      for (let time = 0; time < times; time++)
        for (const [index, { mark }] of marks.entries()) {
          into.mark(mark)
          into.integer(index)
        }
    })
    expect(all).toBe(expected.repeat(times))
  }
})

test('decimals have all digits of their scale', () => {
  const of = (units: number, scale: number) => written((into) => into.decimal(units, scale))
  expect(of(850_000_000, 8)).toBe('8.50000000')
  expect(of(1, 8)).toBe('0.00000001')
  expect(of(0, 2)).toBe('0.00')
  expect(of(12, 0)).toBe('12')
  expect(of(999_999_999_999_999, 15)).toBe('0.999999999999999')
  expect(of(999_999_999_999_999, 4)).toBe('99999999999.9999')
})

test('instants are as RFC 3339 has them', () => {
  const of = (year: number, month: number, day: number, seconds: number) =>
    written((into) => into.instant(year, month, day, seconds))
  expect(of(1, 1, 1, 0)).toBe('"0001-01-01T00:00:00Z"')
  expect(of(2024, 2, 29, 9 * 3_600 + 5 * 60 + 7)).toBe('"2024-02-29T09:05:07Z"')
  expect(of(9_999, 12, 31, 86_399)).toBe('"9999-12-31T23:59:59Z"')
})

test('what is taken stays as it is, whatever is written then', () => {
  writer.json('[1]')
  const taken = writer.take()
  writer.json('{"a":"ß"}')
  expect(decoder.decode(taken)).toBe('[1]')
  expect(decoder.decode(writer.take())).toBe('{"a":"ß"}')
  expect(writer.take()).toHaveLength(0)
})
