import { expect, test } from 'bun:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { describeInBrowser } from '../support/browser.ts'
import { KEY, makeKey } from '../support/server.ts'
import { ADA, fillForm, GRACE, signIn, stored, storedTokens, useSignIn, waitForName } from '../support/signIn.ts'

const SHARED = '#/Absences?Status=Approved&sort=-Start'

/** Addresses of this tab's history, the newest first. */
async function addressesOf(page: Page): Promise<string[]> {
  const addresses = [page.url()]
  while ((await page.goBack()) !== null || page.url() !== addresses.at(-1)) addresses.push(page.url())
  return addresses
}

describeInBrowser('D107: sign-in at /explore', () => {
  const { issuer, server, lines, open } = useSignIn()

  test('a person signs in at the issuer, and comes back to the shared link that she opened', async () => {
    await issuer.addPerson(ADA)
    const { page, complaints, requests } = await open(SHARED)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await page.evaluate(axe.source)
    expect(((await page.evaluate('axe.run()')) as axe.AxeResults).violations).toEqual([])
    await signIn(page)
    await waitForName(page)
    await page.getByRole('heading', { name: 'Absences' }).waitFor()
    await page.locator('tbody tr').waitFor()
    expect([page.url(), complaints]).toEqual([`${server.url}/explore${SHARED}`, []])
    // Only her own absences, as her rights say.
    expect(await page.locator('tbody tr').count()).toBe(1)
    const origins = new Set(requests.map((url) => new URL(url).origin))
    expect([...origins].sort()).toEqual([issuer.url, server.url].sort())
    await page.reload()
    await waitForName(page)
    expect(page.url()).toBe(`${server.url}/explore${SHARED}`)
  })

  test('nothing of a sign-in is left in the address, the history, cookies, local storage and the log', async () => {
    await issuer.addPerson(ADA)
    lines.length = 0
    const { page, complaints, requests } = await open(SHARED)
    await signIn(page)
    await waitForName(page)
    await page.locator('tbody tr').waitFor()
    const { token, idToken } = await storedTokens(page)
    expect(token.split('.')).toHaveLength(3)
    const back = new URL(requests.find((url) => url.startsWith(`${server.url}/explore?`)) ?? '')
    const secrets = [token, idToken, back.searchParams.get('code'), back.searchParams.get('state')] as string[]
    expect(secrets.every((secret) => secret.length > 20)).toBe(true)
    const local = await page.evaluate('document.cookie + JSON.stringify(localStorage)')
    expect(local).toBe('{}')
    expect(Object.keys(await stored(page))).toEqual(['roster.person'])
    // The history keeps the page that leads to the issuer and the pages of the issuer, but no address with an answer.
    const addresses = (await addressesOf(page)).filter((address) => address.startsWith(server.url))
    expect(addresses.length).toBeGreaterThan(0)
    const kept = JSON.stringify([addresses, lines, complaints])
    expect(lines.filter((line) => line.includes(' /explore ')).length).toBeGreaterThan(1)
    expect(secrets.filter((secret) => kept.includes(secret))).toEqual([])
    expect(addresses.filter((address) => address.includes('?c') || address.includes('?s'))).toEqual([])
  })

  test('a sign-out forgets everything, and ends the session at the issuer', async () => {
    await issuer.addPerson(ADA)
    const { page, complaints } = await open(SHARED)
    await signIn(page)
    await waitForName(page)
    await page.evaluate("sessionStorage.setItem('roster.draft.x', 'typed')")
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.waitForURL(`${server.url}/explore`)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    expect([await stored(page), complaints]).toEqual([{}, []])
    // The issuer asks who signs in, since its session has ended, too.
    await signIn(page, GRACE.email)
    await waitForName(page, GRACE.email)
  })

  test('after a sign-out from an issuer that ends no sessions, the next sign-in there asks who it is', async () => {
    await issuer.addPerson(ADA)
    const { page, requests } = await open('#/')
    // The page as it is for an issuer whose document has no end_session_endpoint.
    await page.route(/\/explore(?:\?|$)/, async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replace(/(&quot;|")endSession\1:\1.*?\1/, '$1endSession$1:null')
      expect(body).toContain('null')
      await route.fulfill({ response, body })
    })
    await signIn(page)
    await waitForName(page)
    // The answer to a redirect is not routed.
    await page.reload()
    await waitForName(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    requests.length = 0
    await signIn(page, GRACE.email)
    await waitForName(page, GRACE.email)
    expect(requests.filter((url) => url.startsWith(`${issuer.url}/auth?`) && url.includes('prompt=login'))).toHaveLength(1)
  })

  test('a person who cancels at the issuer is told so, and can sign in to the same link', async () => {
    await issuer.addPerson(ADA)
    const { page, complaints } = await open(SHARED)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText(/^Nobody was signed in: .* The person turned back\.$/).waitFor()
    expect(page.url()).toBe(`${server.url}/explore${SHARED}`)
    await signIn(page)
    await waitForName(page)
    expect([page.url(), complaints]).toEqual([`${server.url}/explore${SHARED}`, []])
  })

  test('a person without rights reads why, and can sign in as somebody else', async () => {
    await issuer.addPerson(ADA)
    await issuer.addPerson({ email: 'nobody@example.com', email_verified: true })
    const { page } = await open(SHARED)
    await signIn(page, 'nobody@example.com')
    await page.getByRole('heading', { name: 'You have no rights here' }).waitFor()
    await page.getByText(/You have no rights: no row of Employees is yours/).waitFor()
    await page.getByText(/Ask your HR department/).waitFor()
    await page.getByRole('button', { name: 'Sign in as somebody else' }).click()
    // The issuer knows who it is, and asks all the same. Who turns back is told so.
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText(/^Nobody was signed in: /).waitFor()
    await page.getByRole('button', { name: 'Sign in as somebody else' }).click()
    await fillForm(page, ADA.email)
    await waitForName(page)
    expect(page.url()).toBe(`${server.url}/explore${SHARED}`)
  })

  test('two tabs can have different persons signed in', async () => {
    await issuer.addPerson(ADA)
    await issuer.addPerson(GRACE)
    const first = await open('#/Absences')
    await signIn(first.page)
    await waitForName(first.page)
    const page = await first.page.context().newPage()
    await page.goto(`${server.url}/explore#/Absences`)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    // The issuer knows this browser.
    await waitForName(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await signIn(page, GRACE.email)
    await waitForName(page, GRACE.name)
    await first.page.reload()
    await waitForName(first.page)
  })

  test('a key can be used in place of a sign-in; before a link with a key replaces a sign-in, the page asks', async () => {
    await issuer.addPerson(ADA)
    const { page, complaints } = await open('#/Companies')
    await page.getByText('Use a key').click()
    await page.getByLabel('Key', { exact: true }).fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByText('Acme').waitFor()
    await page.getByRole('button', { name: 'Forget' }).click()
    await signIn(page)
    await waitForName(page)
    const { token } = await storedTokens(page)
    await page.goto(`${server.url}/explore#key=${KEY}`)
    await page.getByRole('heading', { name: 'Use the key of this link?' }).waitFor()
    await page.getByText(/you are signed in here as Ada Byron/).waitFor()
    expect([Object.keys(await stored(page)), (await storedTokens(page)).token]).toEqual([['roster.person'], token])
    await page.getByRole('button', { name: 'Stay signed in' }).click()
    await page.getByRole('link', { name: 'Start' }).waitFor()
    await page.goto(`${server.url}/explore#key=${KEY}`)
    await page.getByRole('button', { name: 'Use the link’s key' }).click()
    await page.getByRole('button', { name: 'Forget' }).waitFor()
    expect([await stored(page), complaints]).toEqual([{ 'roster.key': KEY }, []])
  })

  test('Copy as curl for a signed-in person has the variable ROSTER_TOKEN, not the token', async () => {
    await issuer.addPerson(ADA)
    const { page } = await open(SHARED)
    await signIn(page)
    await page.locator('tbody tr').waitFor()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('"Authorization: Bearer $ROSTER_TOKEN"')
  })
})

describeInBrowser('D108: a key at /explore that stays on the computer', () => {
  const { server, open } = useSignIn()

  test('a key that stays on the computer is used by another tab, too, until one of the tabs forgets it', async () => {
    const { page, complaints } = await open('#/Companies')
    await page.getByText('Use a key').click()
    await page.getByLabel('Key', { exact: true }).fill(KEY)
    await page.getByLabel('Keep on this computer').check()
    await page.keyboard.press('Enter')
    await page.getByText('Acme').waitFor()
    const other = await page.context().newPage()
    await other.goto(`${server.url}/explore#/Companies`)
    await other.getByText('Acme').waitFor()
    expect(await stored(other)).toEqual({ 'roster.key': KEY })
    await other.getByRole('button', { name: 'Forget' }).click()
    for (const tab of [page, other]) await tab.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    expect([await stored(page), await stored(other), complaints]).toEqual([{}, {}, []])
  })

  test('a key is stored only for the tab unless the reader chooses to keep it', async () => {
    const { page } = await open('#/Companies')
    await page.getByText('Use a key').click()
    await page.getByLabel('Key', { exact: true }).fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByText('Acme').waitFor()
    expect(await page.evaluate('[localStorage.length, sessionStorage.length]')).toEqual([0, 1])
  })

  test('a key that stays on the computer is forgotten when the server refuses it', async () => {
    const { record, text } = makeKey({ rights: 'Companies:read' })
    await server.replaceKeys([record])
    const { page } = await open('#/Companies')
    await page.getByText('Use a key').click()
    await page.getByLabel('Key', { exact: true }).fill(text)
    await page.getByLabel('Keep on this computer').check()
    await page.keyboard.press('Enter')
    await page.getByText('Acme').waitFor()
    await server.replaceKeys([])
    await page.reload()
    await page.getByText('This key is not known here, or was revoked.').waitFor()
    expect(await stored(page)).toEqual({})
  })
})
