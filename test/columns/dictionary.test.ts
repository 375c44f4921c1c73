import { expect, test } from 'bun:test'
import { Dictionary, HASH_SEED, hashed } from '../../src/columns/dictionary.ts'
import { Random } from '../support/random.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const random = new Random(1)

function hashOf(text: string, seed: number): number {
  return [...text].reduce((hash, letter) => hashed(hash, letter.charCodeAt(0)), seed)
}

/** Two texts that lead from a hash to the same one. */
function pairFrom(seed: number): [string, string] {
  const seen = new Map<number, string>()
  for (;;) {
    const text = Array.from({ length: 8 }, () => LETTERS[random.below(26)]).join('')
    const other = seen.get(hashOf(text, seed))
    if (other !== undefined && other !== text) return [other, text]
    seen.set(hashOf(text, seed), text)
  }
}

test('texts that were made to have one hash are refused before searches among them take long', () => {
  let texts = ['']
  for (let seed = HASH_SEED; texts.length < 2_048; seed = hashOf(texts[0] as string, HASH_SEED)) {
    const pair = pairFrom(seed)
    texts = texts.flatMap((text) => pair.map((more) => text + more))
  }
  const dictionary = new Dictionary()
  const codes = texts.slice(0, 500).map((text) => dictionary.code(text))
  expect([new Set(codes).size, dictionary.find(texts[499] as string)]).toEqual([500, codes.at(-1) as number])
  expect(() => texts.map((text) => dictionary.code(text))).toThrow('too many texts have hashes that are the same or alike')
  expect([dictionary.find('another'), dictionary.find(texts.at(-1) as string)]).toEqual([null, null])
})

test('texts that were made to lie side by side are refused, too, also once there is more room', () => {
  const dictionary = new Dictionary()
  const crowd = () => {
    for (let number = 0, added = 0; added < 5_000; number++) {
      const hash = hashOf(`t${number}`, HASH_SEED)
      // In one of 4,096 bands of a table of 2^18 slots, which such a table of any size has.
      if (((hash ^ (hash >>> 15)) & 0x3ffc0) !== 0) continue
      dictionary.code(`t${number}`)
      added++
    }
  }
  expect(crowd).toThrow('too many texts have hashes that are the same or alike')
})
