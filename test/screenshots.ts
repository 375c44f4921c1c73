// The README's images, as Chromium shows them: `npm run screenshots`, or with a page of `npm run bench` behind `--`.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import { startBrowser } from './support/browser.ts'
import { endPrograms, runMain, temporaryFolder } from './support/process.ts'

const ROOT = join(import.meta.dir, '..')
const FOLDER = join(ROOT, 'docs/images')
const PUBLISHED = join(ROOT, 'bench/published')
const VIEWPORT = { width: 1280, height: 800 }
/** A README is loaded by many who only pass by. */
const BYTES_MAX = 200_000

/** The scenario of the bench that the README shows. */
const SCENARIO = 'filter-sort'

const report = process.argv[2] ?? publishedReport()
mkdirSync(FOLDER, { recursive: true })
const folder = temporaryFolder()
const browser = await startBrowser()
try {
  const server = runMain({ DATA_DIR: folder.path, LOG_LEVEL: 'warn' })
  const [, url] = await server.waitFor(/listens on (http:\S+?),/)
  await takeDocs(`${url}/docs`, readFileSync(join(folder.path, 'development.key'), 'utf8').trim())
  if (report === null) console.log('left out: the bench, of which no run is published')
  else await takeBench(pathToFileURL(resolve(report)).href)
} finally {
  await browser.close()
  await endPrograms()
  folder.remove()
}

/** The page of the run that bench/published has; null without one. */
function publishedReport(): string | null {
  const name = existsSync(PUBLISHED) ? readdirSync(PUBLISHED).find((name) => name.endsWith('.html')) : undefined
  return name === undefined ? null : join(PUBLISHED, name)
}

/** A filtered list, tried in the docs. */
async function takeDocs(url: string, key: string): Promise<void> {
  const { page } = await browser.open(`${url}#tag/absences/GET/Absences`, { viewport: VIEWPORT })
  await page.getByLabel('Value').first().fill(`ApiKey ${key}`)
  await page.getByRole('button', { name: /^Test Request.*get .Absences\)/ }).click()
  for (const name of ['Cookies', 'Headers']) await page.getByRole('button', { name, exact: true }).first().click()
  await page.locator('tr#Status').getByRole('combobox', { name: 'Value' }).fill('Requested')
  await page.getByRole('button', { name: /^Send/ }).first().click()
  await page.getByText('200 OK').first().waitFor()
  await page.getByText('Requested').last().waitFor()
  await take('docs', page)
}

/** The plots of one scenario. */
async function takeBench(url: string): Promise<void> {
  const { page } = await browser.open(url, { viewport: VIEWPORT })
  await take('bench', page.locator('section', { has: page.locator('h2 code', { hasText: SCENARIO }) }).first())
}

async function take(name: string, shown: Page | Locator): Promise<void> {
  const path = join(FOLDER, `${name}.png`)
  await shown.screenshot({ path })
  const { size } = statSync(path)
  if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes, more than ${BYTES_MAX}`)
  console.log(`${path}: ${size} bytes`)
}
