// Admission of a request: finds its key or person, and charges the request to the limits of that key or person.
import type { BlockList } from 'node:net'
import type { Principal } from '../model/principal.ts'
import { withDeadline } from '../os/time.ts'
import { clientAddress, clientOf } from './address.ts'
import { idOf } from './apiKey.ts'
import type { KeyRefresh } from './keyRefresh.ts'
import type { Key, Keyring } from './keyring.ts'
import type { Limiters, RateLimitStatus } from './limiter.ts'
import type { Persons } from './persons.ts'

export interface PeerAddresses {
  requestIP(request: Request): { address: string } | null
}

/** The key or token that a request presents. */
export interface Credential {
  readonly kind: 'key' | 'token'
  readonly text: string
}

/** Key or person that sends a request, and whether its credential is valid. */
interface Identified {
  /** The key or person; null without a valid key or token. */
  readonly principal: Principal | null
  /** False if the server could not find out whether the key or the token is valid. */
  readonly isConfirmed: boolean
  /** Reason why the token is refused, or cannot be verified; null if the request has no token, or a valid token. */
  readonly refusal: string | null
}

/** A charged request: its sender, and what is left of the limits. */
interface Admitted extends Identified {
  readonly rateLimit: RateLimitStatus
}

/**
 * Maximum time that a request to an open path waits for the look-up of its API key, or for the public keys of the token issuer.
 */
const OPEN_MS_MAX = 250
const UNCONFIRMED: Identified = { principal: null, isConfirmed: false, refusal: null }
const NOT_LOOKED_UP: Identified = { principal: null, isConfirmed: true, refusal: null }

export class Admission {
  /** `persons`: finds the person of a token; null if the server takes no tokens. */
  constructor(
    readonly keyring: Keyring,
    readonly limiters: Limiters,
    private readonly trustedProxies: BlockList | null,
    private readonly refresh: KeyRefresh,
    private readonly persons: Persons | null = null,
  ) {}

  /** True if requests may have tokens of persons. */
  get takesTokens(): boolean {
    return this.persons !== null
  }

  /**
   * Finds the key or person of a credential and charges the request to it, or to the address if the credential is not valid. An
   * unknown key is looked up, and an unknown token verified, before anything is charged, so a valid credential never costs its
   * address a request. If the address has no requests left, unknown keys are not looked up and unknown tokens not verified. So an
   * attacker can neither try many keys nor make the server verify many tokens. `isOpen`: the path needs no key, so the request
   * does not wait for a slow database or issuer.
   */
  admit(credential: Credential | undefined, address: string, isOpen = false): Admitted | Promise<Admitted> {
    if (credential?.kind === 'token') {
      const principal = this.persons?.known(credential.text) ?? null
      if (principal === null) return this.admitUnknown(credential, address, isOpen)
      return this.charged({ principal, isConfirmed: true, refusal: null }, address)
    }
    const key = this.keyring.find(credential?.text)
    if (isUnknown(key, credential)) return this.admitUnknown(credential, address, isOpen)
    const isConfirmed = isOpen || !key?.isStored || this.refresh.confirm()
    if (isConfirmed === true) return this.charged({ principal: key, isConfirmed, refusal: null }, address)
    return this.confirm(credential).then((found) => this.charged(found, address))
  }

  /**
   * Finds the key or person of a credential. The database must confirm a key, and a token must still be valid. Charges nothing.
   */
  async confirm(credential: Credential | undefined): Promise<Identified> {
    if (credential?.kind === 'token') return this.verify(credential.text)
    const text = credential?.text
    const found = this.keyring.find(text)
    const isConfirmed = isUnknown(found, credential)
      ? await this.refreshKeys()
      : !found?.isStored || (await this.refresh.confirm())
    const key = this.keyring.find(text)
    const isKnown = key !== null || text === undefined || !this.keyring.withholds(text)
    return { principal: key, isConfirmed: isConfirmed && isKnown, refusal: null }
  }

  charge(principal: Principal | null, address: string): RateLimitStatus | Promise<RateLimitStatus> {
    if (principal === null) return this.limiters.anonymous.charge(clientOf(address))
    return this.limiters.of(principal).charge(principal.client)
  }

  /**
   * Identifies the sender, and charges the request to it, or to the address if there is no valid sender. All waiting requests
   * with unknown keys share one query.
   */
  private async admitUnknown(credential: Credential, address: string, isOpen: boolean): Promise<Admitted> {
    const anonymous = await this.limiters.anonymous.foresee(clientOf(address))
    if (!anonymous.admitted) return { ...NOT_LOOKED_UP, rateLimit: anonymous }
    const confirmed = this.confirm(credential)
    const found = await (isOpen ? withDeadline(confirmed, OPEN_MS_MAX, () => UNCONFIRMED) : confirmed)
    // Charges nothing, because the key or token may be valid: the address must have requests left when the database or the issuer
    // answers again.
    if (found.principal === null && !found.isConfirmed && !isOpen) return { ...found, rateLimit: anonymous }
    return this.charged(found, address)
  }

  private async verify(token: string): Promise<Identified> {
    if (this.persons === null) return NOT_LOOKED_UP
    const found = await this.persons.verify(token)
    if (!('refusal' in found)) return { principal: found, isConfirmed: true, refusal: null }
    return { principal: null, isConfirmed: !found.isUndecided, refusal: found.refusal }
  }

  /** Reads the keys again if they have changed. Resolves with false if the database does not answer. */
  private refreshKeys(): Promise<boolean> {
    return this.refresh.refresh().then(
      () => true,
      () => false,
    )
  }

  private charged(found: Identified, address: string): Admitted | Promise<Admitted> {
    const { principal, isConfirmed, refusal } = found
    const rateLimit = this.charge(principal, address)
    if (rateLimit instanceof Promise) return rateLimit.then((status) => ({ ...found, rateLimit: status }))
    return { principal, isConfirmed, refusal, rateLimit }
  }

  /**
   * Returns the client's address. Call it before the first `await`: afterwards the address is '' if the client has disconnected.
   */
  addressOf(request: Request, server: PeerAddresses | null): string {
    const peer = server?.requestIP(request)?.address ?? ''
    if (this.trustedProxies === null) return peer
    return clientAddress(this.trustedProxies, peer, request.headers.get('x-forwarded-for'))
  }
}

/** Returns whether the database may have a key with this text although this process does not know it. */
function isUnknown(key: Key | null, credential: Credential | undefined): credential is Credential {
  return key === null && credential !== undefined && idOf(credential.text) !== ''
}
