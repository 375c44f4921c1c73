import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describeInBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { createRow } from '../support/rows.ts'
import { KEY, startServer, type TestServer } from '../support/server.ts'

/** In the page: what comes of a use of each storage. */
const STORAGE = `['localStorage', 'sessionStorage'].map((name) => {
  try { window[name].setItem('probe', 'text'); return 'kept' } catch ({ name }) { return name }
})`
/** In the page: leaves no room in either storage, to the byte. */
const FILL = `for (const storage of [localStorage, sessionStorage])
  for (let size = 2 ** 24, place = 0; size >= 1; place++)
    try { storage.setItem('fill' + place, 'x'.repeat(size)) } catch { size = Math.floor(size / 2) }`

describeInBrowser('pages in a Chromium that keeps nothing for them', () => {
  let server: TestServer
  let browser: TestBrowser
  beforeAll(async () => {
    // A sandboxed page has no origin: what it asks for is read by CORS.
    ;[server, browser] = await Promise.all([startServer({ environment: { CORS_ORIGINS: '*' } }), startBrowser()])
    await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
  })

  async function open(path: string, options: BrowserContextOptions = {}) {
    const opened = await browser.open(path === '' ? 'about:blank' : server.url + path, { locale: 'en-GB', ...options })
    // Before the test's own limit, which ends the browser for all.
    opened.page.setDefaultTimeout(60_000)
    return opened
  }

  /** Opens a page to which Chromium refuses storage, as it does where a reader blocks it: a sandboxed one. */
  async function openBlocked(address: string) {
    const opened = await open('', { permissions: ['local-network-access'] })
    const { page } = opened
    await page.route(/\/(explore|docs)$/, async (route) => {
      const response = await route.fetch()
      const policy = response.headers()['content-security-policy']
      const headers = { ...response.headers(), 'content-security-policy': `${policy}; sandbox allow-scripts allow-forms` }
      await route.fulfill({ response, headers })
    })
    await page.goto(server.url + address)
    return opened
  }
  const chooseEnabled = async (page: Page) => {
    await page.getByText('Acme').first().waitFor()
    await page.locator('summary').first().click()
    await page.getByLabel('Name', { exact: true }).click()
    await page.getByText('Acme').first().waitFor({ state: 'detached' })
  }
  /** Another resource, and back: columns are read again. */
  const leaveAndReturn = async (page: Page) => {
    for (const name of ['Employees', 'Companies']) {
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
    }
    await page.locator('tbody tr').first().waitFor()
    return page.locator('th').allInnerTexts()
  }

  test('/explore shows rows, and keeps key and columns until it is left, where storage is blocked', async () => {
    const { page, complaints } = await openBlocked('/explore')
    expect(await page.evaluate(STORAGE)).toEqual(['SecurityError', 'SecurityError'])
    await page.getByLabel('Key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Companies' }).click()
    await chooseEnabled(page)
    expect(await leaveAndReturn(page)).toEqual(['Id', 'Enabled'])
    await page.getByRole('button', { name: 'Forget' }).click()
    await page.getByLabel('Key').waitFor()
    expect(complaints).toEqual([])
  })

  test('/explore takes the key of a link where storage is blocked', async () => {
    const { page, complaints } = await openBlocked(`/explore#key=${KEY}`)
    await page.getByRole('heading', { name: 'Absences' }).waitFor()
    expect([page.url(), complaints]).toEqual([`${server.url}/explore#/Absences`, []])
  })

  test('/docs is shown where storage is blocked', async () => {
    const { page, complaints } = await openBlocked('/docs')
    await page.getByRole('heading', { name: 'Getting started' }).first().waitFor()
    expect(complaints).toEqual([])
  })

  test('/explore keeps key and columns until it is left where storage is full', async () => {
    const { page, complaints } = await open('/explore#key=wrong')
    await page.getByLabel('Key').waitFor()
    await page.evaluate(FILL)
    expect(await page.evaluate(STORAGE)).toEqual(['QuotaExceededError', 'QuotaExceededError'])
    await page.getByLabel('Key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Companies' }).click()
    await chooseEnabled(page)
    expect(await leaveAndReturn(page)).toEqual(['Id', 'Enabled'])
    // Chromium's own line about the key that was wrong.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([])
    await page.reload()
    await page.getByLabel('Key').waitFor()
  })

  test('/docs is shown where storage is full', async () => {
    const { page, complaints } = await open('/')
    await page.evaluate(FILL)
    expect(await page.evaluate(STORAGE)).toEqual(['QuotaExceededError', 'QuotaExceededError'])
    await page.goto(`${server.url}/docs`)
    await page.getByRole('heading', { name: 'Getting started' }).first().waitFor()
    expect(complaints).toEqual([])
  })

  test.each(['garbage', '{"a":1}', '["Gone"]', 'null', '[1,'])('columns kept as %s are those of a first visit', async (kept) => {
    const { page, complaints } = await open('/')
    await page.evaluate(`localStorage.setItem('roster.columns.Companies', ${JSON.stringify(kept)})`)
    await page.goto(`${server.url}/explore#key=${KEY}`)
    await page.getByRole('link', { name: 'Companies' }).click()
    await page.getByText('Acme').first().waitFor()
    expect([await page.locator('th').allInnerTexts(), complaints]).toEqual([['Id', 'Name', 'Enabled'], []])
    await page.context().close()
  })
})
