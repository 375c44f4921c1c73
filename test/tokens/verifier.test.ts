import { describe, expect, onTestFinished, test } from 'bun:test'
import { createPublicKey, type KeyObject } from 'node:crypto'
import { isRefused, type Verdict } from '../../src/model/token.ts'
import { TOKEN_LENGTH_MAX, TokenVerifier } from '../../src/tokens/verifier.ts'
import { AUDIENCE } from '../support/issuer.ts'
import { makeSigningKey, type PlainIssuer, type SigningKey, signToken, startPlainIssuer } from '../support/plainIssuer.ts'

/** A verifier of an issuer's tokens; `outages`, `faults`: what it has said of the issuer, and of its addresses for sign-in. */
function startVerifier(issuer: PlainIssuer, askEveryMs?: number) {
  const outages: (string | null)[] = []
  const faults: (string | null)[] = []
  const verifier = new TokenVerifier({
    issuer: issuer.url,
    audience: AUDIENCE,
    onOutage: (reason) => outages.push(reason),
    onEndpoints: (fault) => faults.push(fault),
    ...(askEveryMs === undefined ? {} : { askEveryMs }),
  })
  verifier.start()
  onTestFinished(() => verifier.stop())
  return { verifier, outages, faults }
}

const outcomeOf = (verdict: Verdict) =>
  isRefused(verdict) ? `${verdict.isUndecided ? 'undecided: ' : ''}${verdict.refusal}` : verdict.subject
const askedFor = ({ requests }: PlainIssuer, path: string) => requests.filter((one) => one === path).length
const nowS = () => Math.floor(Date.now() / 1_000)
const part = (token: string, index: number) => token.split('.')[index] as string
const pemOf = (key: KeyObject) => createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()

type Forge = (issuer: PlainIssuer, key: SigningKey) => string

const IS_UNSIGNED = 'The token is not signed by a key of its issuer (alg).'
const NO_JWT = 'The token is no JWT: the scheme of a key is ApiKey, and tokens that are no JWTs cannot be read.'

