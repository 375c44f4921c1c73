// Pages of /explore on which people have signed in at a real provider.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import type { OpenPage, TestBrowser } from './browser.ts'
import { CLIENT_ID, type Issuer } from './issuer.ts'

/** Returns settings of a server whose page /explore lets the people of this issuer sign in. */
export const signInSettings = ({ settings }: Issuer) => ({ ...settings, OIDC_CLIENT_ID: CLIENT_ID })

/** Options of an issuer that sends people back to such a page, on any port. */
export const TO_EXPLORE = { redirectUris: ['http://127.0.0.1/explore'] }

/** Opens /explore in a new window, and signs in the person with this `sub`. */
export async function openSignedIn(browser: TestBrowser, url: string, subject: string, hash = ''): Promise<OpenPage> {
  const opened = await browser.open(`${url}/explore${hash}`, { locale: 'en-GB' })
  const { page } = opened
  page.setDefaultTimeout(60_000)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Person').fill(subject)
  await page.keyboard.press('Enter')
  await page.getByRole('banner').getByRole('button', { name: 'Sign out' }).waitFor()
  return opened
}

/** Returns what axe finds wrong with the page as it is now. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(', ')}`)
}
