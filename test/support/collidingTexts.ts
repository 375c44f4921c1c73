import type { Random } from './random.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const START = 0x811c9dc5 | 0

/** Computes FNV-1a, a hash without a secret. */
function fnv(text: string, start: number): number {
  let hash = start
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

export function randomText(random: Random): string {
  return Array.from({ length: 8 }, () => LETTERS[random.below(26)]).join('')
}

/** Finds two texts that lead from a state of FNV-1a to the same state. */
function pairFrom(random: Random, start: number): [string, string] {
  const seen = new Map<number, string>()
  for (;;) {
    const text = randomText(random)
    const other = seen.get(fnv(text, start))
    if (other !== undefined && other !== text) return [other, text]
    seen.set(fnv(text, start), text)
  }
}

/** Makes 2,048 texts of 88 letters with the same FNV-1a hash. */
export function textsOfOneFnv(random: Random): string[] {
  let texts = ['']
  for (let start = START; texts.length < 2_048; start = fnv(texts[0] as string, START)) {
    const pair = pairFrom(random, start)
    texts = texts.flatMap((text) => pair.map((more) => text + more))
  }
  return texts
}
