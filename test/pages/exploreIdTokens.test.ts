import { expect, test } from 'bun:test'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { CLIENT_ID } from '../support/issuer.ts'
import { type PlainIssuer, startPlainIssuer } from '../support/plainIssuer.ts'
import { ROLES_FILE } from '../support/rolesFile.ts'
import { ADA, createPeople, stored, waitForName } from '../support/signIn.ts'
import { startServer } from '../support/start.ts'

type Claims = Readonly<Record<string, unknown>>

/** Makes the issuer sign Ada in without a question. Its ID tokens differ from good ones by `claims`; its answers by `answer`. */
function signInAda(issuer: PlainIssuer, claims: Claims, answer: Claims = {}): void {
  let nonce: string | null = null
  issuer.onOther = (request) => {
    const asked = new URL(request.url)
    if (asked.pathname === '/authorize') {
      nonce = asked.searchParams.get('nonce')
      const back = new URL(asked.searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('code', 'one')
      back.searchParams.set('state', asked.searchParams.get('state') ?? '')
      return Response.redirect(back.href)
    }
    const idToken = issuer.token({ aud: CLIENT_ID, nonce, name: ADA.name, ...claims }, { typ: 'JWT' })
    const tokens = { access_token: issuer.token(ADA), token_type: 'Bearer', expires_in: 3_600, id_token: idToken, ...answer }
    return Response.json(tokens, { headers: { 'access-control-allow-origin': '*' } })
  }
}

describeInBrowser('D107: an ID token at /explore', () => {
  const browser = useBrowser()

  async function signInWith(claims: Claims, answer?: Claims) {
    const issuer = startPlainIssuer()
    signInAda(issuer, claims, answer)
    const environment = { ...issuer.settings, OIDC_CLIENT_ID: CLIENT_ID }
    const server = await startServer({ environment, roles: ROLES_FILE })
    await createPeople(server)
    const { page } = await browser.open(`${server.url}/explore#/Absences`)
    page.setDefaultTimeout(60_000)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    return page
  }

  test('an ID token with the claims of this sign-in is accepted', async () => {
    const page = await signInWith({})
    await waitForName(page)
  })

  test('an ID token without a name lets the page name the person by her e-mail address', async () => {
    const page = await signInWith({ name: '', email: '<b>ada@example.com' })
    await waitForName(page, '<b>ada@example.com')
  })

  test.each([
    ['of another sign-in', { nonce: 'another' }, /does not fit this sign-in: unexpected ID Token "nonce"/],
    ['of no sign-in', { nonce: undefined }, /does not fit this sign-in: JWT "nonce" \(nonce\) claim missing/],
    ['for another client', { aud: 'another' }, /does not fit this sign-in: unexpected JWT "aud"/],
    [
      'for two clients, given to the other',
      { aud: [CLIENT_ID, 'b'], azp: 'b' },
      /does not fit this sign-in: unexpected ID Token "azp"/,
    ],
    ['of another issuer', { iss: 'https://evil.example' }, /does not fit this sign-in: unexpected JWT "iss"/],
    ['that has ended', { exp: 1_000 }, /^The clocks of this computer and of 127\.0\.0\.1:\d+ differ too much/],
    ['of nobody', { sub: undefined }, /does not fit this sign-in: JWT "sub"/],
  ])('an ID token %s is refused, and nobody is signed in', async (_, claims, message) => {
    const page = await signInWith(claims)
    await page.getByText(message).waitFor()
    expect(await stored(page)).toEqual({})
  })

  test.each([
    ['no ID token', { id_token: undefined }],
    ['no access token', { access_token: undefined }],
    ['a token of another type', { token_type: 'mac' }],
    ['a text in place of tokens', { access_token: 1 }],
  ])('an ID token and an access token are required: nobody is signed in after an answer with %s', async (_, answer) => {
    const page = await signInWith({}, answer)
    await page.getByText(/does not fit this sign-in/).waitFor()
    expect(await stored(page)).toEqual({})
  })
})
