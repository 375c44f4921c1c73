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

test.each(pages)('every link of %s leads to a file, and to a heading of it', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
  const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
  const dead = links.filter(([, file = '', anchor]) => {
    const target = file === '' ? page : join(page, '..', file)
    if (!existsSync(join(ROOT, target))) return true
    return anchor !== undefined && !anchorsOf(target).includes(anchor)
  })
  expect(dead.map(([link]) => link)).toEqual([])
})

test('pages are found at all', () => expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/recipes/README.md'])))