/** Tokens by what is wrong with them, and the reason that is told. */
const BAD: readonly (readonly [name: string, forge: Forge, reason: string | RegExp])[] = [
  [
    'signed by another key of the same name',
    (issuer, { kid }) => issuer.token({}, {}, makeSigningKey('ES256', kid)),
    /signature/,
  ],
  ['with the claims of another token', (issuer) => splice(issuer.token(), issuer.token({ sub: 'eve' })), /signature/],
  ['without its signature', (issuer) => issuer.token().replace(/[^.]*$/, ''), /signature/],
  ['of another issuer', (issuer) => issuer.token({ iss: 'https://evil.example' }), 'The token is of another issuer (iss).'],
  ['without an issuer', (issuer) => issuer.token({ iss: undefined }), 'The token is of another issuer (iss).'],
  ['of a list of issuers', (issuer) => issuer.token({ iss: [issuer.url] }), 'The token is of another issuer (iss).'],
  ['of the algorithm none', (issuer) => signToken({ alg: 'none' }, issuer.claimsOf(), '').replace(/[^.]*$/, ''), IS_UNSIGNED],
  ['of the algorithm nOnE', (issuer) => signToken({ alg: 'nOnE' }, issuer.claimsOf(), '').replace(/[^.]*$/, ''), IS_UNSIGNED],
  [
    'signed by HMAC with the public key in PEM as the secret',
    (issuer, { kid, privateKey }) => signToken({ alg: 'HS256', kid }, issuer.claimsOf(), pemOf(privateKey)),
    IS_UNSIGNED,
  ],
  [
    'signed by HMAC, which its header calls ES256',
    (issuer, { kid, privateKey }) => signToken({ alg: 'ES256', kid }, issuer.claimsOf(), pemOf(privateKey)),
    /signature/,
  ],
  ['without an algorithm', (issuer) => issuer.token({}, { alg: undefined }), IS_UNSIGNED],
  ['of an algorithm that the issuer does not name', (issuer) => issuer.token({}, { alg: 'PS256' }), /algorithm that its issuer/],
  ['with a critical extension', (issuer) => issuer.token({}, { crit: ['exp'] }), /crit/],
  ['with a critical extension that a library knows', (issuer) => issuer.token({}, { crit: ['b64'], b64: true }), /crit/],
  ['of another type', (issuer) => issuer.token({}, { typ: 'logout+jwt' }), /of the type logout\+jwt.*\(typ\)/],
  ['of a type that is no text', (issuer) => issuer.token({}, { typ: 7 }), NO_JWT],
  ['for another audience', (issuer) => issuer.token({ aud: 'https://other.example' }), `another audience than ${AUDIENCE} (aud)`],
  ['for other audiences', (issuer) => issuer.token({ aud: ['a', `${AUDIENCE}/`] }), `another audience than ${AUDIENCE} (aud)`],
  ['without an audience', (issuer) => issuer.token({ aud: undefined }), 'The token lacks the claim aud.'],
  ['without an end (exp)', (issuer) => issuer.token({ exp: undefined }), 'The token lacks the claim exp.'],
  ['with an end (exp) that is a text', (issuer) => issuer.token({ exp: '2999' }), 'The token has a wrong exp.'],
  [
    'that has ended',
    (issuer) => issuer.token({ exp: nowS() - 61 }),
    /^The token ended at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(exp\)/,
  ],
  ['that is not valid yet', (issuer) => issuer.token({ nbf: nowS() + 63 }), /^The token is not valid before \d{4}-.*Z \(nbf\)/],
  ['without a subject (sub)', (issuer) => issuer.token({ sub: undefined }), 'The token lacks the claim sub.'],
  ['whose subject is empty', (issuer) => issuer.token({ sub: '' }), /^The token names nobody/],
  ['whose subject is a list', (issuer) => issuer.token({ sub: ['ann'] }), /^The token names nobody/],
  ['whose subject has 256 characters', (issuer) => issuer.token({ sub: 'a'.repeat(256) }), /^The token names nobody/],
  ['bound to a key of its client', (issuer) => issuer.token({ cnf: { jkt: 'x' } }), /^The token is bound to a key/],
  ['that is not JSON', () => 'a.b.c', NO_JWT],
  ['of two parts', (issuer) => issuer.token().split('.').slice(0, 2).join('.'), NO_JWT],
  ['that is an API key', () => `roster_${'a'.repeat(10)}_${'b'.repeat(43)}`, NO_JWT],
  ['that is encrypted', () => 'eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a.b.c.d', NO_JWT],
  ['of too many characters', (issuer) => issuer.token({ note: 'x'.repeat(TOKEN_LENGTH_MAX) }), /more than 8192 characters/],
]

function splice(signed: string, claimed: string): string {
  return [part(signed, 0), part(claimed, 1), part(signed, 2)].join('.')
}

