// Opens /explore with a key, and finds the parts of its forms as a reader does: by role and label.
import axe from 'axe-core'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { TestBrowser } from './browser.ts'
import type { TestServer } from './server.ts'

/** An open page of /explore. */
export class FormPage {
  constructor(
    readonly page: Page,
    /** Warnings and errors of the console. */
    readonly complaints: readonly string[],
    private readonly url: string,
  ) {}

  /** Shows another view in the same tab. */
  async show(hash: string): Promise<void> {
    await this.page.goto(`${this.url}/explore${hash}`)
  }

  /** Panel on the page next to the list. */
  get panel(): Locator {
    return this.page.locator('aside')
  }

  field(label: string): Locator {
    return this.panel.getByLabel(label, { exact: true })
  }

  button(name: string): Locator {
    return this.page.getByRole('button', { name, exact: true })
  }

  async press(name: string): Promise<void> {
    await this.button(name).click()
  }

  /** Waits for the message that says what the page has done. */
  async message(text: string | RegExp): Promise<void> {
    await this.page.getByRole('status').filter({ hasText: text }).first().waitFor()
  }

  /** Waits until the element with this id has the focus. The focus moves after a message is shown. */
  async focusOn(id: string): Promise<void> {
    await this.page.locator(`[id="${id}"]:focus`).waitFor()
  }

  /** Returns the faults that axe finds. */
  async violations(): Promise<axe.Result[]> {
    await this.page.evaluate(axe.source)
    return ((await this.page.evaluate('axe.run()')) as axe.AxeResults).violations
  }
}

/** Opens a view in a new window with a key. */
export async function openForms(
  browser: TestBrowser,
  { url }: Pick<TestServer, 'url'>,
  key: string,
  hash: string,
  options: BrowserContextOptions = {},
): Promise<FormPage> {
  const { page, complaints } = await browser.open(`${url}/explore#key=${key}`, { locale: 'en-GB', ...options })
  // Shorter than the test's own limit, which would end the browser for all tests.
  page.setDefaultTimeout(60_000)
  await page.locator('nav a').first().waitFor()
  const opened = new FormPage(page, complaints, url)
  await opened.show(hash)
  return opened
}
