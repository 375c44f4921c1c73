// Persons: who the tokens of the company's identity provider stand for, their names, and where their rights come from.
import { createHmac } from 'node:crypto'
import type { Entity } from '../model/entity.ts'
import type { Client, Principal, RightsNow } from '../model/principal.ts'
import { type Claims, isRefused, type RefusedToken, type TokenCheck, type VerifiedToken } from '../model/token.ts'
import { clientNamed } from './address.ts'

/** Prefix of the pseudonyms of persons, with which no name of a key may begin: limits and idempotency go by names. */
export const PERSON_PREFIX = 'person-'
/** Characters of a pseudonym after its prefix: 132 bits. */
const PSEUDONYM_LENGTH = 22

/**
 * Returns what a person with these claims may do now. `reads`: as of `Principal.rightsNow`. @throws ApiError if that cannot be
 * read
 */
export type RightsOfPerson = (
  claims: Claims,
  isEmailVerified: boolean,
  reads?: readonly Entity[],
) => RightsNow | Promise<RightsNow>

/** A person, as one token says who it is. Several tokens of a person have the same pseudonym. */
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

/** Verdict while the secret of pseudonyms is not known. */
const NOT_YET: RefusedToken = {
  refusal: 'The token cannot be checked at the moment; retry after the seconds in Retry-After.',
  isUndecided: true,
}

export class Persons {
  /** The person of each verified token, forgotten together with it. */
  private readonly persons = new WeakMap<VerifiedToken, PersonPrincipal>()
  /** Secret of the database, the same for all servers on it; null until the database has been reached. */
  private secret: string | null

  /** `trustsEmail`: whether e-mail addresses count that the provider does not call verified. */
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

  /** Returns the person of a token that was verified before, and is still valid. */
  known(token: string): Principal | null {
    const verified = this.tokens.known(token)
    return verified === null || this.secret === null ? null : this.personOf(verified, this.secret)
  }

  /** Returns the person of a token after verifying it, if that is not known. Never rejects. */
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

/** Returns a name that tells nothing of the person: a plain hash of an e-mail address could be guessed. */
function pseudonymOf({ issuer, subject }: VerifiedToken, secret: string): string {
  const hash = createHmac('sha256', secret)
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url')
  return PERSON_PREFIX + hash.slice(0, PSEUDONYM_LENGTH)
}
