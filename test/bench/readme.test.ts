import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rowsFor } from '../../bench/data/rows.ts'
import { scenariosFor } from '../../bench/scenarios.ts'
import manifest from '../../package.json'
import { run } from '../support/process.ts'

const ROOT = join(import.meta.dir, '../..')
const README = readFileSync(join(ROOT, 'bench/README.md'), 'utf8')

/** The text from the heading on, up to the next. */
function section(heading: string): string {
  return README.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
}

function cellsOf(text: string): string[][] {
  return [...text.matchAll(/^\| `(.*?)` \| (.*?) \|/gm)].map((cells) => cells.slice(1))
}

describe('what is written about the bench is what the bench does', () => {
  test('it lists every scenario with its title, and no other', () => {
    const scenarios = scenariosFor(rowsFor(1_000_000)).map(({ name, title }) => [name, title])
    expect(cellsOf(section('What is measured'))).toEqual(scenarios)
  })

  for (const [program, heading] of [
    ['bench/run.ts', 'Options of `npm run bench`'],
    ['bench/compare.ts', 'Two commits'],
  ] as const)
    test(`it lists every option of ${program}, and no other`, async () => {
      const help = run([process.execPath, '--no-env-file', program, '--help'])
      expect(await help.ended).toBe(0)
      const flags = [...help.output().matchAll(/^ {2}(--[^ ]+(?: [<[]\w+[>\]])?)/gm)].map(([, flag]) => flag as string)
      expect(
        cellsOf(section(heading))
          .map(([flag]) => flag as string)
          .sort(),
      ).toEqual(flags.sort())
      expect(flags.length).toBeGreaterThan(6)
    })

  test('the commands that it shows are there', () => {
    const commands = [...README.matchAll(/^(npm run|node src\/launch.mjs) ([\w:/.]+)/gm)].map(
      ([, how, what]) => [how, what as string] as const,
    )
    expect(commands.length).toBeGreaterThan(6)
    for (const [how, what] of commands)
      expect([what, how === 'npm run' ? what in manifest.scripts : existsSync(join(ROOT, what))]).toEqual([what, true])
  })
})
