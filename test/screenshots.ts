// The README's images of the pages, as Chromium shows it: `npm run screenshots`.
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startBrowser } from './support/browser.ts'
import { signInAt, startExample } from './support/example.ts'
import { endPrograms, run, temporaryFolder } from './support/process.ts'
import { ServerProcesses } from './support/serverProcesses.ts'

const ROOT = join(import.meta.dir, '..')
const FOLDER = join(ROOT, 'docs/images')
const VIEWPORT = { width: 1280, height: 800 }
/** Days by month and type of this year, from generated rows. */
const YEAR = new Date().getUTCFullYear()
const SUMMARY = `#/Absences?Status=Approved&Start=>=${YEAR}-01-01T00:00:00Z&Start=<${YEAR + 1}-01-01T00:00:00Z&Type=!=&view=summary&show=sum(Period.Days)&by=month(Start)&and=Type`
/** A README is loaded by many who only pass by. */
const BYTES_MAX = 200_000

/** The one picture that `npm run screenshots -- decide` takes. */
const [only] = process.argv.slice(2)

mkdirSync(FOLDER, { recursive: true })
const folder = temporaryFolder()
const processes = new ServerProcesses()
const browser = await startBrowser()
try {
  if (only !== 'decide') await takePagesOfKeys()
  await takeDecisions()
} finally {
  await browser.close()
  await endPrograms()
  await processes.end()
  folder.remove()
}

async function takePagesOfKeys(): Promise<void> {
  // Without a key of its own, so that the pages are opened with the development key.
  const { url } = await processes.start({ DATA_DIR: folder.path, BOOTSTRAP_API_KEY: '' })
  const key = readFileSync(join(folder.path, 'development.key'), 'utf8').trim()
  await takeDocs(`${url}/docs`, key)
  await run([process.execPath, '--no-env-file', 'src/main.ts', 'seed', '--add', '--rows', '100000'], { DATA_DIR: folder.path })
    .ended
  await takeExplore(`${url}/explore`, key)
}

/** A summary of a filtered list. */
async function takeExplore(url: string, key: string): Promise<void> {
  const { page } = await browser.open(`${url}#key=${key}`, { viewport: VIEWPORT, locale: 'en-GB' })
  await page.getByRole('heading', { name: 'Absences' }).waitFor()
  await page.goto(url + SUMMARY)
  await page.locator('.chart').waitFor()
  await page.locator('h1 + .count', { hasText: /\d of \d/ }).waitFor()
  await take('explore', page)
}

/** What waits for a manager of the example. */
async function takeDecisions(): Promise<void> {
  const example = await startExample(processes.dataFolder())
  const { page } = await browser.open(`${example.url}/explore`, { viewport: VIEWPORT, locale: 'en-GB' })
  await signInAt(page, 'olena')
  for (const name of ['All absences to decide', 'All my absences', 'All absences of my team'])
    await page.getByRole('link', { name, exact: true }).waitFor()
  await page.waitForLoadState('networkidle')
  await take('decide', page)
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

async function take(name: string, shown: Page): Promise<void> {
  const path = join(FOLDER, `${name}.png`)
  await shown.screenshot({ path })
  const { size } = statSync(path)
  if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes, more than ${BYTES_MAX}`)
  console.log(`${path}: ${size} bytes`)
}
