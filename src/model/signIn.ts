// Data with which the page /explore signs people in with the issuer.

/**
 * Addresses of the issuer, from its discovery document. They have been checked: a page can open them, and a content security
 * policy can name them.
 */
export interface SignInEndpoints {
  /** Address at which people sign in. */
  readonly authorization: string
  /** Address at which the page exchanges a code, or a refresh token, for tokens. */
  readonly token: string
  /** Address at which people sign out; null if the issuer has none. */
  readonly endSession: string | null
  /** True if the issuer names itself in its answers to sign-ins. RFC 9207 */
  readonly namesItself: boolean
  /** Algorithms by which the issuer signs ID tokens. */
  readonly algorithms: readonly string[]
}

/** Settings of sign-in, and the issuer's addresses. */
export interface SignIn {
  readonly issuer: string
  readonly clientId: string
  readonly scope: string
  /** Parameter `resource` of requests to the issuer (RFC 8707); null: requests have no such parameter. */
  readonly resource: string | null
  /** Kind of the token that the page sends to the API. */
  readonly sends: 'access' | 'id'
  /** Null if the issuer could not be read yet, or its addresses are missing or unsafe. */
  readonly endpoints: SignInEndpoints | null
}