describe('D97: a token', () => {
  test.each(BAD)('%s is refused with the reason', async (_, forge, reason) => {
    const issuer = startPlainIssuer()
    const { verifier } = startVerifier(issuer)
    expect(await verifier.verify(issuer.token())).toMatchObject({ subject: 'ann', issuer: issuer.url })
    const token = forge(issuer, issuer.keys[0] as SigningKey)
    for (const verdict of [await verifier.verify(token), await verifier.verify(token)])
      expect(verdict).toEqual({ refusal: expect.stringMatching(reason), isUndecided: false })
    expect(verifier.known(token)).toBeNull()
    // None of these tokens makes the verifier ask for other keys.
    expect(askedFor(issuer, '/keys')).toBe(1)
  })

  test.each([
    ['an access token of RFC 9068', { typ: 'at+jwt' }],
    ['the whole media type of RFC 9068', { typ: 'application/at+jwt' }],
    ['a JWT', { typ: 'JWT' }],
    ['missing', { typ: undefined }],
  ] as const)('whose type is %s is accepted', async (_, header) => {
    const issuer = startPlainIssuer()
    const { verifier } = startVerifier(issuer)
    expect(outcomeOf(await verifier.verify(issuer.token({}, header)))).toBe('ann')
  })

  test.each([
    ['for several audiences, one of which is ours', { aud: ['https://other.example', AUDIENCE] }],
    ['that ended less than 60 s ago, by a clock that may be wrong', { exp: nowS() - 50 }],
    ['that begins in less than 60 s', { nbf: nowS() + 50 }],
    ['with claims of any type', { groups: ['hr'], realm_access: { roles: [] }, email: null, __proto__: 'x' }],
  ])('%s is accepted', async (_, claims) => {
    const issuer = startPlainIssuer()
    const { verifier } = startVerifier(issuer)
    const verdict = await verifier.verify(issuer.token(claims))
    expect(verdict).toMatchObject({ subject: 'ann', claims })
  })

  test.each(['ES256', 'RS256', 'EdDSA'] as const)('signed by %s is accepted if the issuer also has other keys', async (alg) => {
    const issuer = startPlainIssuer()
    issuer.keys = [makeSigningKey(alg), makeSigningKey('RS256'), makeSigningKey('ES256')]
    const { verifier } = startVerifier(issuer)
    expect(outcomeOf(await verifier.verify(issuer.token()))).toBe('ann')
  })

  test('without a kid is accepted if its issuer has one key, and refused if its issuer has several', async () => {
    const issuer = startPlainIssuer()
    const one = startVerifier(issuer).verifier
    expect(outcomeOf(await one.verify(issuer.token({}, { kid: undefined })))).toBe('ann')
    issuer.keys = [makeSigningKey(), makeSigningKey()]
    const several = startVerifier(issuer).verifier
    expect(outcomeOf(await several.verify(issuer.token({}, { kid: undefined })))).toMatch(/which key of its issuer/)
  })

  test('that was verified is known without another verification until it ends', async () => {
    const issuer = startPlainIssuer()
    const { verifier } = startVerifier(issuer)
    // It has ended, and the tolerance ends in two or three seconds. A machine that is busy may need one for the first verification.
    const token = issuer.token({ exp: nowS() - 57 })
    const verified = await verifier.verify(token)
    expect(outcomeOf(verified)).toBe('ann')
    expect(verifier.known(token)).toBe(verified as never)
    while (verifier.known(token) !== null) await Bun.sleep(10)
    expect(outcomeOf(await verifier.verify(token))).toMatch(/^The token ended at/)
  })

  test('gives the same claims object to all requests that send it at the same time', async () => {
    const issuer = startPlainIssuer()
    const { verifier } = startVerifier(issuer)
    const token = issuer.token()
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => verifier.verify(token)))
    expect(new Set(verdicts).size).toBe(1)
  })

  test('is forgotten when 10,000 newer tokens are kept, and is then verified again', async () => {
    const issuer = startPlainIssuer()
    issuer.keys = [makeSigningKey('EdDSA')]
    const { verifier } = startVerifier(issuer)
    const tokens = Array.from({ length: 10_001 }, (_, index) => issuer.token({ sub: `person ${index}` }))
    for (const token of tokens) await verifier.verify(token)
    const [first = '', second = ''] = tokens
    expect([verifier.known(first), verifier.known(second)?.subject]).toEqual([null, 'person 1'])
    expect(outcomeOf(await verifier.verify(first))).toBe('person 0')
  })

  test('is forgotten when newer tokens need the space: all kept tokens together have up to 16 Mi characters', async () => {
    const issuer = startPlainIssuer()
    issuer.keys = [makeSigningKey('EdDSA')]
    const { verifier } = startVerifier(issuer)
    const note = 'x'.repeat(5_000)
    const tokens = Array.from({ length: 3_000 }, (_, index) => issuer.token({ sub: `person ${index}`, note }))
    for (const token of tokens) await verifier.verify(token)
    const kept = tokens.filter((token) => verifier.known(token) !== null)
    const length = kept.reduce((sum, token) => sum + token.length, 0)
    expect([length <= 2 ** 24, length > 2 ** 24 - TOKEN_LENGTH_MAX]).toEqual([true, true])
    expect(kept.at(-1)).toBe(tokens.at(-1) as string)
  })
})

