// Tokens of persons as data: the claims of a verified token, and verdicts on tokens.

/** The claims of a token, as its JSON has them: values of any type. */
export type Claims = Readonly<Record<string, unknown>>

/** A token that its issuer has signed for this server. While the verifier keeps a token, it returns the same object for it. */
export interface VerifiedToken {
  readonly issuer: string
  /** The person, by the claim `sub`: unique for the issuer. */
  readonly subject: string
  readonly claims: Claims
  /** Time by `Date.now()` from which the token is refused, in ms. */
  readonly endsMs: number
}

/** A token that is not accepted. */
export interface RefusedToken {
  /** A sentence for the answer, which tells nothing secret. */
  readonly refusal: string
  /** True if the token may be good: at the moment, the keys of its issuer cannot be read, so the signature cannot be verified. */
  readonly isUndecided: boolean
}

export type Verdict = VerifiedToken | RefusedToken

/** Verifies tokens, and keeps those that it has verified. */
export interface TokenCheck {
  /** Returns the token if it was verified before and is still valid, else null. */
  known(token: string): VerifiedToken | null
  verify(token: string): Verdict | Promise<Verdict>
}

export function isRefused(verdict: Verdict): verdict is RefusedToken {
  return 'refusal' in verdict
}
