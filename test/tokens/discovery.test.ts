import { describe, expect, test } from 'bun:test'
import { IssuerError, readPublished } from '../../src/tokens/discovery.ts'
import { makeSigningKey, type PlainIssuer, publicJwkOf, startPlainIssuer } from '../support/plainIssuer.ts'

const MIB = 2 ** 20

async function faultOf(issuer: PlainIssuer, url = issuer.url): Promise<string> {
  const error = await readPublished(url).then(
    () => new Error('it was read'),
    (thrown) => thrown,
  )
  expect(error).toBeInstanceOf(IssuerError)
  return error.message
}

/** A body of 10 MiB that notes how much of it was taken. */
function largeBody() {
  const taken = { bytes: 0 }
  const body = new ReadableStream({
    async pull(controller) {
      // A pause, so that bytes that are read ahead do not count.
      await Bun.sleep(1)
      if (taken.bytes >= 10 * MIB) return controller.close()
      taken.bytes += 65_536
      controller.enqueue(new Uint8Array(65_536).fill(32))
    },
  })
  return { taken, body }
}

const json = (value: unknown) => () => Response.json(value)

describe('D98: an issuer', () => {
  test.each(['', '/realms/acme', '/'])(
    'whose address ends in "%s" is read, with its keys, and without its algorithms that use no public key',
    async (path) => {
      const issuer = startPlainIssuer(path.replace(/\/$/, ''))
      issuer.document = { issuer: `${issuer.url}${path === '/' ? '/' : ''}` }
      const { keys, algorithms } = await readPublished(issuer.document.issuer as string)
      expect(keys.keys.map(({ kid }) => kid)).toEqual(issuer.keys.map(({ kid }) => kid))
      expect(algorithms).toEqual(['ES256', 'RS256', 'EdDSA'])
    },
  )

  test.each([
    ['has another name', { issuer: 'https://evil.example' }, /names itself "https:\/\/evil.example"/],
    ['has no name', { issuer: undefined }, /names itself nothing/],
    ['has a name without its slash', { issuer: 'http://127.0.0.1/' }, /must be the same text/],
    ['has no keys', { jwks_uri: undefined }, /jwks_uri must be an https address/],
    ['has keys that come in clear text from another machine', { jwks_uri: 'http://evil.example/keys' }, /must be an https/],
    ['has keys in a file', { jwks_uri: 'file:///etc/passwd' }, /must be an https/],
    ['signs only by HMAC', { id_token_signing_alg_values_supported: ['HS256', 'none'] }, /no algorithm with public keys/],
    ['has algorithms that are no list', { id_token_signing_alg_values_supported: 'RS256' }, /no algorithm with public keys/],
  ])('that %s is refused', async (_, document, message) => {
    const issuer = startPlainIssuer()
    issuer.document = document
    expect(await faultOf(issuer)).toMatch(message)
  })

  test('that names no algorithms is read with RS256, which every issuer must support', async () => {
    const issuer = startPlainIssuer()
    issuer.document = { id_token_signing_alg_values_supported: undefined }
    expect((await readPublished(issuer.url)).algorithms).toEqual(['RS256'])
  })

  test.each([
    ['an empty list', json({ keys: [] }), /publishes no keys/],
    ['no list', json({ keys: 'all' }), /publishes no keys/],
    ['a list', json([]), /no JSON object/],
    ['null', json(null), /no JSON object/],
    ['garbage', () => new Response(Buffer.from([0xff, 0xfe, 0x7b])), /cannot be read/],
    ['HTML', () => new Response('<h1>Sign in</h1>'), /cannot be read/],
    ['more keys than any issuer has', json({ keys: Array(101).fill(publicJwkOf(makeSigningKey())) }), /more than 100 keys/],
    ['status 500', () => new Response('{"keys":[]}', { status: 500 }), /the status is 500/],
    ['status 204', () => new Response(null, { status: 204 }), /the status is 204/],
  ])('that answers %s in place of its keys is refused', async (_, answer, message) => {
    const issuer = startPlainIssuer()
    issuer.onKeys = answer
    expect(await faultOf(issuer)).toMatch(message)
  })

  test.each(['onDiscovery', 'onKeys'] as const)(
    'that redirects is refused, and the redirect is not followed: %s',
    async (place) => {
      const [issuer, other] = [startPlainIssuer(), startPlainIssuer()]
      for (const status of [301, 302, 307, 308]) {
        issuer[place] = () => new Response(null, { status, headers: { Location: `${other.url}/keys` } })
        expect(await faultOf(issuer)).toMatch(`the status is ${status}`)
      }
      expect(other.requests).toEqual([])
    },
  )

  test.each([
    ['announces the length', { 'content-length': String(10 * MIB) }],
    ['does not announce the length', {}],
  ])('that sends 10 MiB and %s is refused, and not read to the end', async (_, headers) => {
    const issuer = startPlainIssuer()
    const { taken, body } = largeBody()
    issuer.onKeys = () => new Response(body, { headers: headers as Record<string, string> })
    expect(await faultOf(issuer)).toMatch(/more than 512 KiB/)
    expect(taken.bytes).toBeLessThan(5 * MIB)
  })

  test('that sends 10 MiB, compressed by gzip, is refused', async () => {
    const issuer = startPlainIssuer()
    const body = Bun.gzipSync(Buffer.alloc(10 * MIB, 32))
    issuer.onKeys = () => new Response(body, { headers: { 'content-encoding': 'gzip' } })
    expect(await faultOf(issuer)).toMatch(/cannot be read/)
  })

  test.each([
    ['hangs', () => new Promise<Response>(() => undefined)],
    [
      'begins to answer and then hangs',
      () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{"keys":')) })),
    ],
  ])('that %s is a fault after the deadline', async (_, answer) => {
    const issuer = startPlainIssuer()
    for (const place of ['onKeys', 'onDiscovery'] as const) {
      issuer[place] = answer
      await expect(readPublished(issuer.url, 200)).rejects.toThrow(/cannot be read: no whole answer in time/)
    }
  })

  test('that cannot be reached is a fault that names the requested address', async () => {
    const issuer = startPlainIssuer()
    await issuer.stop()
    expect(await faultOf(issuer)).toMatch(`${issuer.url}/.well-known/openid-configuration cannot be read: `)
  })
})

describe('D107: the addresses of an issuer for sign-in', () => {
  const endpointsOf = async (document: Record<string, unknown>) => {
    const issuer = startPlainIssuer()
    issuer.document = { ...document }
    const { endpoints, keys } = await readPublished(issuer.url)
    expect(keys.keys).toHaveLength(1)
    return typeof endpoints === 'string' ? endpoints.replaceAll(issuer.url, '<issuer>') : endpoints
  }

  test('are those of its document, which may be of another host', async () => {
    const document = { authorization_endpoint: 'https://a.example/x?p=policy', end_session_endpoint: 'https://[::1]:8443/end' }
    expect(await endpointsOf({ ...document, authorization_response_iss_parameter_supported: true })).toMatchObject({
      authorization: 'https://a.example/x?p=policy',
      endSession: 'https://[::1]:8443/end',
      namesItself: true,
      algorithms: ['ES256', 'RS256', 'EdDSA'],
    })
  })

  test.each([
    [undefined, 'nothing'],
    [null, 'null'],
    ['', '""'],
    ['/token', '"/token"'],
    ['http://token.example/', '"http://token.example/"'],
    ['javascript:alert(1)', '"javascript:alert(1)"'],
    ['data:text/html,x', '"data:text/html,x"'],
    ['https://a,b.example/', '"https://a,b.example/"'],
    ['https://a;b.example/', '"https://a;b.example/"'],
    ["https://'none'/", `"https://'none'/"`],
    ['https://*/', '"https://*/"'],
    ['https://user@token.example/', '"https://user@token.example/"'],
    ['https://token.example/#', '"https://token.example/#"'],
    ['https://token.example/#x', '"https://token.example/#x"'],
    [['https://token.example/'], '["https://token.example/"]'],
  ])('are refused if the token endpoint is %p, although the keys are read', async (address, shown) => {
    const endpoints = await endpointsOf({ token_endpoint: address })
    expect(endpoints).toBe(`its token_endpoint must be an https address that a page can open, and is ${shown}`)
  })
})
