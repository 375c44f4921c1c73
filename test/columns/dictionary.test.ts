import { describe, expect, test } from 'bun:test'
import { Dictionary, TextsCollide } from '../../src/columns/dictionary.ts'
import { type Factors, hashOf, randomFactors } from '../../src/columns/textHash.ts'
import { randomText, textsOfOneFnv } from '../support/collidingTexts.ts'
import { Random } from '../support/random.ts'

const random = new Random(1)
const encoder = new TextEncoder()

function hashUnder(factors: Factors, text: string): number {
  const bytes = encoder.encode(text)
  return hashOf(bytes, 0, bytes.length, factors)
}

/** Returns texts with hashes close to each other under these factors: in one of 256 bands of 64 slots (up to 8,192 texts). */
function alike(factors: Factors, count: number, prefix = 't'): string[] {
  const texts: string[] = []
  for (let number = 0; texts.length < count; number++)
    if ((hashUnder(factors, `${prefix}${number}`) & 0x3fc0) === 0) texts.push(`${prefix}${number}`)
  return texts
}

/** Expects that each text has another code. */
function expectDistinct(dictionary: Dictionary, texts: readonly string[]) {
  const codes = texts.map((text) => dictionary.code(text))
  expect(new Set(codes).size).toBe(texts.length)
  expect(texts.map((text) => dictionary.find(text))).toEqual(codes)
  expect(codes.map((code) => dictionary.text(code))).toEqual([...texts])
}

describe('a dictionary', () => {
  test('accepts texts that were constructed to collide in FNV-1a', () => {
    expectDistinct(new Dictionary(), textsOfOneFnv(random))
  })

  test('chooses other hash factors if many texts collide, and the texts keep their codes', () => {
    const [known, texts] = [randomFactors(), Array.from({ length: 2_000 }, (_, index) => `before ${index}`)]
    const choices = [known, randomFactors()]
    const dictionary = new Dictionary(() => choices.shift() as Factors)
    expectDistinct(dictionary, [...texts, ...alike(known, 1_500)])
    expect(choices).toEqual([])
  })

  test('accepts texts that collide under its first hash factors, and texts that collide under the second ones', () => {
    const [first, second] = [randomFactors(), randomFactors()]
    const choices = [first, second, randomFactors()]
    const dictionary = new Dictionary(() => choices.shift() as Factors)
    expectDistinct(dictionary, [...alike(first, 1_500), ...alike(second, 1_500, 'u')])
    expect(choices).toEqual([])
  })

  test('refuses texts that collide under all hash factors, before lookups become slow', () => {
    const known = randomFactors()
    const dictionary = new Dictionary(() => known)
    const texts = alike(known, 1_500)
    expect(() => texts.map((text) => dictionary.code(text))).toThrow(TextsCollide)
    expect([dictionary.find('another'), dictionary.find(texts.at(-1) as string)]).toEqual([null, null])
  })
})

describe('hashes of texts', () => {
  /** Two different texts of one hash. */
  function pairUnder(factors: Factors): [string, string] {
    const seen = new Map<number, string>()
    for (;;) {
      const text = randomText(random)
      const hash = hashUnder(factors, text)
      const other = seen.get(hash)
      if (other !== undefined && other !== text) return [other, text]
      seen.set(hash, text)
    }
  }

  test('that are equal under some factors differ under other factors', () => {
    const [factors, other] = [randomFactors(), randomFactors()]
    for (let times = 0; times < 3; times++) {
      const [one, two] = pairUnder(factors)
      expect(hashUnder(other, one)).not.toBe(hashUnder(other, two))
    }
  })

  test('differ for similar texts: with the same begin or end, long ones, or with two blocks exchanged', () => {
    const factors = randomFactors()
    const long = 'x'.repeat(1_024)
    const texts = [
      'ab',
      'ba',
      `${long}ab`,
      `${long}ba`,
      `a${long}b`,
      `b${long}a`,
      `ab${long}`,
      `ba${long}`,
      `${long}${long}`,
      long,
    ]
    for (const text of [...texts]) texts.push(`${text}${text}`, `${text}x`)
    const distinct = [...new Set(texts)]
    expect(new Set(distinct.map((text) => hashUnder(factors, text))).size).toBe(distinct.length)
  })
})
