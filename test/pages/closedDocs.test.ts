import { expect, test } from 'bun:test'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const reader = makeKey({ rights: '', addresses: 'read Companies?fields=Name' })

describeInBrowser('pages in Chromium where the document needs a key', () => {
  const server = useServer({ environment: { DOCUMENT_NEEDS_KEY: '1' }, keys: [reader.record] })
  const browser = useBrowser()

  test('/docs asks for a key, says if it is wrong, and then shows only the resources that the key may read', async () => {
    const { page } = await browser.open(`${server.url}/docs`)
    page.setDefaultTimeout(60_000)
    await page.getByText('This server shows its docs only with a key.').waitFor()
    await page.getByLabel('Key').fill('roster_wrong')
    await page.keyboard.press('Enter')
    await page.getByText('This key is not known here, or was revoked.').waitFor()
    await page.getByLabel('Key').fill(`ApiKey ${reader.text}`)
    await page.keyboard.press('Enter')
    await page.getByText('Companies', { exact: true }).first().waitFor()
    expect(await page.getByText('Absences', { exact: true }).count()).toBe(0)
  })

  test('the landing page names no resources, and says that only requests with a key get their names', async () => {
    const { page, complaints } = await browser.open(server.url)
    await page.getByText('This server names its resources to requests with a key.').waitFor()
    expect(complaints).toEqual([])
  })

  test('/explore shows a resource that the key may read', async () => {
    const { page, complaints } = await browser.open(`${server.url}/explore#key=${reader.text}`)
    await page.getByRole('heading', { name: 'Companies' }).waitFor()
    expect(complaints).toEqual([])
  })
})
