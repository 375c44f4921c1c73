// The README's images, as Chromium shows them: `npm run screenshots`, or with a page of `npm run bench` behind `--`.
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startBrowser } from './support/browser.ts'
import { endPrograms, runMain, temporaryFolder } from './support/process.ts'

const ROOT = join(import.meta.dir, '..')
const FOLDER = join(ROOT, 'docs/images')
const PUBLISHED = join(ROOT, 'bench/published')
const VIEWPORT = { width: 1280, height: 800 }
/** A README is loaded by many who only pass by. */
const BYTES_MAX = 200_000

const report = process.argv[2] ?? publishedReport()
mkdirSync(FOLDER, { recursive: true })
const folder = temporaryFolder()
const browser = await startBrowser()
try {
  const server = runMain({ DATA_DIR: folder.path, LOG_LEVEL: 'warn' })
  const [, url] = await server.waitFor(/listens on (http:\S+?),/)
  await take('docs', `${url}/docs#tag/absences`)
  if (report === null) console.log('left out: the bench, of which no run is published')
  else await take('bench', pathToFileURL(resolve(report)).href)
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

async function take(name: string, url: string): Promise<void> {
  const { page } = await browser.open(url, { viewport: VIEWPORT, colorScheme: 'light' })
  await page.waitForLoadState('networkidle')
  const path = join(FOLDER, `${name}.png`)
  await page.screenshot({ path })
  const { size } = statSync(path)
  if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes, more than ${BYTES_MAX}`)
  console.log(`${path}: ${size} bytes`)
}
