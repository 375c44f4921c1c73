// An issuer in the test's own process, which signs any token, counts its requests, and misbehaves as a test wants.
import { onTestFinished } from 'bun:test'
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { AUDIENCE } from './issuer.ts'
import { ROLES_PATH } from './rolesFile.ts'

/** A private key, and the names under which its public half is published. */
export interface SigningKey {
  readonly kid: string
  readonly alg: 'ES256' | 'RS256' | 'EdDSA'
  readonly privateKey: KeyObject
}

type Claims = Readonly<Record<string, unknown>>
type Answer = (request: Request) => Response | Promise<Response>

const DISCOVERY = '/.well-known/openid-configuration'
const JWKS = '/keys'

export class PlainIssuer {
  /** Paths of the requests so far. */
  readonly requests: string[] = []
  /** Keys that are published now. The first one signs. */
  keys: SigningKey[] = [makeSigningKey()]
  /** Members that replace those of the valid discovery document. */
  document: Claims = {}
  /** Answers that replace the discovery document, and the keys. */
  onDiscovery: Answer | null = null
  onKeys: Answer | null = null
  /** Answers at all other paths; default: 404. */
  onOther: Answer | null = null
  private server: ReturnType<typeof Bun.serve> | null = null
  private port = 0

  /** `path`: path of the issuer's URL after the port, such as `/realms/acme`. */
  constructor(private readonly path = '') {
    this.listen()
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}${this.path}`
  }

  /** Settings of a server that trusts this issuer. */
  get settings() {
    return { OIDC_ISSUER: this.url, OIDC_AUDIENCE: AUDIENCE, ROLES_FILE: ROLES_PATH }
  }

  /**
   * Returns a token for the audience of the tests, valid for an hour and signed by the first key, unless arguments say otherwise.
   */
  token(claims: Claims = {}, header: Claims = {}, key: SigningKey = this.keys[0] as SigningKey): string {
    const { kid, alg } = key
    return signToken({ alg, kid, typ: 'at+jwt', ...header }, this.claimsOf(claims), key.privateKey)
  }

  /** Returns the claims of a valid token of `ann`. `claims` replaces some of them; undefined leaves a claim out. */
  claimsOf(claims: Claims = {}): Claims {
    const nowS = Math.floor(Date.now() / 1_000)
    return { iss: this.url, aud: AUDIENCE, sub: 'ann', iat: nowS, exp: nowS + 3_600, ...claims }
  }

  /** Replaces all keys by a new key. */
  rotateKeys(): void {
    this.keys = [makeSigningKey()]
  }

  /** Listens again after `stop`, on the same port. */
  listen(): void {
    this.server = Bun.serve({ hostname: '127.0.0.1', port: this.port, idleTimeout: 0, fetch: (request) => this.answer(request) })
    this.port = this.server.port as number
  }

  /** Refuses connections from now on. */
  async stop(): Promise<void> {
    await this.server?.stop(true)
  }

  private answer(request: Request): Response | Promise<Response> {
    const path = new URL(request.url).pathname.slice(this.path.length)
    this.requests.push(path)
    if (path === DISCOVERY) return this.onDiscovery?.(request) ?? Response.json({ ...this.goodDocument(), ...this.document })
    if (path === JWKS) return this.onKeys?.(request) ?? Response.json({ keys: this.keys.map(publicJwkOf) })
    return this.onOther?.(request) ?? new Response(null, { status: 404 })
  }

  private goodDocument() {
    return {
      issuer: this.url,
      jwks_uri: this.url + JWKS,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      id_token_signing_alg_values_supported: ['ES256', 'RS256', 'EdDSA', 'HS256', 'none'],
    }
  }
}

/** Starts an issuer for the test that calls it. */
export function startPlainIssuer(path = ''): PlainIssuer {
  const issuer = new PlainIssuer(path)
  onTestFinished(() => issuer.stop())
  return issuer
}

export function makeSigningKey(alg: SigningKey['alg'] = 'ES256', kid: string = randomUUID()): SigningKey {
  return { kid, alg, privateKey: privateKeyFor(alg) }
}

function privateKeyFor(alg: SigningKey['alg']): KeyObject {
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519').privateKey
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
}

export function publicJwkOf({ kid, alg, privateKey }: SigningKey) {
  return { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid, alg, use: 'sig' }
}

/** Signs a token with any header and claims: by the private key, or by HMAC with a text as the secret. */
export function signToken(header: Claims, claims: Claims, key: KeyObject | string): string {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${signatureOf(signed, key).toString('base64url')}`
}

function signatureOf(signed: string, key: KeyObject | string): Buffer {
  if (typeof key === 'string') return createHmac('sha256', key).update(signed).digest()
  const data = Buffer.from(signed)
  if (key.asymmetricKeyType === 'ed25519') return sign(null, data, key)
  return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
}

function encode(part: Claims): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
