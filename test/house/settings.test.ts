import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../../src/config/settings.ts'
import { environmentExample, settingsHelp, settingsTable } from '../../src/config/settingsText.ts'

const ROOT = join(import.meta.dir, '../..')
/** `npm run write:settings` writes what these tests compare. */
const WRITES = process.env.WRITE_SETTINGS === '1'
const TABLE = /(?<=<!-- settings:begin -->\n)[\s\S]*?(?=<!-- settings:end -->)/

function compare(file: string, part: RegExp, text: string) {
  const path = join(ROOT, file)
  const whole = readFileSync(path, 'utf8')
  if (WRITES)
    writeFileSync(
      path,
      whole.replace(part, () => text),
    )
  const [found] = part.exec(readFileSync(path, 'utf8')) ?? []
  expect(found).toBe(text)
}

test('the README has the table of the main settings, the operator’s page that of all', () => {
  compare('README.md', TABLE, settingsTable(true))
  compare('docs/operations.md', TABLE, settingsTable())
})

test('.env.example has every setting', () => {
  compare('.env.example', /[\s\S]*/, environmentExample())
})

test('--help has every setting, in lines of up to 100 characters', () => {
  const lines = settingsHelp().split('\n')
  for (const name of Object.keys(settings))
    expect(lines.some((line) => line === `  ${name}` || line.startsWith(`  ${name} (`))).toBe(true)
  expect(lines.filter((line) => line.length > 100)).toEqual([])
})
