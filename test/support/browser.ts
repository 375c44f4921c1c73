import { describe, test } from 'bun:test'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { leaveOut } from './process.ts'

/** A page that is open, and all that it has asked for and complained of since. */
export interface OpenPage {
  readonly page: Page
  /** Every address that it asked for, in order, but for `data:` and `blob:`, which leave the machine to nothing. */
  readonly requests: string[]
  /** What its console said at the levels of warnings and errors, breaches of the content security policy among them, and what it threw. */
  readonly complaints: string[]
}

export interface TestBrowser {
  /** Opens `url` in a window of its own, without what others have kept, and waits until it has loaded. */
  open(url: string, options?: BrowserContextOptions): Promise<OpenPage>
  close(): Promise<void>
}

/** The one without windows costs a third of the other one's CPU time. */
const executablePath = Bun.which('chromium-headless-shell') ?? Bun.which('chromium')

/** `describe`, where the machine has a Chromium; else one test that says so. */
export function describeInBrowser(name: string, tests: () => void): void {
  if (executablePath !== null) describe(name, tests)
  else test(name, () => leaveOut('CI_REQUIRES_BROWSER', 'there is no chromium: apt-get install chromium-headless-shell'))
}

/** Debian's Chromium without a window. It reaches this machine alone: other hosts have no address. */
export async function startBrowser(): Promise<TestBrowser> {
  if (executablePath === null) throw new Error('chromium is not installed')
  const browser = await chromium.launch({
    executablePath,
    timeout: 120_000,
    args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
  })
  return {
    async open(url, options = {}) {
      const context = await browser.newContext(options)
      // Playwright's 30 s are an absolute time that a busy machine does not keep; a test's own limit comes before this one.
      context.setDefaultTimeout(300_000)
      const page = await context.newPage()
      const requests: string[] = []
      const complaints: string[] = []
      context.on('request', (request) => {
        if (!/^(data|blob):/.test(request.url())) requests.push(request.url())
      })
      page.on('console', (message) => {
        if (['warning', 'error'].includes(message.type())) complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      await page.goto(url, { waitUntil: 'load' })
      return { page, requests, complaints }
    },
    close: () => browser.close(),
  }
}
