import { expect, test } from 'bun:test'
import { describeInBrowser, type OpenPage, useBrowser } from '../support/browser.ts'
import { CLIENT_ID, type Issuer, startIssuer } from '../support/issuer.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import { KEY, type TestServer } from '../support/server.ts'
import { ADA, createPeople, REDIRECTS, signIn, stored, waitForName } from '../support/signIn.ts'
import { startServer } from '../support/start.ts'

const HASH = '#/Absences?sort=-Start'

describeInBrowser('D107: sign-in at /explore while the issuer is away', () => {
  const browser = useBrowser()

  async function start(issuer: Issuer): Promise<TestServer> {
    const environment = { ...issuer.settings, OIDC_CLIENT_ID: CLIENT_ID }
    const server = await startServer({ environment, roles: ROLES_FILE, log: quietLog() })
    await createPeople(server)
    return server
  }
  async function open(server: TestServer): Promise<OpenPage> {
    const opened = await browser.open(`${server.url}/explore${HASH}`, { locale: 'en-GB' })
    opened.page.setDefaultTimeout(60_000)
    return opened
  }

  test('a sign-in is not offered until the server has read the document of the issuer; keys work meanwhile', async () => {
    const issuer = await startIssuer(REDIRECTS)
    issuer.signal('SIGSTOP')
    const server = await start(issuer)
    const { page, complaints } = await open(server)
    await page.getByText(/^Nobody can sign in at the moment: this server cannot ask 127\.0\.0\.1/).waitFor()
    await page.getByLabel('Key', { exact: true }).fill(KEY)
    await page.keyboard.press('Enter')
    await page.locator('tbody tr').first().waitFor()
    await page.getByRole('button', { name: 'Forget' }).click()
    issuer.signal('SIGCONT')
    await issuer.addPerson(ADA)
    await until(async () => {
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      return (await page.getByRole('button', { name: 'Sign in', exact: true }).count()) === 1
    })
    await signIn(page)
    await waitForName(page)
    expect(complaints).toEqual([])
  })

  test('a sign-in fails with an error of the browser, and Back leads to the page with its link', async () => {
    const issuer = await startIssuer(REDIRECTS)
    const server = await start(issuer)
    const { page } = await open(server)
    const button = page.getByRole('button', { name: 'Sign in', exact: true })
    await button.waitFor()
    await issuer.stop()
    await button.click()
    await page.waitForURL('chrome-error://chromewebdata/')
    await page.goBack()
    await button.waitFor()
    expect([page.url(), await button.isEnabled()]).toEqual([`${server.url}/explore${HASH}`, true])
  })

  test('a sign-in fails with a message if the issuer sends no tokens, and succeeds the next time', async () => {
    const issuer = await startIssuer(REDIRECTS)
    await issuer.addPerson(ADA)
    const server = await start(issuer)
    const { page } = await open(server)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await page.route('**/explore/*.js', (route) => route.abort())
    const back = (url: URL) => url.href.startsWith(`${server.url}/explore?code=`)
    await Promise.all([page.waitForURL(back), signIn(page)])
    await page.unroute('**/explore/*.js')
    issuer.signal('SIGSTOP')
    await page.reload()
    await page.getByText('Signing in …').waitFor()
    await page.getByText(/does not answer this page/).waitFor()
    expect([page.url(), await stored(page)]).toEqual([`${server.url}/explore${HASH}`, {}])
    issuer.signal('SIGCONT')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    // The issuer knows the browser.
    await waitForName(page)
    expect(page.url()).toBe(`${server.url}/explore${HASH}`)
  })
})
