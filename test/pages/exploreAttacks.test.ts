import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser } from '../support/browser.ts'
import { createRow } from '../support/rows.ts'
import { ADA, signIn, useSignIn } from '../support/signIn.ts'

/** Texts of rows; one of them has the maximum length of the property. */
const HOSTILE = [
  'javascript:alert(1)',
  '"><img src=x onerror=alert(1)>',
  '\u202egnol',
  '__proto__',
  'constructor',
  'var(--s0);background:url(//evil.example/)',
  'W'.repeat(100),
]
/** Name of a person at the issuer, who may have chosen it. */
const NAME = `<img src=x onerror=alert(1)>\u202e${'W'.repeat(3_000)}`

describeInBrowser('/explore and texts of an attacker:', () => {
  const { issuer, server, open } = useSignIn()
  beforeAll(async () => {
    for (const text of HOSTILE)
      await createRow(server, '/Absences', { EmployeeId: 1, Status: 'Requested', Type: 'Holiday', Reason: text })
    await issuer.addPerson({ ...ADA, name: NAME })
  })

  async function openAs(hash: string) {
    const opened = await open(hash)
    await signIn(opened.page)
    await opened.page.getByRole('button', { name: 'Sign out' }).waitFor()
    return opened
  }
  const show = async (page: Page, hash: string, text: string | RegExp) => {
    await page.goto(`${server.url}/explore${hash}`)
    await page.locator('main').getByText(text).first().waitFor()
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  }
  /** Returns the links that lead elsewhere than to this server. */
  /** Neither to a page of the server nor to a single e-mail address without a subject or further recipients. */
  const strayLinks = async (page: Page): Promise<string[]> => {
    const links: string[] = await page.evaluate(`[...document.querySelectorAll('a')].map(({ href }) => href)`)
    return links.filter((one) => !one.startsWith(`${server.url}/`) && !/^mailto:[\w.%-]+@[\w.%-]+$/.test(one))
  }
  const isTooWide = (page: Page) => page.evaluate('document.documentElement.scrollWidth > innerWidth')

  test('HTML in rows and names is shown as text: no script runs, no link leads to another server, no page becomes too wide', async () => {
    const { page, complaints, requests } = await openAs('#/Absences?sort=-Id')
    let dialogs = 0
    page.on('dialog', () => dialogs++)
    for (const hash of ['#/Absences?sort=-Id', '#/Absences?row=9', '#/Absences?row=9&form=edit', '#/']) {
      await show(page, hash, 'W'.repeat(100))
      expect([hash, await strayLinks(page), await isTooWide(page), dialogs]).toEqual([hash, [], false, 0])
    }
    expect(complaints).toEqual([])
    expect(new Set(requests.map((one) => new URL(one).origin))).toEqual(new Set([server.url, issuer.url]))
  })

  test.each([
    ['names a member of objects', '#/__proto__', 'There is no resource __proto__'],
    ['names a very long resource', `#/${'A'.repeat(200_000)}`, `There is no resource ${'A'.repeat(50)}, or`],
    ['filters by members of objects', '#/Absences?__proto__=1&constructor=2', 'Absences has no parameter "__proto__".'],
    ['sums members of objects', '#/Absences?view=summary&by=constructor&show=__proto__', 'have no property "constructor"'],
    ['names another path as a row', '#/Absences?row=..%2FEmployees%2F1', 'Absence ../Employees/1'],
  ])('a link that %s leads to a message in words, without a fault', async (_, hash, words) => {
    const { page, complaints } = await openAs('#/')
    await show(page, hash, words)
    expect([await strayLinks(page), await isTooWide(page)]).toEqual([[], false])
    expect(complaints.filter((text) => !/status of 40[04]/.test(text))).toEqual([])
  })

  test('a link with values of properties fills in no field of a form, and creates nothing', async () => {
    const { page, requests } = await openAs('#/Absences?form=new&Reason=Mallory&Type=Holiday')
    await page.getByRole('button', { name: 'Create' }).waitFor()
    expect(await page.locator('aside').getByLabel('Reason', { exact: true }).inputValue()).toBe('')
    expect(requests.some((one) => one.includes('Mallory') && !one.startsWith(`${server.url}/Absences?Reason=`))).toBe(false)
    expect((await server.get('/Absences?Reason=Mallory')).body).toEqual([])
  })

  test('after a form was saved, Back shows an empty form and Forward the row, and the row is created only once', async () => {
    const { page } = await openAs('#/Absences?form=new')
    await page.locator('aside').getByLabel('Reason', { exact: true }).fill('Once')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('status').filter({ hasText: 'was created' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Create' }).waitFor()
    expect(await page.locator('aside').getByLabel('Reason', { exact: true }).inputValue()).toBe('')
    await page.goForward()
    await page.locator('aside').getByText('Once').waitFor()
    const { headers } = await server.get('/Absences?Reason=Once')
    expect(headers.get('x-total-count')).toBe('1')
  })
})