describe('D98: the keys of the issuer', () => {
  test('are requested at most once for thousands of tokens with unknown keys, which are refused', async () => {
    const issuer = startPlainIssuer()
    const { verifier } = startVerifier(issuer)
    await verifier.verify(issuer.token())
    const forged = Array.from({ length: 3_000 }, (_, index) => issuer.token({}, { kid: `unknown ${index}` }))
    const first = await Promise.all(forged.slice(0, 1_500).map((token) => verifier.verify(token)))
    const rest: Verdict[] = []
    for (const token of forged.slice(1_500)) rest.push(await verifier.verify(token))
    const outcomes = new Set([...first, ...rest].map(outcomeOf))
    expect([...outcomes]).toEqual(['The token is signed by a key that its issuer does not publish (kid).'])
    expect([askedFor(issuer, '/keys'), issuer.requests.length]).toEqual([2, 4])
  })

  test('are read again immediately when a token has a new key; tokens that withdrawn keys have signed are then refused', async () => {
    const issuer = startPlainIssuer()
    const { verifier } = startVerifier(issuer)
    const old = issuer.token()
    expect(outcomeOf(await verifier.verify(old))).toBe('ann')
    issuer.rotateKeys()
    expect(outcomeOf(await verifier.verify(old))).toBe('ann')
    expect(outcomeOf(await verifier.verify(issuer.token({ sub: 'ben' })))).toBe('ben')
    expect(verifier.known(old)).toBeNull()
    expect(outcomeOf(await verifier.verify(old))).toMatch(/does not publish/)
  })

  /** A verifier that has asked for the key of a token in vain, and a token by a key that was published since. */
  const afterUnknown = async (askEveryMs: number) => {
    const issuer = startPlainIssuer()
    const { verifier } = startVerifier(issuer, askEveryMs)
    await verifier.verify(issuer.token())
    await verifier.verify(issuer.token({}, { kid: 'unknown' }))
    issuer.rotateKeys()
    return { issuer, verifier, token: issuer.token() }
  }

  test('are requested again for an unknown key once the minimum time between requests has passed', async () => {
    const { issuer, verifier, token } = await afterUnknown(100)
    while (outcomeOf(await verifier.verify(token)) !== 'ann') await Bun.sleep(5)
    expect(askedFor(issuer, '/keys')).toBe(3)
  })

  test('are not requested again within the minimum time between requests, however often tokens with an unknown key come', async () => {
    const { issuer, verifier, token } = await afterUnknown(3_600_000)
    for (let times = 0; times < 20; times++) expect(outcomeOf(await verifier.verify(token))).toMatch(/does not publish/)
    expect(askedFor(issuer, '/keys')).toBe(2)
  })

  test('stay while the issuer is away: tokens of known keys are accepted, and a token of an unknown key is undecided', async () => {
    const issuer = startPlainIssuer()
    const { verifier, outages } = startVerifier(issuer)
    await verifier.verify(issuer.token())
    const withdrawn = issuer.keys[0] as SigningKey
    await issuer.stop()
    issuer.rotateKeys()
    expect(outcomeOf(await verifier.verify(issuer.token()))).toMatch(/^undecided: The token cannot be checked at the moment/)
    expect(outcomeOf(await verifier.verify(issuer.token({ sub: 'ben' }, {}, withdrawn)))).toBe('ben')
    expect(outages).toEqual([expect.stringContaining('cannot be read')])
  })

  test('that could not be read at the start are read once the issuer answers; until then all tokens are undecided', async () => {
    const issuer = startPlainIssuer()
    await issuer.stop()
    const { verifier, outages } = startVerifier(issuer, 100)
    const token = issuer.token()
    expect(outcomeOf(await verifier.verify(token))).toMatch(/^undecided: /)
    issuer.listen()
    while (outcomeOf(await verifier.verify(token)) !== 'ann') await Bun.sleep(5)
    expect(outages).toEqual([expect.stringContaining('cannot be read'), null])
  })

  test.each([[[null]], [['text']], [[[]]]])(
    'stay while the issuer publishes %j instead, however often they are requested',
    async (keys) => {
      const issuer = startPlainIssuer()
      const { verifier, outages } = startVerifier(issuer, 20)
      const token = issuer.token()
      expect(outcomeOf(await verifier.verify(token))).toBe('ann')
      issuer.onKeys = () => Response.json({ keys })
      const before = askedFor(issuer, '/keys')
      const unknown = issuer.token({}, {}, makeSigningKey())
      while (askedFor(issuer, '/keys') < before + 4) {
        expect(outcomeOf(await verifier.verify(unknown))).toMatch(/^undecided: |does not publish/)
        await Bun.sleep(10)
      }
      expect(outcomeOf(await verifier.verify(unknown))).toMatch(/^undecided: /)
      expect(outcomeOf(await verifier.verify(token))).toBe('ann')
      // One outage, which is not over.
      expect(outages).toEqual([expect.stringContaining('malformed')])
      issuer.onKeys = null
      issuer.rotateKeys()
      const renewed = issuer.token({ sub: 'ben' })
      while (outcomeOf(await verifier.verify(renewed)) !== 'ben') await Bun.sleep(5)
      expect(outages).toEqual([expect.any(String), null])
    },
  )

  test('that cannot be read are requested at most twice in a short time, however many tokens come', async () => {
    const issuer = startPlainIssuer()
    issuer.onDiscovery = () => new Response('no', { status: 500 })
    const { verifier } = startVerifier(issuer)
    const tokens = Array.from({ length: 500 }, (_, index) => issuer.token({ sub: `person ${index}` }))
    for (const token of tokens) await verifier.verify(token)
    // One request at the start, and one for the tokens.
    expect(issuer.requests.length).toBeLessThanOrEqual(2)
  })
})

