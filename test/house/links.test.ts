import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const pages = ['*.md', 'docs/**/*.md', 'bench/*.md'].flatMap((files) => [...new Bun.Glob(files).scanSync(ROOT)]).sort()

/** As GitHub makes them from headings. */
function anchorsOf(path: string): string[] {
  const headings = readFileSync(join(ROOT, path), 'utf8')
    .replace(/^```[\s\S]*?^```$/gm, '')
    .matchAll(/^#+ (.*)$/gm)
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test.each(pages)('every link of %s leads to an existing file, and to an existing heading if the link names one', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
  const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
  const dead = links.filter(([, file = '', anchor]) => {
    const target = file === '' ? page : join(page, '..', file)
    if (!existsSync(join(ROOT, target))) return true
    return anchor !== undefined && !anchorsOf(target).includes(anchor)
  })
  expect(dead.map(([link]) => link)).toEqual([])
})

const files = new TextDecoder()
  .decode(Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT }).stdout)
  .split('\n')
const NAME_OF_FILE = /`([\w./-]+\.(?:tsx?|mjs|sql|wat|ya?ml|md|py|go))`/g

/** Names in backquotes, each as a file's path ends. */
const namedFiles = (text: string) => [...text.matchAll(NAME_OF_FILE)].map(([, name = '']) => name)

// The changelog names files of former versions.
test.each(pages.filter((page) => page !== 'CHANGELOG.md'))('every file that %s names exists', (page) => {
  const named = namedFiles(readFileSync(join(ROOT, page), 'utf8'))
  expect(named.filter((name) => !files.some((path) => path === name || path.endsWith(`/${name}`)))).toEqual([])
})

test('docs/request.md follows each request through at most ten files', () => {
  const page = readFileSync(join(ROOT, 'docs/request.md'), 'utf8')
  const steps = page.split(/^## /m).map((part) => part.match(/^\| \d+ \| `src\//gm)?.length ?? 0)
  expect(steps.filter((count) => count > 0)).toHaveLength(2)
  expect(steps.filter((count) => count > 10)).toEqual([])
})

test('docs/glossary.md has at most 30 terms', () => {
  const terms = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8').match(/^\| (?!term|-)/gm) ?? []
  expect(terms.length).toBeGreaterThan(20)
  expect(terms.length).toBeLessThanOrEqual(30)
})

test('README.md and docs/recipes/README.md are among the pages that are checked', () =>
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/recipes/README.md'])))
