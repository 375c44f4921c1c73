import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { type Example, signInAt, startExample } from '../support/example.ts'
import { endPrograms, temporaryFolder } from '../support/process.ts'

describeInBrowser('people of the example, in a browser', () => {
  let example: Example
  const browser = useBrowser()
  beforeAll(async () => {
    example = await startExample(temporaryFolder().path)
  })
  afterAll(endPrograms)

  /** Opens a window of its own for a person, at an address of the page. */
  async function windowOf(account: string, hash = ''): Promise<{ page: Page; complaints: string[] }> {
    const opened = await browser.open(`${example.url}/explore${hash}`)
    await signInAt(opened.page, account)
    return opened
  }

  async function askForLeave(page: Page, reason: string): Promise<void> {
    await page.getByRole('link', { name: 'New absence' }).click()
    const form = page.locator('aside')
    const field = (name: string) => form.getByLabel(name, { exact: true })
    await field('Type').fill('Holiday')
    await field('Reason').fill(reason)
    await field('Start').fill('2031-03-03')
    await field('End').fill('2031-03-04')
    await form.getByRole('button', { name: 'Create', exact: true }).click()
    await page.locator('tbody tr', { hasText: reason }).getByText('Requested').waitFor()
  }

  test('an employee asks for leave, her manager approves it on her start page, and HR and the employee see the approval', async () => {
    const bo = await windowOf('bo')
    await askForLeave(bo.page, 'Sailing with friends')

    const olena = await windowOf('olena')
    const request = olena.page.locator('section', { hasText: 'Absences to decide' }).locator('li', { hasText: 'Sailing' })
    await request.getByRole('button', { name: 'Approve', exact: true }).click()
    await request.getByRole('button', { name: 'Yes, approve', exact: true }).click()
    await request.waitFor({ state: 'detached' })

    const noor = await windowOf('noor', '#/Absences?Reason=Sailing with friends')
    await noor.page.locator('tbody tr', { hasText: 'Approved' }).waitFor()
    await bo.page.reload()
    await bo.page.locator('tbody tr', { hasText: 'Sailing' }).getByText('Approved').waitFor()
    expect([bo, olena, noor].flatMap(({ complaints }) => complaints)).toEqual([])
  })

  test('a person signs out, and another person signs in with the same browser', async () => {
    const { page } = await windowOf('zoe')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signInAt(page, 'tomas')
    await page.getByText('Tomás Ferreira de Almeida').first().waitFor()
  })
})
