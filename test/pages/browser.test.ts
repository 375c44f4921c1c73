import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { createRow } from '../support/rows.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const OWN = ['/', '/errors', '/errors/NotFound']
const NARROW = { width: 360, height: 740 }
const WIDE = { width: 1400, height: 900 }

/** Runs in the page: returns the focused element, and whether the focus is visible. */
const FOCUS = `(() => {
  const { href, tagName } = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
  return { href, tagName, seen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 }
})()`
/** The same for Scalar, which may also show the focus as a shadow, or at a parent. */
const SCALAR_FOCUS = `(() => {
  const focused = document.activeElement
  const { outlineStyle, boxShadow } = getComputedStyle(focused)
  return (focused.innerText || focused.ariaLabel || focused.tagName) + (outlineStyle === 'none' && boxShadow === 'none' ? ' unseen' : '')
})()`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describeInBrowser('pages in Chromium', () => {
  // The server has another name than the one by which the page is opened, as behind a proxy; pages must still load everything
  // from where they came.
  const server = useServer({ environment: { PUBLIC_URL: 'https://api.example.com/people' } })
  const browser = useBrowser()
  beforeAll(async () => {
    await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
  })

  /** Opens a page, and waits until its content is shown. */
  async function open(path: string, options = {}) {
    const opened = await browser.open(server.url + path, options)
    await opened.page.getByRole('heading', { level: 1 }).first().waitFor()
    return opened
  }

  /** Expects the colors of the reader's system, and no part outside of the window. */
  async function expectFit(page: Page, isDark: boolean) {
    expect(await page.evaluate(OVERFLOW)).toBe(0)
    const colour = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string
    const [red = 128] = colour.match(/\d+/g)?.map(Number) ?? []
    expect([colour, isDark ? red < 60 : red > 200]).toEqual([colour, true])
  }

  const foreign = (requests: readonly string[]) => requests.filter((url) => !url.startsWith(`${server.url}/`))

  test.each(OWN)('%s loads only from this server, and fits wide and narrow windows, light and dark', async (path) => {
    const { page, requests, complaints } = await open(path, { viewport: WIDE, colorScheme: 'light' })
    await expectFit(page, false)
    await page.setViewportSize(NARROW)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectFit(page, true)
    // Paper is light: text for a dark screen could hardly be read.
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    await expectFit(page, false)
    expect([foreign(requests), complaints, requests.length > 0]).toEqual([[], [], true])
    await page.context().close()
  })

  test.each(OWN)('every link of %s can be reached by Tab, is visibly focused, and has a target', async (path) => {
    const { page } = await open(path)
    const links = (await page.evaluate(`[...document.links].map(({ href }) => href)`)) as string[]
    const reached: unknown[] = []
    for (const _ of links) {
      await page.keyboard.press('Tab')
      reached.push(await page.evaluate(FOCUS))
    }
    expect(reached).toEqual(links.map((href) => ({ href, tagName: 'A', seen: true })))
    const answers = await Promise.all([...new Set(links)].map((href) => fetch(href)))
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    await page.context().close()
  })

  describe('the page /docs', () => {
    let docs: Awaited<ReturnType<typeof open>>
    beforeAll(async () => {
      docs = await open('/', { viewport: WIDE, colorScheme: 'dark' })
      await docs.page.getByRole('link', { name: 'Companies' }).click()
    })
    afterAll(() => docs.page.context().close())

    test('/docs opens at the resource whose link on the landing page was clicked', async () => {
      await docs.page.getByRole('heading', { name: 'Companies', exact: true }).first().waitFor()
      expect(docs.page.url()).toBe(`${server.url}/docs#tag/companies`)
      await expectFit(docs.page, true)
    })

    test('Tab leads through /docs with a visible focus', async () => {
      const places: string[] = []
      for (let step = 0; step < 20; step++) {
        await docs.page.keyboard.press('Tab')
        places.push((await docs.page.evaluate(SCALAR_FOCUS)) as string)
      }
      expect(places.filter((place) => place.includes('unseen'))).toEqual([])
      expect(places.join()).toMatch(/Absences[\s\S]*Companies[\s\S]*Employees/)
    })

    // The field already has the scheme; readers who replace the whole text may leave it out.
    test.each([`ApiKey ${KEY}`, KEY])('a request that /docs sends with the key %s gets 200', async (typed) => {
      const { page, requests } = docs
      const field = page.getByLabel('Value').first()
      expect(await field.inputValue()).toStartWith('ApiKey ')
      await field.fill(typed)
      const before = requests.length
      await page.getByRole('button', { name: /^Test Request.*get .Companies\)/ }).click()
      const filter = page.locator('tr#Name').getByRole('combobox', { name: 'Value' })
      await filter.fill('!=Byron, Ada')
      await page.getByRole('button', { name: /^Send/ }).first().click()
      await page.getByText('200 OK').first().waitFor()
      await page.getByText('Acme').first().waitFor()
      const [sent = '', ...others] = requests.slice(before)
      // Only typed values are sent, neither examples nor empty fields.
      expect([sent, ...others]).toEqual([`${server.url}/Companies?Name=%21%3DByron%2C+Ada`])
      await filter.fill('')
      await page.keyboard.press('Escape')
      await field.fill('ApiKey ')
    })

    test('/docs requests CSV if text/csv is chosen, and its examples have values', async () => {
      const { page } = docs
      const field = page.getByLabel('Value').first()
      await field.fill(`ApiKey ${KEY}`)
      await page.getByRole('button', { name: /^Test Request.*get .Companies\)/ }).click()
      await page.locator('tr#X-Form button[aria-haspopup=menu]').click()
      await page.getByRole('menuitem', { name: 'text/csv' }).click()
      const sent = page.waitForResponse(/Companies/)
      await page.getByRole('button', { name: /^Send/ }).first().click()
      const answer = await sent
      expect([answer.headers()['content-type'], (await answer.text()).split('\r\n')[0]]).toEqual([
        'text/csv; charset=utf-8',
        'id,name,enabled',
      ])
      await page.keyboard.press('Escape')
      await field.fill('ApiKey ')
      expect(await page.getByText('Analytical Engines').count()).toBeGreaterThan(0)
    })

    test('/docs has sent requests only to this server, without warnings', () => {
      expect([foreign(docs.requests), docs.complaints]).toEqual([[], []])
    })

    test('/docs fits a narrow window, and says why the API document cannot be loaded', async () => {
      const { page, complaints } = await open('/docs', { viewport: NARROW, colorScheme: 'light' })
      await page.getByRole('heading', { name: 'Getting started' }).first().waitFor()
      await expectFit(page, false)
      expect(complaints).toEqual([])
      await page.route('**/openapi.json', (route) => route.fulfill({ status: 429, body: '<b>Too many</b>' }))
      await page.reload()
      await page.getByText('The docs could not be loaded: <b>Too many</b>').waitFor()
      await page.context().close()
    })
  })
})