describe('D107: the addresses of an issuer for sign-in', () => {
  /** Makes the verifier read the issuer again: a token has a key that it does not know. */
  const readAgain = (verifier: TokenVerifier, issuer: PlainIssuer) => {
    issuer.keys = [...issuer.keys, makeSigningKey()]
    return verifier.verify(issuer.token({}, {}, issuer.keys.at(-1)))
  }

  test('are read again together with its keys, and stay while it is away; a fault in them is reported once', async () => {
    const issuer = startPlainIssuer()
    const good = issuer.document
    const bad = { token_endpoint: 'javascript:1' }
    issuer.document = bad
    const { verifier, faults } = startVerifier(issuer, 0)
    expect(await verifier.signInEndpoints()).toBeNull()
    await readAgain(verifier, issuer)
    expect(faults).toEqual([expect.stringMatching(/^its token_endpoint must be/)])
    issuer.document = good
    expect(await verifier.signInEndpoints()).toMatchObject({ token: `${issuer.url}/token` })
    issuer.document = { token_endpoint: 'https://other.example/token' }
    await readAgain(verifier, issuer)
    expect(await verifier.signInEndpoints()).toMatchObject({ token: 'https://other.example/token' })
    await issuer.stop()
    await readAgain(verifier, issuer)
    expect(await verifier.signInEndpoints()).toMatchObject({ token: 'https://other.example/token' })
    issuer.listen()
    issuer.document = bad
    await readAgain(verifier, issuer)
    expect(await verifier.signInEndpoints()).toBeNull()
    expect(faults).toEqual([expect.any(String), null, expect.any(String)])
  })

  test('are null if the issuer does not answer within the time that a page may wait', async () => {
    const issuer = startPlainIssuer()
    const silence = Promise.withResolvers<Response>()
    issuer.onDiscovery = () => silence.promise
    const { verifier } = startVerifier(issuer)
    expect(await verifier.signInEndpoints()).toBeNull()
    silence.resolve(new Response(null, { status: 500 }))
  })
})
