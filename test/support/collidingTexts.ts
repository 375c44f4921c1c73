import type { Random } from './random.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const START = 0x811c9dc5 | 0

/** FNV-1a, a hash without a secret. */
function fnv(text: string, start: number): number {
  let hash = start
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

export function randomText(random: Random): string {
  return Array.from({ length: 8 }, () => LETTERS[random.below(26)]).join('')
}

/** Two texts that lead from a state of FNV-1a to the same one. */
function pairFrom(random: Random, start: number): [string, string] {
  const seen = new Map<number, string>()
  for (;;) {
    const text = randomText(random)
    const other = seen.get(fnv(text, start))
    if (other !== undefined && other !== text) return [other, text]
    seen.set(fnv(text, start), text)
  }
}

/** 2,048 texts of 88 letters, made of pairs, that FNV-1a takes for one. */
export function textsOfOneFnv(random: Random): string[] {
  let texts = ['']
  for (let start = START; texts.length < 2_048; start = fnv(texts[0] as string, START)) {
    const pair = pairFrom(random, start)
    texts = texts.flatMap((text) => pair.map((more) => text + more))
  }
  return texts
}
