import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const texts = [...new Bun.Glob('{src,test}/**/*.{ts,mjs}').scanSync(ROOT)].map(read)

/** What all files mention, each once, in order. */
function mentioned(pattern: RegExp): string[] {
  const found = texts.flatMap((text) => [...text.matchAll(pattern)].map(([whole]) => whole))
  return [...new Set(found)].sort()
}

/** `4.2`, `4.2, Filtering`, `4.2, Filtering 5`, `5, rule 1`: whatever the page has a heading or a numbered item for. */
function citable(page: string): Set<string> {
  const found = new Set<string>()
  let section = ''
  let part = ''
  for (const line of page.split('\n')) {
    const [, number] = /^###? (\d(?:\.\d)?)\.? /.exec(line) ?? []
    const [, name] = /^#### (\w+)$/.exec(line) ?? []
    const [, item] = /^(\d+)\. /.exec(line) ?? []
    if (number) [section, part] = [number, '']
    if (name) part = name
    if (number || name) found.add(part === '' ? section : `${section}, ${part}`)
    if (item) found.add(part === '' ? `${section}, rule ${item}` : `${section}, ${part} ${item}`)
  }
  return found
}

describe('the specification', () => {
  const there = citable(read('docs/specification.md'))
  // `rules 1 and 2` are two citations.
  const cited = mentioned(/\bSpec \d(?:\.\d)?(?:, (?:rules? \d+(?: and \d+)?|[A-Z][a-z]+ing(?: \d+)?))?/g)
    .map((citation) => citation.replace('Spec ', ''))
    .flatMap((citation) => {
      const [, section, first, second] = /^(\S+), rules (\d+) and (\d+)$/.exec(citation) ?? []
      return section ? [`${section}, rule ${first}`, `${section}, rule ${second}`] : [citation]
    })

  test('has every section and rule that code and tests cite', () => {
    expect(cited).toEqual(expect.arrayContaining(['4.3', '4.2, Filtering 5', '7, rule 1', '4.1, rule 2']))
    expect(cited.filter((citation) => !there.has(citation))).toEqual([])
  })
})

const DECISION = /^- \*\*(D\d+) [^*]+\*\*/gm
/** Their numbers are not given again. */
const NEVER_SHIPPED = [47, 48, 49, 50, 52, 54, 68, 96]

describe('the decisions', () => {
  const page = read('docs/decisions.md')
  const numbers = [...page.matchAll(DECISION)].map(([, number = '']) => number)

  test('have each number from D1 on once, except for the numbers of designs that never shipped', () => {
    const places = numbers.map((number) => Number(number.slice(1)))
    const from1 = Array.from({ length: Math.max(...places) }, (_, index) => index + 1)
    expect({ missing: from1.filter((place) => !places.includes(place)) }).toEqual({ missing: NEVER_SHIPPED })
    expect(new Set(places).size).toBe(places.length)
    expect(numbers.length).toBeGreaterThan(39)
  })

  test('each have a reason, or a rejected alternative', () => {
    const texts = page.split(/^(?=- \*\*D)/m).slice(1)
    expect(texts.filter((text) => !/\*(Why|Rejected):\*/.test(text)).map((text) => text.slice(0, 40))).toEqual([])
    expect(texts).toHaveLength(numbers.length)
  })

  test('have an entry for each D number that code and tests cite', () => {
    const cited = mentioned(/\bD\d+\b/g)
    expect(cited.length).toBeGreaterThan(30)
    expect(cited.filter((number) => !numbers.includes(number))).toEqual([])
  })
})
