// Persons: the principals of tokens from the company's identity provider, with their pseudonyms and their rights.
import { createHmac } from 'node:crypto'
import type { Entity } from '../model/entity.ts'
import type { Client, Principal, RightsNow } from '../model/principal.ts'
import { type Claims, isRefused, type RefusedToken, type TokenCheck, type VerifiedToken } from '../model/token.ts'
import { clientNamed } from './address.ts'

/**
 * Prefix of the pseudonyms of persons. No name of a key may begin with it, because a key and a person of one name would share
 * limits and idempotency.
 */
export const PERSON_PREFIX = 'person-'
/** Number of characters of a pseudonym after its prefix: they have 132 bits. */
const PSEUDONYM_LENGTH = 22

/**
 * Returns what a person with these claims may do now. `reads`: entities that the request will list, as in `Principal.rightsNow`.
 * @throws ApiError if the rights cannot be read
 */
export type RightsOfPerson = (
  claims: Claims,
  isEmailVerified: boolean,
  reads?: readonly Entity[],
) => RightsNow | Promise<RightsNow>

/** The person that one token names. Several tokens of a person have the same pseudonym. */
class PersonPrincipal implements Principal {
  readonly isPerson = true
  readonly ownTable = null
  readonly name: string
  readonly client: Client

  constructor(
    /** The pseudonym. */
    readonly id: string,
    private readonly claims: Claims,
    private readonly isEmailVerified: boolean,
    private readonly rightsOf: RightsOfPerson,
  ) {
    this.name = id
    this.client = clientNamed('person', id.slice(PERSON_PREFIX.length))
  }

  rightsNow(reads?: readonly Entity[]): RightsNow | Promise<RightsNow> {
    return this.rightsOf(this.claims, this.isEmailVerified, reads)
  }
}

/** Verdict on tokens until the secret of pseudonyms is known. */
const NOT_YET: RefusedToken = {
  refusal: 'The token cannot be checked at the moment; retry after the seconds in Retry-After.',
  isUndecided: true,
}

export class Persons {
  /** Person of each verified token. A WeakMap: it forgets the person together with the token. */
  private readonly persons = new WeakMap<VerifiedToken, PersonPrincipal>()
  /** Secret for pseudonyms, which all servers of one database share. Null until the database has been reached. */
  private secret: string | null

  /** `trustsEmail`: true if e-mail addresses count although the provider does not say that they are verified. */
  constructor(
    private readonly tokens: TokenCheck,
    private readonly options: {
      readonly secret: string | null
      readonly trustsEmail: boolean
      readonly rightsOf: RightsOfPerson
    },
  ) {
    this.secret = options.secret
  }

  begin(secret: string): void {
    this.secret = secret
  }

  /**
   * Returns the person of a token that was verified before and is still valid. Returns null for all other tokens, and while the
   * secret of pseudonyms is unknown.
   */
  known(token: string): Principal | null {
    const verified = this.tokens.known(token)
    return verified === null || this.secret === null ? null : this.personOf(verified, this.secret)
  }

  /** Returns the person of a token. Verifies the token if it is not known yet. Never rejects. */
  async verify(token: string): Promise<Principal | RefusedToken> {
    if (this.secret === null) return NOT_YET
    const verdict = await this.tokens.verify(token)
    return isRefused(verdict) ? verdict : this.personOf(verdict, this.secret)
  }

  private personOf(token: VerifiedToken, secret: string): PersonPrincipal {
    const known = this.persons.get(token)
    if (known !== undefined) return known
    const { trustsEmail, rightsOf } = this.options
    const { claims } = token
    const person = new PersonPrincipal(
      pseudonymOf(token, secret),
      claims,
      trustsEmail || claims.email_verified === true,
      rightsOf,
    )
    this.persons.set(token, person)
    return person
  }
}

/** Returns a pseudonym that does not lead back to the person. A plain hash of an e-mail address could be guessed. */
function pseudonymOf({ issuer, subject }: VerifiedToken, secret: string): string {
  const hash = createHmac('sha256', secret)
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url')
  return PERSON_PREFIX + hash.slice(0, PSEUDONYM_LENGTH)
}
