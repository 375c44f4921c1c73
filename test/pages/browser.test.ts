import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'

const PAGES = ['/', '/errors', '/errors/NotFound']
const OWN = PAGES
const NARROW = { viewport: { width: 360, height: 740 } }
const DARK = { viewport: { width: 1400, height: 900 }, colorScheme: 'dark' } as const

/** In the page: what is focused, and whether one sees it. */
const FOCUS = `(() => {
  const { href, tagName } = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
  return { href, tagName, seen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 }
})()`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describeInBrowser('the pages in Chromium', () => {
  let server: TestServer
  let browser: TestBrowser
  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startServer(), startBrowser()])
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

  test.each(PAGES)(
    '%s, narrow and light, loads from this server alone, without a complaint, and fits',
    async (path) => {
      const { page, requests, complaints } = await open(path, NARROW)
      expect(requests.filter((url) => !url.startsWith(`${server.url}/`))).toEqual([])
      expect(requests.length).toBeGreaterThan(0)
      expect(complaints).toEqual([])
      expect(await page.evaluate(OVERFLOW)).toBe(0)
      await page.context().close()
    },
  )

  test.each(PAGES)('%s, wide and dark, is dark, loads without a complaint, and fits', async (path) => {
    const { page, complaints } = await open(path, DARK)
    expect(complaints).toEqual([])
    expect(await page.evaluate(OVERFLOW)).toBe(0)
    const colour = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string
    const [red = 255] = colour.match(/\d+/g)?.map(Number) ?? []
    expect(red).toBeLessThan(60)
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
    expect(answers.filter(({ url, status }) => status !== 200 && !url.endsWith('openapi.json'))).toEqual([])
    await page.context().close()
  })
})
