import { describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NotPublished, PUBLISHED, pages, publish, readResults } from '../../bench/publish.ts'
import type { Results } from '../../bench/results.ts'
import { temporaryFolder } from '../support/process.ts'

const ROOT = join(import.meta.dir, '../..')
const FILES = [PUBLISHED, ...pages.map(({ path }) => path)]
const published = readResults(join(ROOT, PUBLISHED))
const read = (root: string, path: string) => readFileSync(join(root, path), 'utf8')

const folder = temporaryFolder()
const file = join(folder.path, 'run.json')
for (const path of FILES) {
  mkdirSync(dirname(join(folder.path, path)), { recursive: true })
  cpSync(join(ROOT, path), join(folder.path, path))
}

function publishRun(more: Partial<Results> = {}) {
  writeFileSync(file, `${JSON.stringify({ ...published, ...more })}\n`)
  publish(file, folder.path)
}

describe('the published run', () => {
  test('names no folder of the machine on which it ran', () => {
    expect(published.command).not.toMatch(/ --(data|output)\b| \//)
  })

  for (const { path, textFor } of pages)
    test(`the page ${path} shows the figures of the published run`, () => {
      const text = read(ROOT, path)
      expect(textFor(published, text)).toBe(text)
    })

  test('publishing a run again changes nothing, and publishing another run replaces the earlier one', () => {
    publishRun()
    for (const path of FILES) expect(read(folder.path, path)).toBe(read(ROOT, path))
    publishRun({ commit: 'abc1234' })
    for (const path of ['README.md', 'docs/benchmarks.md']) expect(read(folder.path, path)).toContain('Commit abc1234 on ')
    publishRun()
  })

  test('a published run shows the share of lists from memory, and how long the run took', () => {
    const found = { walk: 60, kept: 30, 'database: texts': 10 }
    const scenarios = published.scenarios.map((scenario) => ({
      ...scenario,
      targets: scenario.targets.map((target) => {
        const isCounted = scenario.name === 'new-lists' && target.target === 'roster'
        return isCounted ? { ...target, rounds: target.rounds.map((round) => ({ ...round, found })) } : target
      }),
    }))
    publishRun({ scenarios, minutes: 23.4 })
    const page = read(folder.path, 'docs/benchmarks.md')
    expect(page).toContain('| lists from memory, % |\n')
    expect(page.match(/^\| never asked before: .* \| 90\.0 \|$/gm)).toHaveLength(1)
    expect(page).toContain('`. It took 23.4 minutes. ')
    publishRun()
  })

  test.each([
    ['of a checkout with changes', { commit: 'abc1234+' }, 'a checkout with changes of its own'],
    ['without a scenario of the README', { scenarios: published.scenarios.slice(1) }, 'has no scenario one-by-id'],
  ])('a run %s is not published', (_, more, message) => {
    expect(() => publishRun(more)).toThrow(new RegExp(message))
    for (const path of FILES) expect(read(folder.path, path)).toBe(read(ROOT, path))
  })

  test('a run is not published if a page has no place for its figures', () => {
    writeFileSync(join(folder.path, 'README.md'), '# Name\n')
    expect(() => publishRun()).toThrow(NotPublished)
  })
})
