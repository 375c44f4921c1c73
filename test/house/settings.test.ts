import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Setting, settings, settingsHelp } from '../../src/config/settings.ts'

const ROOT = join(import.meta.dir, '../..')
/** `npm run write:settings` writes what these tests compare. */
const WRITES = process.env.WRITE_SETTINGS === '1'
const TABLE = /(?<=<!-- settings:begin -->\n)[\s\S]*?(?=<!-- settings:end -->)/

const all: [name: string, setting: Setting][] = Object.entries(settings)

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

test('the README has the table of the main settings, and docs/operations/run.md the table of all settings', () => {
  compare('README.md', TABLE, settingsTable(true))
  compare('docs/operations/run.md', TABLE, settingsTable())
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

/** The settings that most operators set; the README has them. */
const MAIN = /^(DATABASE_URL|DATA_DIR|HOST|PORT|WORKERS|PUBLIC_URL|BOOTSTRAP_API_KEY|RATE_LIMITS|TRUSTED_PROXIES|ADMIN_PORT)$/

/** A table in Markdown, of all settings or of the main ones. */
function settingsTable(isMain = false): string {
  const shownOnes = isMain ? all.filter(([name]) => MAIN.test(name)) : all
  const rows = shownOnes.map(([name, { default: fallback, meaning }]) => {
    const shown = fallback === null ? '' : `\`${fallback}\``
    return `| \`${name}\` | ${shown} | ${meaning.replaceAll('|', '\\|')} |`
  })
  return ['| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

/** The file `.env.example`. */
function environmentExample(): string {
  const blocks = all.map(([name, { default: fallback, meaning }]) => `# ${meaning}\n# ${name}=${fallback ?? ''}\n`)
  return ['# Copy to .env and take the # from what you set.\n', ...blocks].join('\n')
}
