import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser } from '../support/browser.ts'
import { CLIENT_ID } from '../support/issuer.ts'
import { ADA, GRACE, signIn, stored, storedTokens, useSignIn, waitForName } from '../support/signIn.ts'

const HASH = '#/Absences?Status=Approved'
const NOT_OWN = 'This answer belongs to no sign-in of this tab, or was used already. Sign in again.'

describeInBrowser('D107: an answer of a sign-in at /explore', () => {
  const { issuer, server, open } = useSignIn()

  /** Signs in, and returns the address of the issuer's answer. */
  async function answerOf(page: Page, person: string): Promise<string> {
    const answered = page.waitForRequest((request) => request.url().startsWith(`${server.url}/explore?`))
    await signIn(page, person)
    return (await answered).url()
  }
  /** Signs in to a page whose script does not load any more, so that it does not use the answer. */
  async function unusedAnswerOf(page: Page, person: string): Promise<URL> {
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await page.route('**/explore/*.js', (route) => route.abort())
    const answer = await answerOf(page, person)
    await page.waitForURL(answer)
    await page.unroute('**/explore/*.js')
    return new URL(answer)
  }
  const tokenRequests = (requests: readonly string[]) => requests.filter((url) => url === `${issuer.url}/token`).length

  test.each([
    ['a code and no state', '?code=abc'],
    ['a code and a state', '?code=abc&state=def'],
    ['an error', '?error=access_denied&error_description=Call+555-0100'],
    ['an error and a state', '?error=server_error&state=def&error_description=<script>alert(1)</script>'],
  ])('an answer that belongs to no sign-in of this tab is refused without a request: %s', async (_, query) => {
    const { page, complaints, requests } = await open(query + HASH)
    await page.getByText(NOT_OWN).waitFor()
    expect(page.url()).toBe(`${server.url}/explore${HASH}`)
    expect([await stored(page), tokenRequests(requests), complaints]).toEqual([{}, 0, []])
    expect(await page.getByText(/555|alert/).count()).toBe(0)
  })

  test('an answer to a sign-in of another tab signs nobody in, with its own state or with the state of this tab', async () => {
    await issuer.addPerson(ADA)
    await issuer.addPerson(GRACE)
    const attacker = await open(HASH)
    const stolen = await unusedAnswerOf(attacker.page, GRACE.email)

    const { page, requests } = await open(HASH)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('Person').waitFor()
    await page.goto(stolen.href)
    await page.getByText(NOT_OWN).waitFor()
    expect(tokenRequests(requests)).toBe(0)

    const pending = JSON.parse((await stored(page))['roster.signIn'] ?? '')
    stolen.searchParams.set('state', pending.state)
    await page.goto(stolen.href)
    // The code is bound to the verifier of the attacker's tab.
    await page.getByText(/refused this sign-in: grant request is invalid/).waitFor()
    expect([await stored(page), tokenRequests(requests)]).toEqual([{}, 1])
    expect(page.url()).toBe(`${server.url}/explore${HASH}`)
  })

  test('an answer is used only once: repeating it does not change the session, and signs nobody in elsewhere', async () => {
    await issuer.addPerson(ADA)
    const { page, requests, complaints } = await open(HASH)
    const answer = await answerOf(page, ADA.email)
    await waitForName(page)
    const before = await storedTokens(page)
    await page.goto(answer)
    await waitForName(page)
    expect(page.url().split('#')[0]).toBe(`${server.url}/explore`)
    expect([(await storedTokens(page)).token, tokenRequests(requests)]).toEqual([before.token, 1])
    const other = await open()
    await other.page.goto(answer)
    await other.page.getByText(NOT_OWN).waitFor()
    expect([await stored(other.page), tokenRequests(other.requests), complaints]).toEqual([{}, 0, []])
  })

  test.each([
    ['names another issuer', 'https://evil.example', /does not fit this sign-in: unexpected "iss"/],
    // This issuer says in its document that it names itself. RFC 9207
    ['names no issuer', null, /does not fit this sign-in: response parameter "iss" \(issuer\) missing/],
  ])('an answer that %s is refused before its code is used', async (_, name, message) => {
    await issuer.addPerson(ADA)
    const { page, requests } = await open(HASH)
    const answer = await unusedAnswerOf(page, ADA.email)
    if (name === null) answer.searchParams.delete('iss')
    else answer.searchParams.set('iss', name)
    await page.goto(answer.href)
    await page.getByText(message).waitFor()
    expect([await stored(page), tokenRequests(requests)]).toEqual([{}, 0])
  })

  test.each(['garbage', 'null', '[]', '{"state":"def"}'])(
    'an answer is refused if the stored data of the sign-in is %s',
    async (kept) => {
      const { page } = await open()
      await page.evaluate(`sessionStorage.setItem('roster.signIn', ${JSON.stringify(kept)})`)
      await page.goto(`${server.url}/explore?code=abc&state=xyz${HASH}`)
      await page.getByText(NOT_OWN).waitFor()
      await page.evaluate(`sessionStorage.setItem('roster.person', ${JSON.stringify(kept)})`)
      await page.reload()
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    },
  )

  test.each(['#//evil.example', '#https://evil.example/', '#/../../evil', '#javascript:alert(1)', '#/%00<b>'])(
    'an answer leads back only to /explore of this server, even with the fragment %s',
    async (hash) => {
      await issuer.addPerson(ADA)
      const { page, requests } = await open(hash)
      await signIn(page)
      await waitForName(page)
      expect(new URL(page.url()).origin + new URL(page.url()).pathname).toBe(`${server.url}/explore`)
      expect(new Set(requests.map((url) => new URL(url).origin))).toEqual(new Set([issuer.url, server.url]))
    },
  )

  test('an answer is requested with code, PKCE by S256, state, nonce and the API, with new random values for each sign-in', async () => {
    const { page, requests } = await open(HASH)
    const asked: URLSearchParams[] = []
    for (let time = 0; time < 2; time++) {
      await page.goto(`${server.url}/explore${HASH}`)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByLabel('Person').waitFor()
      asked.push(new URL(requests.findLast((url) => url.startsWith(`${issuer.url}/auth?`)) as string).searchParams)
    }
    const [first, second] = asked as [URLSearchParams, URLSearchParams]
    expect(Object.fromEntries(first)).toEqual({
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: `${server.url}/explore`,
      scope: 'openid email',
      resource: issuer.settings.OIDC_AUDIENCE,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    })
    for (const name of ['code_challenge', 'state', 'nonce']) expect(first.get(name)).not.toBe(second.get(name))
  })
})
