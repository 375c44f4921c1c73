// Sign-in with the issuer: authorization code with PKCE, renewal by refresh tokens, sign-out. OpenID Connect Core 1.0, RFC 7636
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  getValidatedIdTokenClaims,
  type IDToken,
  JWT_TIMESTAMP_CHECK,
  None,
  processAuthorizationCodeResponse,
  processRefreshTokenResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import { ISSUER_NAME, ROOT, SIGN_IN } from './server.ts'
import { endSignIn, forgetEverything, keepPerson, type Person, type Session, sessionStore, signedIn } from './session.ts'
import { forgetText, keepText, readText } from './storage.ts'
import { Store } from './store.ts'

const PENDING = 'roster.signIn'
const SIGNED_OUT = 'roster.signedOut'
/** Address to which the issuer sends people back. The operator has registered it at the issuer. */
const REDIRECT = `${ROOT}explore`
/** Maximum time of a request to the issuer. */
const REQUEST_MS_MAX = 10_000
/** Time after which an issuer that did not answer is asked again. */
export const RETRY_MS = 5_000
/**
 * Time before the end of a token at which it is renewed. A token with a short life is renewed when a quarter of its life is left.
 */
const RENEW_MS_MAX = 60_000
/**
 * Maximum time that the first request waits for `claimRenewal`. A reloaded page gets its claim back sooner; a duplicated tab gets
 * none.
 */
const CLAIM_MS_MAX = 1_000
/** Longest delay that a browser's timer accepts. */
const TIMER_MS_MAX = 2 ** 31 - 1
const SHOWN_LENGTH_MAX = 200
/** End of a message about a sign-in that failed. */
const TELL = '– Sign in again. If it goes on, tell whoever runs this server.'

/**
 * A sign-in that has begun: the values that the issuer's answer must match, and the part of the address after `#` to return to.
 */
interface Pending {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly hash: string
}

/**
 * State of a sign-in. `leaving`: the browser is about to open the issuer. `returning`: the page exchanges the issuer's code for
 * tokens. Empty: neither.
 */
export const signInStore = new Store<'' | 'leaving' | 'returning'>('')

/** Sends the reader to the issuer. `asOther`: the issuer asks her to sign in, even if she is signed in there already. */
export async function startSignIn(asOther = false): Promise<void> {
  // The server did not know the issuer's addresses when it made this page; a new page may have them.
  if (!SIGN_IN?.endpoints) return location.reload()
  if (crypto.subtle === undefined) return refuse('To sign in, open this page by https: browsers refuse it otherwise.')
  const state = generateRandomState()
  const nonce = generateRandomNonce()
  const verifier = generateRandomCodeVerifier()
  const pending: Pending = { state, nonce, verifier, hash: location.hash }
  if (!keepText('sessionStorage', PENDING, JSON.stringify(pending)))
    return refuse('Your browser keeps nothing for this page, which signing in needs. Allow cookies and site data for it.')
  signInStore.set('leaving')
  const address = new URL(SIGN_IN.endpoints.authorization)
  const parameters = {
    response_type: 'code',
    client_id: SIGN_IN.clientId,
    redirect_uri: REDIRECT,
    scope: SIGN_IN.scope,
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...ofResource(),
    ...(asOther || readText('sessionStorage', SIGNED_OUT) !== null ? { prompt: 'login' } : {}),
  }
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  location.assign(address)
}

/**
 * Removes the issuer's answer from the address and from the tab's history at once, and restores the address from before the
 * sign-in. An answer that belongs to no sign-in of this tab signs nobody in, because anybody can write a link with a code.
 */
export function takeAnswerFromAddress(): void {
  const parameters = new URLSearchParams(location.search)
  if (!parameters.has('code') && !parameters.has('error')) return
  const pending = readPending()
  const isOwn = pending !== null && parameters.get('state') === pending.state
  history.replaceState(null, '', location.pathname + (isOwn ? pending.hash : location.hash))
  if (isOwn) {
    // Each `state` is used for one answer only.
    forgetText('sessionStorage', PENDING)
    finishSignIn(parameters, pending)
  } else if (sessionStore.value.session === null)
    refuse('This answer belongs to no sign-in of this tab, or was used already. Sign in again.')
}

function readPending(): Pending | null {
  try {
    return JSON.parse(readText('sessionStorage', PENDING) ?? 'null')
  } catch {
    return null
  }
}

