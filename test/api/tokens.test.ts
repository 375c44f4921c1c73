import { describe, expect, test } from 'bun:test'
import { AUDIENCE, useIssuer } from '../support/issuer.ts'
import { makeSigningKey, type PlainIssuer, startPlainIssuer } from '../support/plainIssuer.ts'
import { type Answer, KEY, makeKey, type TestServer } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const outcome = ({ status, headers, body }: Answer) => [status, headers.get('www-authenticate'), body?.Error?.Message]
const remaining = ({ status, headers }: Answer) => `${status} ${headers.get('x-ratelimit-remaining')}`
const NEEDED =
  'The request needs a valid key in the header Authorization: ApiKey <key>, or a valid token in Authorization: Bearer <token>.'
const BOTH = 'ApiKey, Bearer'
const INVALID = 'ApiKey, Bearer error="invalid_token"'

/** Whom the server takes for the sender: the pseudonym in a log line is not seen, so two share a name if they share limits. */
const rightsOf = (server: TestServer, token: string) => server.get('/Rights', bearer(token))

describe('D97: tokens of a real provider', () => {
  const issuer = useIssuer()
  const server = useServer(() => ({ environment: issuer.settings }))

  test('an access token of a sign-in is accepted; its person has no right without a role, which is 403 and not 401', async () => {
    const token = await issuer.tokenFor({ email: 'ann@example.com', email_verified: true })
    const rights = await rightsOf(server, token)
    expect([rights.status, rights.body]).toEqual([200, []])
    for (const [method, path] of [
      ['GET', '/Companies'],
      ['POST', '/Companies'],
      ['DELETE', '/Employees/1'],
    ] as const)
      expect((await server.send(method, path, method === 'POST' ? {} : undefined, bearer(token))).status).toBe(403)
  })

  test('the word Bearer is accepted in upper or lower case, with one space or more', async () => {
    const token = await issuer.tokenFor({ email: 'ann@example.com' })
    for (const authorization of [`bearer ${token}`, `BEARER   ${token}`])
      expect((await server.get('/Rights', { authorization })).status).toBe(200)
  })

  test('a token for another service is 401, and the message names the audience that it should have', async () => {
    const token = await issuer.tokenFor({ email: 'ann@example.com' }, { audience: 'https://other.example' })
    const message = `${NEEDED} The token is for another audience than ${AUDIENCE} (aud).`
    expect(outcome(await rightsOf(server, token))).toEqual([401, INVALID, message])
  })

  test('an ID token is refused, since its audience is the page that requested it', async () => {
    const { idToken } = await issuer.signIn({ email: 'ann@example.com' })
    expect(outcome(await rightsOf(server, idToken))[2]).toContain('for another audience')
  })

  test('API keys are still accepted by a server that accepts tokens', async () => {
    expect((await server.get('/Companies')).status).toBe(200)
    expect(outcome(await server.get('/Companies', { authorization: 'ApiKey wrong' }))).toEqual([401, BOTH, NEEDED])
  })

  test('a new signing key of the provider is read when the first token that it has signed arrives', async () => {
    await issuer.rotateKeys()
    const token = await issuer.tokenFor({ email: 'ann@example.com' })
    expect((await rightsOf(server, token)).status).toBe(200)
  })

  test('/openapi.json describes both schemes, and accepts a token like an API key', async () => {
    const { body, headers } = await server.get('/openapi.json', { authorization: '' })
    expect(body.security).toEqual([{ ApiKey: [] }, { Bearer: [] }])
    expect(body.components.securitySchemes.Bearer).toMatchObject({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' })
    expect(headers.get('vary')).toContain('Authorization')
    const own = await server.get('/openapi.json', bearer(await issuer.tokenFor({ email: 'ann@example.com' })))
    expect([own.status, own.headers.get('cache-control'), Object.keys(own.body.paths)]).toEqual([
      200,
      'private, no-cache',
      expect.not.arrayContaining(['/Companies']),
    ])
    for (const authorization of ['Bearer wrong', 'Bearer', 'bearer a b'])
      expect((await server.get('/openapi.json', { authorization })).status).toBe(401)
  })
})

describe('D97: the header Authorization', () => {
  const servers = async (environment: Record<string, string> = {}) => {
    const issuer = startPlainIssuer()
    return { issuer, server: await startServer({ environment: { ...issuer.settings, ...environment } }) }
  }

  test('without a credential, 401 names both schemes and no error', async () => {
    const { server } = await servers()
    expect(outcome(await server.get('/Companies', { authorization: '' }))).toEqual([401, BOTH, NEEDED])
  })

  test.each([
    [
      'a token after the word ApiKey',
      ({ issuer }: Made) => `ApiKey ${issuer.token()}`,
      BOTH,
      'The scheme of a token is Bearer, not ApiKey.',
    ],
    [
      'a token of 257 characters and more after the word ApiKey',
      ({ issuer }: Made) => `ApiKey ${issuer.token({ note: 'x'.repeat(300) })}`,
      BOTH,
      'The scheme of a token is Bearer, not ApiKey.',
    ],
    [
      'a key after the word Bearer',
      () => `Bearer ${KEY}`,
      INVALID,
      'The token is no JWT: the scheme of a key is ApiKey, and tokens that are no JWTs cannot be read.',
    ],
    [
      'a key of the database after the word Bearer',
      ({ key }: Made) => `Bearer ${key.text}`,
      INVALID,
      'The token is no JWT: the scheme of a key is ApiKey, and tokens that are no JWTs cannot be read.',
    ],
    ['no token', () => 'Bearer', BOTH, 'Bearer, a space and one token make the header.'],
    [
      'two tokens',
      ({ issuer }: Made) => `Bearer ${issuer.token()} ${issuer.token()}`,
      BOTH,
      'Bearer, a space and one token make the header.',
    ],
    ['two schemes', ({ issuer }: Made) => `ApiKey x, Bearer ${issuer.token()}`, BOTH, ''],
    ['another scheme', () => 'Basic YTpi', BOTH, 'The scheme is ApiKey or Bearer, not Basic.'],
  ] as const)('with %s is 401, and the message says what to do', async (_, made, scheme, hint) => {
    const { issuer, server } = await servers()
    const key = makeKey()
    await server.replaceKeys([key.record])
    const authorization = made({ issuer, key })
    const found = outcome(await server.get('/Companies', { authorization }))
    expect(found).toEqual([401, scheme, hint === '' ? NEEDED : `${NEEDED} ${hint}`])
    for (const secret of authorization
      .split(' ')
      .slice(1)
      .filter((word) => word.length > 20))
      expect(JSON.stringify(found)).not.toContain(secret)
  })

  test('a token in the query string or the body is not read: 401', async () => {
    const { issuer, server } = await servers()
    const token = issuer.token()
    for (const path of [`/Companies?access_token=${token}`, `/Companies?token=${token}`])
      expect(outcome(await server.get(path, { authorization: '' }))).toEqual([401, BOTH, NEEDED])
    const form = { authorization: '', 'content-type': 'application/x-www-form-urlencoded' }
    expect((await server.send('POST', '/Companies', `access_token=${token}`, form)).status).toBe(401)
  })

  test.each(['/', '/livez', '/readyz', '/errors/NotFound'])(
    '%s is 200 without a valid token, also if a wrong token is sent',
    async (path) => {
      const { issuer, server } = await servers()
      for (const token of ['wrong', issuer.token(), issuer.token({}, {}, makeSigningKey())])
        expect((await server.get(path, bearer(token))).status).toBe(200)
    },
  )

  test('a server without OIDC_ISSUER answers a token with the 401 of a server that only knows API keys', async () => {
    const issuer = startPlainIssuer()
    const server = await startServer()
    const answer = await server.get('/Companies', bearer(issuer.token()))
    const message = 'The request needs a valid key in the header Authorization: ApiKey <key>. The scheme is ApiKey, not Bearer.'
    expect(outcome(answer)).toEqual([401, 'ApiKey', message])
    const { body } = await server.get('/openapi.json', bearer(issuer.token()))
    expect([body.security, Object.keys(body.components.securitySchemes)]).toEqual([[{ ApiKey: [] }], ['ApiKey']])
    expect(issuer.requests).toEqual([])
  })
})

interface Made {
  readonly issuer: PlainIssuer
  readonly key: ReturnType<typeof makeKey>
}

describe('D98: an issuer that is away', () => {
  test('before its signing keys were read: a token is 503 and not charged, while API keys and pages for everybody are answered', async () => {
    const issuer = startPlainIssuer()
    issuer.onKeys = () => new Response(null, { status: 502 })
    const environment = { ...issuer.settings, RATE_LIMITS_ANONYMOUS: '9/1h' }
    const server = await startServer({ environment })
    const token = issuer.token()
    const answer = await rightsOf(server, token)
    expect([answer.status, answer.headers.get('retry-after'), answer.body.Error.Message]).toEqual([
      503,
      '1',
      'The token cannot be checked at the moment: its issuer does not answer. Retry after the seconds in Retry-After.',
    ])
    expect((await server.get('/Companies')).status).toBe(200)
    expect(remaining(await server.get('/', { authorization: '' }))).toBe('200 8')
    // At a page that needs no token, the token is charged to the address.
    expect(remaining(await server.get('/', bearer(token)))).toBe('200 7')
  })

  test('after its signing keys were read: new tokens that these keys have signed are accepted', async () => {
    const issuer = startPlainIssuer()
    const server = await startServer({ environment: issuer.settings })
    expect((await rightsOf(server, issuer.token())).status).toBe(200)
    await issuer.stop()
    expect((await rightsOf(server, issuer.token({ sub: 'ben' }))).status).toBe(200)
  })

  test('thousands of tokens with unknown signing keys are 401, then 429, and the signing keys are requested once', async () => {
    const issuer = startPlainIssuer()
    const server = await startServer({ environment: { ...issuer.settings, RATE_LIMITS_ANONYMOUS: '1000/1h' } })
    await rightsOf(server, issuer.token())
    const before = issuer.requests.length
    const statuses = new Map<number, number>()
    for (let round = 0; round < 20; round++) {
      const tokens = Array.from({ length: 100 }, (_, index) => issuer.token({}, { kid: `${round} ${index}` }))
      for (const { status } of await Promise.all(tokens.map((token) => rightsOf(server, token))))
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    expect(Object.fromEntries(statuses)).toEqual({ 401: 1_000, 429: 1_000 })
    // One reading is two requests: the document and the keys.
    expect(issuer.requests.length - before).toBe(2)
  })
})

describe('D99: limits', () => {
  const environment = { RATE_LIMITS: '90/1h', RATE_LIMITS_ANONYMOUS: '5/1h', RATE_LIMITS_PERSONS: '7/1h,9/2h' }

  async function limited() {
    const issuer = startPlainIssuer()
    return { issuer, server: await startServer({ environment: { ...issuer.settings, ...environment } }) }
  }

  test('two tokens of one person share her limits, and another person has limits of her own; their address is charged nothing', async () => {
    const { issuer, server } = await limited()
    const [one, two] = [issuer.token(), issuer.token({ groups: ['hr'] })]
    const found = [await rightsOf(server, one), await rightsOf(server, two), await rightsOf(server, one)]
    expect(found.map(remaining)).toEqual(['200 8', '200 7', '200 6'])
    expect(found[0]?.headers.get('ratelimit-policy')).toBe('"1h";q=7;w=3600, "2h";q=9;w=7200')
    expect(remaining(await rightsOf(server, issuer.token({ sub: 'ben' })))).toBe('200 8')
    for (let request = 0; request < 4; request++) await rightsOf(server, two)
    const refused = await rightsOf(server, one)
    expect([refused.status, refused.body.Error.Message]).toEqual([429, expect.stringContaining('The limit of 7 per 1h')])
    expect(remaining(await server.get('/', { authorization: '' }))).toBe('200 4')
  })

  test('a bad token is charged to the address that sends it, and to no person', async () => {
    const { issuer, server } = await limited()
    expect(remaining(await rightsOf(server, issuer.token()))).toBe('200 8')
    const bad = [issuer.token({ exp: 1 }), issuer.token({}, {}, makeSigningKey()), 'x', KEY]
    const found: string[] = []
    for (const token of bad) found.push(remaining(await rightsOf(server, token)))
    expect(found).toEqual(['401 4', '401 3', '401 2', '401 1'])
    expect(remaining(await rightsOf(server, issuer.token()))).toBe('200 7')
  })

  test('an address over its limit is 429 before a new token is checked, while a known token is still accepted', async () => {
    const { issuer, server } = await limited()
    const known = issuer.token()
    expect(remaining(await rightsOf(server, known))).toBe('200 8')
    for (let request = 0; request < 5; request++) await rightsOf(server, 'bad')
    issuer.rotateKeys()
    const before = issuer.requests.length
    expect(remaining(await rightsOf(server, issuer.token({ sub: 'ben' })))).toBe('429 0')
    expect(issuer.requests.length).toBe(before)
    expect(remaining(await rightsOf(server, known))).toBe('200 7')
  })

  test('concurrent requests with bad tokens are 401 up to the limit of their address; the rest are 429', async () => {
    const { issuer, server } = await limited()
    await rightsOf(server, issuer.token())
    const forged = Array.from({ length: 40 }, (_, index) => issuer.token({ sub: `person ${index}` }, {}, makeSigningKey()))
    const answers = await Promise.all(forged.map((token) => rightsOf(server, token)))
    expect([401, 429].map((status) => answers.filter((one) => one.status === status).length)).toEqual([5, 35])
  })

  test('an API key and a person never share limits', async () => {
    const { issuer, server } = await limited()
    const key = makeKey()
    await server.replaceKeys([key.record])
    expect(remaining(await server.get('/Rights', key.headers))).toBe('200 89')
    expect(remaining(await rightsOf(server, issuer.token({ sub: key.record.name })))).toBe('200 8')
  })
})
