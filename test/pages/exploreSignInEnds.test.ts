import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser } from '../support/browser.ts'
import { AUDIENCE, CLIENT_ID } from '../support/issuer.ts'
import { until } from '../support/process.ts'
import { ADA, fillForm, GRACE, signIn, stored, storedTokens, useSignIn, waitForName } from '../support/signIn.ts'

const HASH = '#/Absences?sort=-Start'
const ENDED = 'Your sign-in has ended.'

/** Sends a request that the page has not sent before. */
const sortByStatus = (page: Page) => page.locator('th').getByRole('button', { name: 'Status' }).click()

/** Starts the issuer and the server. A server notices withdrawn keys at once only the first time, and then every 30 s. */
function useSignedIn() {
  const { issuer, server, open } = useSignIn()

  async function openSignedIn(options: { expiresInS?: number; hasRefreshTokens?: boolean }) {
    await issuer.addPerson(ADA, options)
    const opened = await open(HASH)
    await signIn(opened.page)
    await waitForName(opened.page)
    await opened.page.locator('tbody tr').waitFor()
    const renewals = () => opened.requests.filter((url) => url === `${issuer.url}/token`).length - 1
    return { ...opened, renewals }
  }
  /** Makes the server refuse all tokens that the issuer has signed so far: it withdraws its key. */
  async function withdrawKey() {
    await issuer.rotateKeys()
    const token = await issuer.tokenFor(GRACE)
    await until(async () => (await server.get('/Rights', { authorization: `Bearer ${token}` })).status === 200)
  }
  return { issuer, server, openSignedIn, withdrawKey }
}

describeInBrowser('D108: the end of a token at /explore', () => {
  const { issuer, openSignedIn, withdrawKey } = useSignedIn()

  test('a page renews its token before the token ends, by refresh tokens that are valid only once', async () => {
    const { page, renewals, complaints } = await openSignedIn({ expiresInS: 4, hasRefreshTokens: true })
    const first = await storedTokens(page)
    await until(() => renewals() >= 2)
    const later = await storedTokens(page)
    expect([later.refreshToken === first.refreshToken, later.refreshToken === null]).toEqual([false, false])
    // A reload during a renewal would lose the new refresh token, so it follows the end of one.
    await until(async () => (await storedTokens(page)).token !== later.token)
    await page.reload()
    await waitForName(page)
    await sortByStatus(page)
    await page.locator('tbody tr').waitFor()
    expect([complaints, await page.getByText(ENDED).count()]).toEqual([[], 0])
  })

  test('only one of two duplicated tabs renews the token, so that neither ends the sign-in of the other', async () => {
    const { page, renewals } = await openSignedIn({ expiresInS: 4, hasRefreshTokens: true })
    const opened = page.context().waitForEvent('page')
    // A window of its own opener has a copy of the session storage, as a duplicated tab.
    await page.evaluate('void window.open(location.href)')
    const copy = await opened
    await waitForName(copy)
    const { token } = await storedTokens(copy)
    // Requests of both tabs are counted.
    const before = renewals()
    await until(() => renewals() >= before + 2)
    await sortByStatus(copy)
    await copy.locator('th[aria-sort="ascending"]').waitFor()
    expect([(await storedTokens(copy)).token === token, (await storedTokens(page)).token === token]).toEqual([true, false])
    expect(await page.getByText(ENDED).count()).toBe(0)
  })

  test('a token without a refresh token is used after it has ended by the browser’s clock, as long as the server accepts it', async () => {
    const { page, renewals } = await openSignedIn({ expiresInS: 2 })
    const { endsMs } = JSON.parse((await stored(page))['roster.person'] ?? '{}')
    await until(() => Date.now() > endsMs)
    await sortByStatus(page)
    await page.locator('th[aria-sort="ascending"]').waitFor()
    await page.locator('tbody tr').waitFor()
    expect([renewals(), await page.getByText(ENDED).count(), await page.locator('.trouble').count()]).toEqual([0, 0, 0])
  })

  test('a token that the server refuses before its end is renewed once, and the refused requests are sent again', async () => {
    const { page, renewals } = await openSignedIn({ hasRefreshTokens: true })
    await withdrawKey()
    const before = await storedTokens(page)
    // Opens a row, for which the page sends several requests at once.
    await page.locator('tbody tr').click()
    await page.getByRole('heading', { name: 'Absence 1' }).waitFor()
    await page.locator('aside').getByText('Holiday').first().waitFor()
    await until(async () => (await storedTokens(page)).token !== before.token)
    await page.waitForLoadState('networkidle')
    expect(renewals()).toBe(1)
    expect(await page.getByText(ENDED).count()).toBe(0)
  })

  test('a page says that the sign-in has ended when the issuer refuses to renew the token, and sends no request with it', async () => {
    const { page, requests } = await openSignedIn({ expiresInS: 8, hasRefreshTokens: true })
    // Whoever steals the refresh token and uses it first ends the grant, by the second use.
    const { refreshToken } = await storedTokens(page)
    const body = { grant_type: 'refresh_token', client_id: CLIENT_ID, refresh_token: refreshToken ?? '' }
    await fetch(`${issuer.url}/token`, { method: 'POST', body: new URLSearchParams(body) })
    await page.getByText(ENDED).waitFor()
    expect(await page.locator('tbody tr').count()).toBe(1)
    const asked = requests.length
    await sortByStatus(page)
    await page.locator('.trouble').nth(1).waitFor()
    // No request is sent with a token that has ended.
    expect(requests.slice(asked)).toEqual([])
    await page.reload()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  })

  test('if a token ends while the issuer does not answer, a message is shown, and the rows when the issuer answers', async () => {
    const { page } = await openSignedIn({ expiresInS: 3, hasRefreshTokens: true })
    issuer.signal('SIGSTOP')
    try {
      const { endsMs } = JSON.parse((await stored(page))['roster.person'] ?? '{}')
      await until(() => Date.now() > endsMs)
      await sortByStatus(page)
      await page.getByText(/does not answer, so your sign-in cannot be renewed/).waitFor()
    } finally {
      issuer.signal('SIGCONT')
    }
    await page.getByText(/does not answer/).waitFor({ state: 'detached' })
    await page.locator('tbody tr').waitFor()
    await waitForName(page)
    expect(await page.getByText(ENDED).count()).toBe(0)
  })
})