async function finishSignIn(parameters: URLSearchParams, { state, nonce, verifier }: Pending): Promise<void> {
  signInStore.set('returning')
  try {
    const checked = validateAuthResponse(authorizationServer(), client(), parameters, state)
    const response = await authorizationCodeGrantRequest(
      authorizationServer(),
      client(),
      None(),
      checked,
      REDIRECT,
      verifier,
      options(),
    )
    const tokens = await processAuthorizationCodeResponse(authorizationServer(), client(), response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    forgetText('sessionStorage', SIGNED_OUT)
    keepPerson(personOf(tokens, null))
    claimRenewal()
  } catch (error) {
    refuse(reasonOf(error))
  } finally {
    signInStore.set('')
  }
}

/** Shows why nobody was signed in. The tab keeps the session that it has. */
function refuse(refusal: string): void {
  signInStore.set('')
  sessionStore.set({ ...sessionStore.value, refusal })
}

function authorizationServer() {
  const { issuer, endpoints } = SIGN_IN as NonNullable<typeof SIGN_IN>
  return {
    issuer,
    token_endpoint: endpoints?.token ?? '',
    authorization_response_iss_parameter_supported: endpoints?.namesItself ?? false,
    id_token_signing_alg_values_supported: [...(endpoints?.algorithms ?? [])],
  }
}

const client = () => ({ client_id: (SIGN_IN as NonNullable<typeof SIGN_IN>).clientId })

const options = () => ({
  additionalParameters: { client_id: client().client_id, ...ofResource() },
  signal: AbortSignal.timeout(REQUEST_MS_MAX),
  // The server gives the page an `http:` address only if the issuer runs on the same machine.
  [allowInsecureRequests]: true,
})

/** Returns the parameter that names the API for which a token is issued; none if the server names no API. RFC 8707 */
const ofResource = () => (SIGN_IN?.resource ? { resource: SIGN_IN.resource } : {})

/**
 * Returns the person whom an answer of the token endpoint describes. `before`: the person as she was before a renewal; null after
 * a sign-in.
 */
function personOf(tokens: TokenEndpointResponse, before: Person | null): Person {
  const { issuer, clientId, sends } = SIGN_IN as NonNullable<typeof SIGN_IN>
  const claims = getValidatedIdTokenClaims(tokens)
  const idToken = tokens.id_token ?? before?.idToken ?? ''
  const lifeS = sends === 'id' ? claims && claims.exp - claims.iat : tokens.expires_in
  const endsMs = lifeS === undefined ? null : Date.now() + lifeS * 1_000
  return {
    issuer,
    clientId,
    signInId: before?.signInId ?? crypto.randomUUID(),
    subject: claims?.sub ?? before?.subject ?? '',
    label: before?.label ?? labelOf(claims),
    token: sends === 'id' ? idToken : tokens.access_token,
    idToken,
    refreshToken: tokens.refresh_token ?? before?.refreshToken ?? null,
    endsMs,
    renewMs: endsMs === null ? null : endsMs - Math.min(RENEW_MS_MAX, (endsMs - Date.now()) / 4),
    isAccepted: before?.isAccepted ?? false,
  }
}

function labelOf(claims: IDToken | undefined): string {
  const names = [claims?.name, claims?.email, claims?.preferred_username, claims?.sub]
  return shorten(names.find((name) => typeof name === 'string' && name !== '') as string | undefined)
}

const shorten = (text: string | undefined) => (text ?? '').slice(0, SHOWN_LENGTH_MAX)

function reasonOf(error: unknown): string {
  if (error instanceof AuthorizationResponseError) {
    const { error: code, error_description: description } = error
    return code === 'access_denied'
      ? `Nobody was signed in: ${ISSUER_NAME} refused it, or you turned back. ${shorten(description)}`.trim()
      : `${ISSUER_NAME} signs nobody in here: ${shorten(description ?? code)} ${TELL}`
  }
  if (error instanceof ResponseBodyError)
    return `${ISSUER_NAME} refused this sign-in: ${shorten(error.error_description ?? error.error)} ${TELL}`
  if (isAway(error))
    return `${ISSUER_NAME} does not answer this page ${TELL} The issuer may have to allow ${location.origin} (CORS).`
  if ((error as { code?: unknown }).code === JWT_TIMESTAMP_CHECK)
    return `The clocks of this computer and of ${ISSUER_NAME} differ too much: set this one right, and sign in again.`
  return `The answer of ${ISSUER_NAME} does not fit this sign-in: ${shorten((error as Error).message)} ${TELL}`
}

/** True if the issuer could not be reached or could not answer at the moment, so that another attempt may succeed. */
function isAway(error: unknown): boolean {
  if (error instanceof ResponseBodyError) return error.status >= 500 || error.status === 429
  const { name, cause } = error as Error
  if (cause instanceof Response) return cause.status >= 500 || cause.status === 429
  // A TypeError of the library has a `code`. A TypeError of the browser's `fetch` has none.
  return name === 'TimeoutError' || (error instanceof TypeError && !('code' in error))
}

/** Result of a renewal. `refused`: the person has to sign in again. `away`: the issuer does not answer. */
type Renewal = 'renewed' | 'refused' | 'away'

let renewal: Promise<Renewal> | null = null
/** `signInId` of the sign-in whose token this tab may renew; empty if there is none. */
let claimed = ''
/** Resolves when it is known whether this tab may renew its token, or after `CLAIM_MS_MAX`. */
let claiming: Promise<unknown> = Promise.resolve()
/** True if the issuer did not answer the last renewal. */
let isLost = false
let timer = 0

/**
 * Claims the right to renew this tab's sign-in. A duplicated tab has the same refresh token as its original; to use the token
 * would end the sign-in of the original. So the duplicate gets the claim only when the original is closed.
 */
export function claimRenewal(): void {
  const { signInId } = signedIn() ?? {}
  if (signInId === undefined || signInId === claimed) return
  const known = Promise.withResolvers<void>()
  const claim = () => {
    claimed = signInId
    known.resolve()
    watchEnd()
    // A promise that never resolves holds the lock until the page is left.
    return new Promise<never>(() => undefined)
  }
  setTimeout(known.resolve, CLAIM_MS_MAX)
  claiming = known.promise
  navigator.locks.request(`roster.renewal ${signInId}`, claim).catch(() => undefined)
}

/** Returns the refresh token that this tab may use; null if there is none. */
function usableRefreshToken(): string | null {
  const person = signedIn()
  return person !== null && person.signInId === claimed ? person.refreshToken : null
}

/** Renews the token. Calls at the same time share one request, because a refresh token may be valid for only one use. */
function renew(): Promise<Renewal> {
  renewal ??= renewOnce().finally(() => {
    renewal = null
    watchEnd()
  })
  return renewal
}

async function renewOnce(): Promise<Renewal> {
  const before = signedIn()
  const refreshToken = usableRefreshToken()
  if (before === null || refreshToken === null || !SIGN_IN?.endpoints) return 'refused'
  try {
    const response = await refreshTokenGrantRequest(authorizationServer(), client(), None(), refreshToken, options())
    const tokens = await processRefreshTokenResponse(authorizationServer(), client(), response)
    const next = personOf(tokens, before)
    // The new tokens are dropped if the person has signed out meanwhile, or if their subject differs: it must stay the same.
    // OpenID Connect Core 1.0, 12.2
    if (signedIn()?.refreshToken !== refreshToken || next.subject !== before.subject) return 'refused'
    // An issuer may renew only the access token. If the page sends the ID token, it would then send the old ID token again.
    if (next.token === before.token) return 'refused'
    isLost = false
    keepPerson(next)
    return 'renewed'
  } catch (error) {
    isLost = isAway(error)
    return isLost ? 'away' : 'refused'
  }
}

/**
 * Sets a timer that renews the token before its end. A hidden tab has no timer: its renewals would keep the person signed in
 * although she does not use the page, against the issuer's time limits.
 */
export function watchEnd(): void {
  clearTimeout(timer)
  const { renewMs = null } = signedIn() ?? {}
  if (renewMs === null || usableRefreshToken() === null || document.hidden) return
  const waitMs = Math.max(isLost ? RETRY_MS : 0, renewMs - Date.now())
  timer = setTimeout(renewInTime, Math.min(waitMs, TIMER_MS_MAX))
}

async function renewInTime(): Promise<void> {
  if (isDue()) await renewedSession()
  else watchEnd()
}

/** Renews the token, and returns the session. `ended`: the sign-in has ended. `away`: the issuer does not answer. */
async function renewedSession(): Promise<Session | 'ended' | 'away'> {
  const outcome = await renew()
  if (outcome === 'away') return 'away'
  if (outcome === 'refused' && signedIn() !== null) endSignIn()
  return currentSession()
}

function currentSession(): Session | 'ended' {
  const { session, isEnded } = sessionStore.value
  return session === null || isEnded ? 'ended' : session
}

/** True if there is a refresh token, and it is time to use it. */
function isDue(): boolean {
  const { renewMs = null } = signedIn() ?? {}
  return usableRefreshToken() !== null && renewMs !== null && renewMs <= Date.now()
}

const isOver = () => (signedIn()?.endsMs ?? Number.POSITIVE_INFINITY) <= Date.now()

/** Returns the session for a request. Waits for a renewal only if the token has ended. */
export async function sessionForRequest(): Promise<Session | 'ended' | 'away'> {
  await claiming
  // Without a refresh token, the server decides when the token has ended, because this machine's clock may be wrong.
  if (!isDue()) return currentSession()
  if (isOver()) return renewedSession()
  if (!isLost) renewInTime()
  return currentSession()
}

/** Returns the session for a second attempt, after the server has refused the token of the session `refused`. */
export async function sessionAfterRefusal(refused: Session): Promise<Session | 'ended' | 'away'> {
  const session = currentSession()
  if (session === 'ended' || session.authorization !== refused.authorization) return session
  return usableRefreshToken() === null ? 'ended' : renewedSession()
}

/** Forgets everything, and signs the person out at the issuer. */
export function signOut(): void {
  // An ID token that the API accepts must not stay in the browser's history.
  const idToken = SIGN_IN?.sends === 'id' ? '' : (signedIn()?.idToken ?? '')
  const endSessionAddress = SIGN_IN?.endpoints?.endSession
  forgetEverything()
  if (!endSessionAddress) {
    // The person is still signed in at the issuer. Without this mark, the next person on a shared computer would be signed in
    // under her name.
    keepText('sessionStorage', SIGNED_OUT, 'yes')
    return
  }
  const address = new URL(endSessionAddress)
  const parameters = {
    // Without an ID token the parameter is left out, because the issuer may refuse an empty one.
    ...(idToken === '' ? {} : { id_token_hint: idToken }),
    client_id: client().client_id,
    post_logout_redirect_uri: REDIRECT,
  }
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  location.assign(address)
}
