import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { leaveOut, temporaryFolder } from '../support/process.ts'
import { findGo, GO_MODULE } from './go.ts'

const FOLDER = join(import.meta.dir, '../../.github/workflows')
const files = readdirSync(FOLDER).map((name) => join(FOLDER, name))
const { go, lack } = findGo()

/** Matches the part of a step that names an action by its commit, and its version for readers. */
const PINNED = /^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/

test('workflows name each action by the hash of its commit, because a tag can be moved', () => {
  const used = files.flatMap((file) => readFileSync(file, 'utf8').match(/\buses: .*$/gm) ?? [])
  expect(used.length).toBeGreaterThan(5)
  expect(used.filter((line) => !PINNED.test(line))).toEqual([])
})

/** Returns the complaints of actionlint about files. */
function lint(paths: readonly string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync([go as string, 'tool', 'actionlint', '-no-color', ...paths], {
    cwd: GO_MODULE,
  })
  return exitCode === 0 ? '' : `${stdout}${stderr}`
}

test('actionlint finds no fault in the workflows', async () => {
  if (go === null) return leaveOut('CI_REQUIRES_GO', lack)
  const faulty = join(temporaryFolder().path, 'faulty.yml')
  await Bun.write(
    faulty,
    'on: push\njobs:\n  a:\n    if: github.nothing == 1\n    runs-on: ubuntu-24.04\n    steps:\n      - run: date\n',
  )
  expect(lint([faulty])).toContain('property "nothing" is not defined')
  expect(lint(files)).toBe('')
})
