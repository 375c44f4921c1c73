import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'

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

  test('the page of an error loads from this server alone', async () => {
    const { page, requests } = await browser.open(`${server.url}/errors/NotFound`)
    expect(await page.title()).toBe('NotFound')
    expect(requests.filter((url) => !url.startsWith(server.url))).toEqual([])
  })
})
