// OpenID Connect issuers for tests: the library oidc-provider in a process of its own, whose tokens are those of a real sign-in.
// `useIssuer` starts one for a test file or a `describe`, `startIssuer` for one test. A provider that misbehaves is in
// `plainIssuer.ts`.
import { afterAll, beforeAll, onTestFinished } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { run } from './process.ts'
import { ROLES_PATH } from './rolesFile.ts'

/** Value of OIDC_AUDIENCE for tokens of `tokenFor`, unless `audience` says otherwise. */
export const AUDIENCE = 'https://roster.example'
/** The one client of the provider: public, with PKCE. */
export const CLIENT_ID = 'roster-page'
const REDIRECT_URI = 'http://127.0.0.1/signed-in'

/** Claims of an access token, besides those of the protocol such as `iss`. */
export interface PersonClaims {
  /** Id of the person who signs in; default: `email`. */
  readonly sub?: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly [claim: string]: unknown
}

interface TokenOptions {
  /** Value of `aud`, an absolute URI. */
  readonly audience?: string
  readonly expiresInS?: number
  /** True if the person gets a refresh token at sign-in, which can be used once; default: false. */
  readonly hasRefreshTokens?: boolean
}

export interface IssuerOptions {
  /** Port of the provider; default: any free port. */
  readonly port?: number
  /** Algorithm of the tokens; default: RS256. */
  readonly algorithm?: 'RS256' | 'PS256' | 'ES256' | 'EdDSA'
  /** Addresses to which the provider may send a page back: HTTP on loopback, on any port. */
  readonly redirectUris?: readonly string[]
}

interface Tokens {
  readonly accessToken: string
  readonly idToken: string
}

export interface Issuer {
  /** Value of OIDC_ISSUER. */
  readonly url: string
  /** Settings of a server that trusts this issuer. */
  readonly settings: { readonly OIDC_ISSUER: string; readonly OIDC_AUDIENCE: string; readonly ROLES_FILE: string }
  /** Signs a person in with an authorization code and PKCE; returns the access token, a JWT with these claims. */
  tokenFor(claims: PersonClaims, options?: TokenOptions): Promise<string>
  /** As `tokenFor`, and returns the ID token, too. */
  signIn(claims: PersonClaims, options?: TokenOptions): Promise<Tokens>
  /** Adds a person for sign-ins by a browser: `login_hint=<sub>` or the form then signs this person in. Returns the `sub`. */
  addPerson(claims: PersonClaims, options?: TokenOptions): Promise<string>
  /** Replaces the key by a new one. */
  rotateKeys(): Promise<void>
  /** Stops the process of the provider, or lets it continue. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends the process, and waits until it has ended. */
  stop(): Promise<void>
}

/** Starts a provider, which the caller stops. */
async function openIssuer({ port = 0, algorithm = 'RS256', redirectUris = [] }: IssuerOptions = {}): Promise<Issuer> {
  const ISSUER = JSON.stringify({
    port,
    algorithm,
    clientId: CLIENT_ID,
    redirectUris: [REDIRECT_URI, ...redirectUris],
    audience: AUDIENCE,
  })
  const program = run([process.execPath, '--no-env-file', 'test/support/issuer/provider.mjs'], { ISSUER, NODE_ENV: 'test' })
  const [, url = ''] = await program.waitFor(/listens on (\S+)/)

  const addPerson = async ({ sub, ...claims }: PersonClaims, options: TokenOptions = {}): Promise<string> => {
    const subject = sub ?? String(claims.email)
    const { expiresInS, hasRefreshTokens } = options
    await post(`${url}/tests/people`, JSON.stringify({ subject, claims, expiresInS, hasRefreshTokens }))
    return subject
  }
  const signIn = async (claims: PersonClaims, options: TokenOptions = {}): Promise<Tokens> => {
    const subject = await addPerson(claims, options)
    return await grantedTokens(url, subject, options.audience ?? AUDIENCE)
  }
  return {
    url,
    settings: { OIDC_ISSUER: url, OIDC_AUDIENCE: AUDIENCE, ROLES_FILE: ROLES_PATH },
    addPerson,
    signIn,
    tokenFor: async (claims, options) => (await signIn(claims, options)).accessToken,
    rotateKeys: async () => {
      await post(`${url}/tests/rotation`, '')
    },
    signal: (signal) => program.kill(signal),
    stop: async () => {
      program.kill('SIGCONT')
      await program.stop()
    },
  }
}

/** Starts a provider for all tests of a file or a `describe`. */
export function useIssuer(options: IssuerOptions = {}): Issuer {
  const issuer = {} as Issuer
  beforeAll(async () => {
    Object.assign(issuer, await openIssuer(options))
  })
  afterAll(() => issuer.stop?.())
  return issuer
}

/** Starts a provider for the test that calls it. */
export async function startIssuer(options: IssuerOptions = {}): Promise<Issuer> {
  const issuer = await openIssuer(options)
  onTestFinished(() => issuer.stop())
  return issuer
}

/** Follows the redirects of a sign-in as a browser does, and exchanges its code for tokens. */
async function grantedTokens(url: string, subject: string, audience: string): Promise<Tokens> {
  const verifier = randomBytes(32).toString('base64url')
  const asked = new URLSearchParams({
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: REDIRECT_URI,
    scope: 'openid',
    resource: audience,
    login_hint: subject,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const code = await followToCode(`${url}/auth?${asked}`)
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: CLIENT_ID,
    redirect_uri: REDIRECT_URI,
    resource: audience,
    code,
    code_verifier: verifier,
  })
  const granted = JSON.parse(await post(`${url}/token`, body))
  return { accessToken: granted.access_token, idToken: granted.id_token }
}

async function followToCode(start: string): Promise<string> {
  const cookies = new Map<string, string>()
  for (let address = start; ; ) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, { redirect: 'manual', headers: { cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`the sign-in stops at ${address}: ${response.status} ${await response.text()}`)
    address = new URL(location, address).href
    if (!address.startsWith(REDIRECT_URI)) continue
    const code = new URL(address).searchParams.get('code')
    if (code === null) throw new Error(`the sign-in has no code: ${address}`)
    return code
  }
}

async function post(url: string, body: string | URLSearchParams): Promise<string> {
  const response = await fetch(url, { method: 'POST', body })
  const text = await response.text()
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${text}`)
  return text
}
