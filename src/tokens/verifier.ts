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
/** Tolerated difference between the clocks of the issuer and of this machine, in seconds. */
const TOLERANCE_S = 60
/** Maximum time that the page for signing in waits for the issuer's addresses, if they were not read yet. */
const PAGE_MS_MAX = 1_000
/** Maximum characters of `sub`. OpenID Connect Core 1.0, 2 */
const SUBJECT_LENGTH_MAX = 255
/**
 * Types of JWTs that identify a caller: access tokens, and tokens without a type. Other types, such as `logout+jwt`, have other
 * purposes.
 */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'at+jwt', 'jwt'])

interface Options {
  readonly issuer: string
  readonly audience: string
  /** Called with the reason why the issuer cannot be read, once per outage, and with null when it can be read again. */
  onOutage(reason: string | null): void
  /**
   * Called with the reason why nobody can sign in at the issuer's addresses, once for each reason, and with null when people can
   * sign in.
   */
  onEndpoints?(fault: string | null): void
  readonly askEveryMs?: number
}

export class TokenVerifier implements TokenCheck {
  private readonly keys: IssuerKeys
  private readonly verified = new VerifiedTokens()

  constructor(private readonly options: Options) {
    // If the issuer has withdrawn a key, no token that the key has signed may stay valid.
    this.keys = new IssuerKeys(options.issuer, { ...options, onChange: () => this.verified.clear() })
  }

  /** Begins to read the issuer's keys. Does not wait until they are read. */
  start(): void {
    this.keys.start()
  }

  stop(): void {
    this.keys.stop()
  }

  /**
   * Returns the issuer's addresses for sign-in. Returns null if the issuer has no addresses that can be used, or does not answer
   * within a second. Never rejects.
   */
  async signInEndpoints(): Promise<SignInEndpoints | null> {
    if (this.keys.endpoints === null) await withDeadline(this.keys.ask(), PAGE_MS_MAX, () => undefined)
    return this.keys.endpoints
  }

  known(token: string): VerifiedToken | null {
    return token.length > TOKEN_LENGTH_MAX ? null : this.verified.find(token)
  }

  /** Returns the verified token, or why it is refused; synchronously for a token that was verified before. Never rejects. */
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

  /**
   * Returns a fault that makes a token invalid, whatever its signature is; null if there is none. If there is a fault, the issuer
   * is not asked for new keys.
   */
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

  /** Verifies a token with these keys. Returns null if none of the keys has signed the token. */
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
    // A token with `cnf` is valid only together with a proof that its client has a certain key. Without a check of the proof, a
    // thief could use the token.
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

/** Returns the reason of a refusal, from an error of jose. A message quotes claims only if the signature is valid. */
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
