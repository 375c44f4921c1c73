import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'bun:test'
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
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
  /** Returns the windows that are open. */
  windows(): readonly BrowserContext[]
  /** Opens `url` in a new window, without the storage of others, and waits until it has loaded. */
  open(url: string, options?: BrowserContextOptions): Promise<OpenPage>
  close(): Promise<void>
}

/** Path of a Chromium; null if there is none. The headless shell needs a third of the CPU time of the other program. */
const executablePath = Bun.which('chromium-headless-shell') ?? Bun.which('chromium')

/** Calls `describe` if the machine has a Chromium; otherwise adds one test, which says that Chromium is missing. */
export function describeInBrowser(name: string, tests: () => void): void {
  if (executablePath !== null) describe(name, tests)
  else test(name, () => leaveOut('CI_REQUIRES_BROWSER', 'there is no chromium: apt-get install chromium-headless-shell'))
}

/**
 * Starts a Chromium for all tests of a `describeInBrowser`. The windows that a test has opened are closed after it, because open
 * pages need CPU time. Windows of `keep`, and windows that were opened before all tests, stay open.
 */
export function useBrowser(keep: () => readonly (OpenPage | null)[] = () => []): TestBrowser {
  const browser = {} as TestBrowser
  let before: readonly BrowserContext[] = []
  beforeAll(async () => {
    Object.assign(browser, await startBrowser())
  })
  beforeEach(() => {
    before = browser.windows()
  })
  afterEach(async () => {
    const kept = new Set([...before, ...keep().map((opened) => opened?.page.context())])
    await Promise.all(
      browser
        .windows()
        .filter((window) => !kept.has(window))
        .map((window) => window.close()),
    )
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
    windows: () => browser.contexts(),
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
