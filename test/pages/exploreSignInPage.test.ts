import { describe, expect, test } from 'bun:test'
import { AUDIENCE, CLIENT_ID } from '../support/issuer.ts'
import { makeSigningKey, type PlainIssuer, startPlainIssuer } from '../support/plainIssuer.ts'
import { quietLog } from '../support/quietLog.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/start.ts'

/** What the page tells its script about signing in. */
async function offered(server: TestServer, path = '/explore') {
  const { status, text, headers } = await server.get(path, { authorization: '' })
  expect(status).toBe(200)
  const [, attribute = ''] = /data-sign-in="([^"]*)"/.exec(text) ?? []
  const [, connect] = /(?:^|; )(connect-src [^;]*)/.exec(headers.get('content-security-policy') ?? '') ?? []
  return { facts: JSON.parse(attribute.replaceAll('&quot;', '"').replaceAll('&amp;', '&')), connect, headers, text }
}

const startWith = (issuer: PlainIssuer, environment: Record<string, string> = {}) =>
  startServer({
    environment: { ...issuer.settings, OIDC_CLIENT_ID: CLIENT_ID, ...environment },
    log: quietLog({ error: () => undefined }),
  })

describe('D107: the page /explore', () => {
  test('without OIDC_CLIENT_ID offers no sign-in, and may send requests only to its own server', async () => {
    const issuer = startPlainIssuer()
    const server = await startServer({ environment: issuer.settings })
    expect(await offered(server)).toMatchObject({ facts: null, connect: "connect-src 'self'" })
  })

  test('has the addresses of the issuer, and may send requests only to its own server and to the origin of the token endpoint', async () => {
    const issuer = startPlainIssuer()
    issuer.document = { token_endpoint: 'https://tokens.example:8443/a?b=c', end_session_endpoint: `${issuer.url}/end` }
    const { facts, connect, headers } = await offered(await startWith(issuer))
    expect(facts).toEqual({
      issuer: issuer.url,
      clientId: CLIENT_ID,
      scope: 'openid email',
      resource: AUDIENCE,
      sends: 'access',
      endpoints: {
        authorization: `${issuer.url}/authorize`,
        token: 'https://tokens.example:8443/a?b=c',
        endSession: `${issuer.url}/end`,
        namesItself: false,
        algorithms: ['ES256', 'RS256', 'EdDSA'],
      },
    })
    expect([connect, headers.get('cache-control')]).toEqual(["connect-src 'self' https://tokens.example:8443", 'no-cache'])
  })

  test('follows a changed document of the issuer, also in its CSP, and browsers do not cache the former page', async () => {
    const issuer = startPlainIssuer()
    const server = await startWith(issuer)
    const before = await offered(server)
    const tag = before.headers.get('etag') ?? ''
    expect((await server.get('/explore', { 'if-none-match': tag })).status).toBe(304)
    issuer.document = { token_endpoint: 'https://moved.example/token' }
    // The server reads the document again for a token with a key that it does not know.
    issuer.keys = [makeSigningKey()]
    expect((await server.get('/Rights', { authorization: `Bearer ${issuer.token()}` })).status).toBe(200)
    const after = await server.get('/explore', { 'if-none-match': tag })
    expect([after.status, after.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringContaining("connect-src 'self' https://moved.example;"),
    ])
    expect(before.connect).toBe(`connect-src 'self' ${new URL(issuer.url).origin}`)
  })

  test('uses ID tokens if the client is the audience, and requests no resource if the audience is no URL', async () => {
    const issuer = startPlainIssuer()
    const server = await startWith(issuer, { OIDC_AUDIENCE: CLIENT_ID })
    expect((await offered(server)).facts).toMatchObject({ sends: 'id', resource: null })
  })

  test.each([
    ['no address to sign in', { authorization_endpoint: undefined }],
    ['no address of tokens', { token_endpoint: undefined }],
    ['a script in place of an address', { authorization_endpoint: 'javascript:alert(1)//' }],
    ['an address in clear text', { token_endpoint: 'http://login.example/token' }],
    ['a host that would add to the policy', { token_endpoint: 'https://a;script-src.example/token' }],
    ['a host that would be any host in the policy', { token_endpoint: 'https://*.example/token' }],
    ['a host with a quote', { token_endpoint: "https://'self'/token" }],
    ['a name and a password', { authorization_endpoint: 'https://user:secret@login.example/' }],
    ['a fragment, which would stay in the address', { authorization_endpoint: 'https://login.example/#a' }],
    ['an address to sign out that is a script', { end_session_endpoint: 'javascript:alert(1)' }],
    ['an address beyond all bounds', { authorization_endpoint: `https://login.example/${'a'.repeat(500)}` }],
    ['a number', { token_endpoint: 1 }],
  ])('offers no sign-in at an issuer with %s, while the server still accepts its tokens', async (_, document) => {
    const issuer = startPlainIssuer()
    issuer.document = document
    const server = await startWith(issuer)
    const { facts, connect } = await offered(server)
    expect([facts.endpoints, connect]).toEqual([null, "connect-src 'self'"])
    expect((await server.get('/Rights', { authorization: `Bearer ${issuer.token()}` })).status).toBe(200)
  })

  test.each(['code=a&state=b&iss=c', 'error=access_denied&state=b', 'error=access_denied'])(
    'is served at the address to which the issuer sends people back: ?%s',
    async (query) => {
      const server = await startWith(startPlainIssuer())
      const { text } = await offered(server, `/explore?${query}`)
      expect(text).not.toContain('access_denied')
      // Requests for the files of the page do not repeat its address.
      expect(text.indexOf('<meta name="referrer" content="no-referrer">')).toBeLessThan(text.indexOf('<link rel="stylesheet"'))
    },
  )
})