describeInBrowser('D108: the end of a sign-in at /explore', () => {
  const { server, openSignedIn, withdrawKey } = useSignedIn()

  test('a sign-in that ends without a refresh token leaves rows and filters shown, and a new sign-in leads back to them', async () => {
    const { page, renewals } = await openSignedIn({})
    await page.getByRole('button', { name: '+ Filter' }).click()
    await page.getByLabel('Property').selectOption({ label: 'Reason' })
    await page.getByLabel('Value').fill('typed before the end')
    await withdrawKey()
    await page.keyboard.press('Enter')
    await page.getByText(ENDED).first().waitFor()
    expect([renewals(), Object.keys(await stored(page))]).toEqual([0, []])
    // Its rows, and whom they are of, stay.
    expect([await page.locator('tbody tr').count(), await page.locator('header').getByText(ADA.name).count()]).toEqual([1, 1])
    await page.getByRole('button', { name: 'Sign in again' }).click()
    await fillForm(page, ADA.email)
    await waitForName(page)
    await page.getByText('typed before the end').waitFor()
    expect([page.url(), await page.getByText(ENDED).count()]).toEqual([
      `${server.url}/explore#/Absences?Reason[contains]=typed before the end&sort=-Start`.replaceAll(' ', '%20'),
      0,
    ])
  })
})

describeInBrowser('D108: a token at /explore that the server does not accept', () => {
  const { issuer, open } = useSignIn({ OIDC_AUDIENCE: 'another-api' })

  test('a refused token leads to the message of the server, and the page does not start another sign-in without a click', async () => {
    await issuer.addPerson(ADA)
    const { page, requests } = await open(HASH)
    await signIn(page)
    await page.getByText('The server does not accept this sign-in. It says: The token is for another audience than').waitFor()
    const asked = requests.length
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await page.waitForLoadState('networkidle')
    expect([requests.length - asked, await stored(page)]).toEqual([0, {}])
    expect(page.url()).toEndWith(`/explore${HASH}`)
    // A later visit of the issuer is without a resource, since the audience is no address.
    expect(requests.filter((url) => url.includes(encodeURIComponent(AUDIENCE)))).toEqual([])
  })
})

describeInBrowser('D107: /explore where the client is the audience', () => {
  const { issuer, open } = useSignIn({ OIDC_AUDIENCE: CLIENT_ID })

  test('the page sends the ID token to the server', async () => {
    await issuer.addPerson(ADA, { expiresInS: 4, hasRefreshTokens: true })
    const { page } = await open(HASH)
    await signIn(page)
    await page.locator('tbody tr').waitFor()
    const { token, idToken } = await storedTokens(page)
    expect(token).toBe(idToken)
    await until(async () => (await storedTokens(page)).token !== token)
    await page.locator('th').getByRole('button', { name: 'Status' }).click()
    await page.locator('tbody tr').waitFor()
    expect(await page.getByText(ENDED).count()).toBe(0)
  })
})
