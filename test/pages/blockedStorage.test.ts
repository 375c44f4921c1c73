import { beforeAll, expect, test } from 'bun:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { createRow } from '../support/rows.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

/** Runs in the page: uses each storage, and returns the results. */
const STORAGE = `['localStorage', 'sessionStorage'].map((name) => {
  try { window[name].setItem('probe', 'text'); return 'kept' } catch ({ name }) { return name }
})`
/** Runs in the page: fills both storages to the last byte. */
const FILL = `for (const storage of [localStorage, sessionStorage])
  for (let size = 2 ** 24, place = 0; size >= 1; place++)
    try { storage.setItem('fill' + place, 'x'.repeat(size)) } catch { size = Math.floor(size / 2) }`

describeInBrowser('pages in a Chromium whose storage cannot be used', () => {
  // A sandboxed page has no origin, so it reads answers by CORS.
  const server = useServer({ environment: { CORS_ORIGINS: '*' } })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
  })

  async function open(path: string, options: BrowserContextOptions = {}) {
    const opened = await browser.open(path === '' ? 'about:blank' : server.url + path, { locale: 'en-GB', ...options })
    // Shorter than the test's own limit, which would end the browser for all tests.
    opened.page.setDefaultTimeout(60_000)
    return opened
  }

  /** Opens a page to which Chromium refuses storage, as if a reader blocked it: a sandboxed one. */
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
  /** Goes to another resource and back, so that columns are read again. */
  const leaveAndReturn = async (page: Page) => {
    for (const name of ['Employees', 'Companies']) {
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
    }
    await page.locator('tbody tr').first().waitFor()
    return page.locator('th').allInnerTexts()
  }

  test('/explore with blocked storage shows rows, and keeps the key and the chosen columns until the page is left', async () => {
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

  test('/explore with blocked storage uses the key of a link', async () => {
    const { page, complaints } = await openBlocked(`/explore#key=${KEY}`)
    await page.getByRole('heading', { name: 'Absences' }).waitFor()
    expect([page.url(), complaints]).toEqual([`${server.url}/explore#/Absences`, []])
  })

  test('/docs is shown with blocked storage', async () => {
    const { page, complaints } = await openBlocked('/docs')
    await page.getByRole('heading', { name: 'Getting started' }).first().waitFor()
    expect(complaints).toEqual([])
  })

  test('/explore with full storage keeps the key and the chosen columns until the page is left', async () => {
    const { page, complaints } = await open('/explore#key=wrong')
    await page.getByLabel('Key').waitFor()
    await page.evaluate(FILL)
    expect(await page.evaluate(STORAGE)).toEqual(['QuotaExceededError', 'QuotaExceededError'])
    await page.getByLabel('Key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Companies' }).click()
    await chooseEnabled(page)
    expect(await leaveAndReturn(page)).toEqual(['Id', 'Enabled'])
    // Chromium logs a line about the wrong key.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([])
    await page.reload()
    await page.getByLabel('Key').waitFor()
  })

  test('/docs is shown with full storage', async () => {
    const { page, complaints } = await open('/')
    await page.evaluate(FILL)
    expect(await page.evaluate(STORAGE)).toEqual(['QuotaExceededError', 'QuotaExceededError'])
    await page.goto(`${server.url}/docs`)
    await page.getByRole('heading', { name: 'Getting started' }).first().waitFor()
    expect(complaints).toEqual([])
  })

  test.each(['garbage', '{"a":1}', '["Gone"]', 'null', '[1,'])(
    '/explore ignores the stored columns %s, which it cannot use',
    async (kept) => {
      const { page, complaints } = await open('/')
      await page.evaluate(`localStorage.setItem('roster.columns.Companies', ${JSON.stringify(kept)})`)
      await page.goto(`${server.url}/explore#key=${KEY}`)
      await page.getByRole('link', { name: 'Companies' }).click()
      await page.getByText('Acme').first().waitFor()
      expect([await page.locator('th').allInnerTexts(), complaints]).toEqual([['Id', 'Name', 'Enabled'], []])
      await page.context().close()
    },
  )
})
