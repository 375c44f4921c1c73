// Verifies tokens of the company's identity provider: JWTs that it has signed for this server. RFC 7519, RFC 9068, RFC 8725
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import { excerpt } from '../model/excerpt.ts'
import type { SignInEndpoints } from '../model/signIn.ts'
import type { RefusedToken, TokenCheck, Verdict, VerifiedToken } from '../model/token.ts'
import { withDeadline } from '../os/time.ts'
import { IssuerKeys, type Keys } from './issuerKeys.ts'
import { VerifiedTokens } from './verifiedTokens.ts'

/** Maximum characters of a token, which the head of a request has to carry. */
export const TOKEN_LENGTH_MAX = 8_192
/** Difference between the clocks of the issuer and of this machine that does no harm. */
const TOLERANCE_S = 60
/** Maximum time that a page for signing in waits for an issuer which was not read yet. */
const PAGE_MS_MAX = 1_000
/** Maximum characters of `sub`. OpenID Connect Core 1.0, 2 */
const SUBJECT_LENGTH_MAX = 255
/** Types of JWTs that say who asks: access tokens, and those without a type. Others, as `logout+jwt`, are for something else. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'at+jwt', 'jwt'])

interface Options {
  readonly issuer: string
  readonly audience: string
  /** Called with why the issuer cannot be asked, once for an outage, and with null when it answers again. */
  onOutage(reason: string | null): void
  /** Called with why nobody can sign in by the issuer's addresses, once for each reason, and with null when that is over. */
  onEndpoints?(fault: string | null): void
  readonly askEveryMs?: number
}

export class TokenVerifier implements TokenCheck {
  private readonly keys: IssuerKeys
  private readonly verified = new VerifiedTokens()

  constructor(private readonly options: Options) {
    // A token whose key the issuer has withdrawn must not outlive it.
    this.keys = new IssuerKeys(options.issuer, { ...options, onChange: () => this.verified.clear() })
  }

  /** Begins to read the issuer's keys, and does not wait for them. */
  start(): void {
    this.keys.start()
  }

  stop(): void {
    this.keys.stop()
  }

  /** Returns the issuer's addresses for sign-in. Null if it has none, or does not answer within a second. Never rejects. */
  async signInEndpoints(): Promise<SignInEndpoints | null> {
    if (this.keys.endpoints === null) await withDeadline(this.keys.ask(), PAGE_MS_MAX, () => undefined)
    return this.keys.endpoints
  }

  known(token: string): VerifiedToken | null {
    return token.length > TOKEN_LENGTH_MAX ? null : this.verified.find(token)
  }

  /** Returns what the token says, or why it is refused; synchronously for a token that was verified before. Never rejects. */
  verify(token: string): Verdict | Promise<Verdict> {
    if (token.length > TOKEN_LENGTH_MAX) return refused(`The token has more than ${TOKEN_LENGTH_MAX} characters.`)
    return this.verified.find(token) ?? this.verifyNew(token)
  }

  private async verifyNew(token: string): Promise<Verdict> {
    const fault = this.faultOf(token)
    if (fault !== null) return refused(fault)
    if (this.keys.current === null) await this.keys.ask()
    const keys = this.keys.current
    if (keys === null) return UNDECIDED
    const verdict = await this.check(token, keys)
    if (verdict !== null) return verdict
    await this.keys.ask()
    const renewed = this.keys.current as Keys
    const second = renewed === keys ? null : await this.check(token, renewed)
    return second ?? (this.keys.isCurrent ? refused(UNKNOWN_KEY) : UNDECIDED)
  }

  /** Returns what is wrong with a token whatever its signature, so that the issuer is not asked for keys because of it. */
  private faultOf(token: string): string | null {
    try {
      const { typ, crit, alg } = decodeProtectedHeader(token)
      if (crit !== undefined) return 'The token has extensions that this server does not know (crit).'
      if (!TYPES.has(typ?.toLowerCase().replace(/^application\//, '')))
        return `The token is of the type ${excerpt(String(typ), 30)}, which is no access token (typ).`
      if (alg === undefined || /^(?:none|HS)/i.test(alg)) return 'The token is not signed by a key of its issuer (alg).'
      return decodeJwt(token).iss === this.options.issuer ? null : 'The token is of another issuer (iss).'
    } catch {
      return 'The token is no JWT: the scheme of a key is ApiKey, and tokens that are no JWTs cannot be read.'
    }
  }

  /** Returns null if none of these keys has signed the token. */
  private async check(token: string, keys: Keys): Promise<Verdict | null> {
    const { issuer, audience } = this.options
    try {
      const { payload } = await jwtVerify(token, keys.find, {
        algorithms: [...keys.algorithms],
        issuer,
        audience,
        clockTolerance: TOLERANCE_S,
        requiredClaims: ['exp', 'sub'],
      })
      return this.read(token, payload, keys)
    } catch (error) {
      return error instanceof errors.JWKSNoMatchingKey ? null : refused(reasonOf(error, audience))
    }
  }

  private read(token: string, payload: JWTPayload, keys: Keys): Verdict {
    const { sub: subject, exp } = payload
    if (typeof subject !== 'string' || subject === '' || subject.length > SUBJECT_LENGTH_MAX)
      return refused(`The token names nobody: sub must be a text of 1 to ${SUBJECT_LENGTH_MAX} characters.`)
    // The token was issued to a client that proves its own key, too: whoever has stolen it could send it as a plain one.
    if (payload.cnf !== undefined)
      return refused('The token is bound to a key of its client, which this server cannot check (cnf).')
    const endsMs = ((exp as number) + TOLERANCE_S) * 1_000
    const verified = { issuer: this.options.issuer, subject, claims: payload, endsMs }
    return this.keys.current === keys ? this.verified.keep(token, verified) : verified
  }
}

const UNKNOWN_KEY = 'The token is signed by a key that its issuer does not publish (kid).'
const UNDECIDED: RefusedToken = {
  refusal: 'The token cannot be checked at the moment: its issuer does not answer. Retry after the seconds in Retry-After.',
  isUndecided: true,
}

function refused(refusal: string): RefusedToken {
  return { refusal, isUndecided: false }
}

/** Returns what is wrong, from an error of jose. A message quotes claims only if the signature is valid. */
function reasonOf(error: unknown, audience: string): string {
  if (error instanceof errors.JWTExpired) return `The token ended at ${timeOf(error.payload.exp)} (exp).`
  if (error instanceof errors.JWTClaimValidationFailed) return claimReasonOf(error, audience)
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'The token has a wrong signature.'
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return 'The token does not say which key of its issuer has signed it (kid).'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The token is signed by an algorithm that its issuer does not name (alg).'
  return 'The token cannot be verified.'
}

function claimReasonOf({ claim, reason, payload }: errors.JWTClaimValidationFailed, audience: string): string {
  if (reason === 'missing') return `The token lacks the claim ${claim}.`
  if (claim === 'aud') return `The token is for another audience than ${audience} (aud).`
  if (claim === 'nbf' && typeof payload.nbf === 'number') return `The token is not valid before ${timeOf(payload.nbf)} (nbf).`
  return `The token has a wrong ${claim}.`
}

function timeOf(seconds: unknown): string {
  const time = new Date(Number(seconds) * 1_000)
  return Number.isNaN(time.getTime()) ? 'a time that cannot be read' : `${time.toISOString().slice(0, 19)}Z`
}
