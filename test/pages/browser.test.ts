import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { createRow } from '../support/rows.ts'
import { KEY, startServer, type TestServer } from '../support/server.ts'

const OWN = ['/', '/errors', '/errors/NotFound']
const NARROW = { width: 360, height: 740 }
const WIDE = { width: 1400, height: 900 }

/** In the page: what is focused, and whether one sees it. */
const FOCUS = `(() => {
  const { href, tagName } = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
  return { href, tagName, seen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 }
})()`
/** The same in Scalar, which also draws a shadow, or shows a parent that has the focus within. */
const SCALAR_FOCUS = `(() => {
  const focused = document.activeElement
  const { outlineStyle, boxShadow } = getComputedStyle(focused)
  return (focused.innerText || focused.ariaLabel || focused.tagName) + (outlineStyle === 'none' && boxShadow === 'none' ? ' unseen' : '')
})()`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describeInBrowser('the pages in Chromium', () => {
  let server: TestServer
  let browser: TestBrowser
  beforeAll(async () => {
    // Under another name than the page is opened by, as behind a proxy: all that pages ask for must come from there still.
    const environment = { PUBLIC_URL: 'https://api.example.com/people' }
    ;[server, browser] = await Promise.all([startServer({ environment }), startBrowser()])
    await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
  })

  /** Opens a page, and waits until what it has to show is there. */
  async function open(path: string, options = {}) {
    const opened = await browser.open(server.url + path, options)
    await opened.page.getByRole('heading', { level: 1 }).first().waitFor()
    return opened
  }

  /** The page has the colours that the reader's system asks for, and all of its width is seen. */
  async function expectFit(page: Page, isDark: boolean) {
    expect(await page.evaluate(OVERFLOW)).toBe(0)
    const colour = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string
    const [red = 128] = colour.match(/\d+/g)?.map(Number) ?? []
    expect([colour, isDark ? red < 60 : red > 200]).toEqual([colour, true])
  }

  const foreign = (requests: readonly string[]) => requests.filter((url) => !url.startsWith(`${server.url}/`))

  test.each(OWN)('%s loads from this server alone, light or dark, and fits a wide and a narrow window', async (path) => {
    const { page, requests, complaints } = await open(path, { viewport: WIDE, colorScheme: 'light' })
    await expectFit(page, false)
    await page.setViewportSize(NARROW)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectFit(page, true)
    // Paper is light: letters for a dark screen would hardly be seen.
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    await expectFit(page, false)
    expect([foreign(requests), complaints, requests.length > 0]).toEqual([[], [], true])
    await page.context().close()
  })

  test.each(OWN)('every link of %s is reached by Tab, is seen to be, and leads somewhere', async (path) => {
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

  describe('the docs', () => {
    let docs: Awaited<ReturnType<typeof open>>
    beforeAll(async () => {
      docs = await open('/', { viewport: WIDE, colorScheme: 'dark' })
      await docs.page.getByRole('link', { name: 'Companies' }).click()
    })
    afterAll(() => docs.page.context().close())

    test('open at the resource that the landing page names', async () => {
      await docs.page.getByRole('heading', { name: 'Companies', exact: true }).first().waitFor()
      expect(docs.page.url()).toBe(`${server.url}/docs#tag/companies`)
      await expectFit(docs.page, true)
    })

    test('are led through by Tab, and one sees where it is', async () => {
      const places: string[] = []
      for (let step = 0; step < 20; step++) {
        await docs.page.keyboard.press('Tab')
        places.push((await docs.page.evaluate(SCALAR_FOCUS)) as string)
      }
      expect(places.filter((place) => place.includes('unseen'))).toEqual([])
      expect(places.join()).toMatch(/Absences[\s\S]*Companies[\s\S]*Employees/)
    })

    // With the scheme, which stands there already, and for those who replace the whole.
    test.each([`ApiKey ${KEY}`, KEY])('have a request answered 200 with %s as the key', async (typed) => {
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
      // What is typed is sent, and neither examples nor empty fields are.
      expect([sent, ...others]).toEqual([`${server.url}/Companies?Name=%21%3DByron%2C+Ada`])
      await filter.fill('')
      await page.keyboard.press('Escape')
      await field.fill('ApiKey ')
    })

    test('answer a CSV where that form is chosen, and show rows with values', async () => {
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

    test('have asked this server alone, and complained of nothing', () => {
      expect([foreign(docs.requests), docs.complaints]).toEqual([[], []])
    })

    test('fit a narrow window, and say why they cannot be loaded', async () => {
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
