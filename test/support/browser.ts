import { afterAll, beforeAll, describe, test } from 'bun:test'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { leaveOut } from './process.ts'

/** An open page, with its requests and complaints since it was opened. */
export interface OpenPage {
  readonly page: Page
  /** Requested addresses in order, except `data:` and `blob:`, which do not leave the machine. */
  readonly requests: string[]
  /** Warnings and errors of its console, including violations of the content security policy, and its exceptions. */
  readonly complaints: string[]
}

export interface TestBrowser {
  /** Opens `url` in a new window, without the storage of others, and waits until it has loaded. */
  open(url: string, options?: BrowserContextOptions): Promise<OpenPage>
  close(): Promise<void>
}

/** The Chromium without windows costs a third of the other one's CPU time. */
const executablePath = Bun.which('chromium-headless-shell') ?? Bun.which('chromium')

/** `describe` if the machine has a Chromium; else one test that says that it is missing. */
export function describeInBrowser(name: string, tests: () => void): void {
  if (executablePath !== null) describe(name, tests)
  else test(name, () => leaveOut('CI_REQUIRES_BROWSER', 'there is no chromium: apt-get install chromium-headless-shell'))
}

/** Starts a Chromium for all tests of a `describeInBrowser`. */
export function useBrowser(): TestBrowser {
  const browser = {} as TestBrowser
  beforeAll(async () => {
    Object.assign(browser, await startBrowser())
  })
  afterAll(() => browser.close?.())
  return browser
}

/** Starts Debian's Chromium without a window. It reaches only this machine: other hosts do not resolve. */
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
      // A busy machine can exceed Playwright's 30 s; a test's own limit is shorter than this one.
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
