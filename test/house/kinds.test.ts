import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { KIND_TRAITS } from '../../src/model/kindTraits.ts'

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
/** The page `/explore` learns of kinds from the OpenAPI document, and has its own. */
const files = [...new Bun.Glob('src/**/*.{ts,tsx}').scanSync(ROOT)].filter(
  (path) => !path.startsWith('src/pages/explore/') && path !== 'src/model/kindTraits.ts',
)

const NAME = `'(?:${Object.keys(KIND_TRAITS).join('|')})'`
/** Matches code that decides something by the name of a kind. */
const DECISION = new RegExp(
  [
    `\\b(?:kind|name)\\)? *[!=]== *${NAME}`,
    `${NAME} *[!=]== *(?:\\w+\\.)*(?:kind|name)\\b`,
    `\\[[^\\]]*${NAME}[^\\]]*\\]\\.includes\\(`,
    '\\bkind\\.name in\\b',
    '\\bname in [A-Z_]{2,}(?=\\)| [&|?])',
    '\\bswitch \\((?:\\w+\\.)*kind(?:\\.name)?\\)',
    `\\bcase ${NAME}:`,
  ].join('|'),
)
/** Matches an entry of a table by kind, on a line of its own or after other entries. No other tables have these names. */
const ENTRY = /^\s+(?:oneOf|decimal|instant): |= \{ .*\b(?:decimal|instant): /
/** Matches the type of a table by kind, which lacks none of them. */
const WHOLE = /(?<!Partial<)\bRecord<(?:KindName|PlainName|TemporalName|NotatedName),/

/** Lines of src that match, as `path:line`. */
function linesOf(pattern: RegExp): string[] {
  return files.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  )
}

/** Returns the first and the last line of the literal that has an entry, by their indentation. */
function literalAround(lines: readonly string[], entry: number): string {
  const line = lines[entry] ?? ''
  if (!/^\s+\w+: /.test(line)) return line
  const depthOf = (text: string) => text.length - text.trimStart().length
  const isOutside = (text: string) => text.trim() !== '' && depthOf(text) < depthOf(line)
  return `${lines.slice(0, entry).findLast(isOutside)} ${lines.slice(entry).find(isOutside)}`
}

describe('a new kind of property', () => {
  test('needs no code that asks for its name: src decides by the traits of a kind', () => {
    expect(linesOf(DECISION)).toEqual([])
  })

  test.each([
    "if (kind.name === 'date') return day",
    "const isText = name !== 'text'",
    "filter(({ kind }) => ['text', 'integer'].includes(kind.name))",
    '...(kind.name in FORMATS ? format : {})',
    'switch (property.kind.name) {',
    "    case 'instant':",
  ])('would be overlooked by code such as %s, which the pattern of these tests finds', (line) =>
    expect(DECISION.test(line)).toBe(true),
  )

  test('does not compile until each table by kind has an entry for it', () => {
    const tables = files.flatMap((path) => {
      const lines = read(path).split('\n')
      return lines.flatMap((line, index) => (ENTRY.test(line) ? [{ path, text: literalAround(lines, index) }] : []))
    })
    expect(tables.length).toBeGreaterThan(10)
    expect(tables.filter(({ text }) => !WHOLE.test(text))).toEqual([])
  })

  test('can be unique if its traits say so, and docs/entities.md names exactly these kinds', () => {
    const [, kinds = ''] = /^\| `unique: true` \|.* Of (.*?) \|$/m.exec(read('docs/entities.md')) ?? []
    const unique = Object.entries(KIND_TRAITS).flatMap(([name, { mayBeUnique }]) => (mayBeUnique ? [name] : []))
    expect([...kinds.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual([...unique, 'reference'].sort())
  })

  test('needs an entry in each file with a table by kind, and docs/architecture.md names exactly these files', () => {
    const [, steps = ''] = /^### A kind of property\n(.*?)^#/ms.exec(read('docs/architecture.md')) ?? []
    const named = [...steps.matchAll(/^\| `(src\/[\w/]+\.ts)`/gm)].map(([, path]) => path)
    const having = linesOf(WHOLE).map((place) => place.slice(0, place.indexOf(':')))
    expect([...new Set(having)].sort()).toEqual(named.sort() as string[])
  })
})
