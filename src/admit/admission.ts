// Admission of a request: finds its key, and charges the request to its limits.
import type { BlockList } from 'node:net'
import type { Principal } from '../model/principal.ts'
import { withDeadline } from '../os/time.ts'
import { clientAddress, clientOf } from './address.ts'
import { idOf } from './apiKey.ts'
import type { KeyRefresh } from './keyRefresh.ts'
import type { Key, Keyring } from './keyring.ts'
import type { Limiters, RateLimitStatus } from './limiter.ts'

export interface PeerAddresses {
  requestIP(request: Request): { address: string } | null
}

/** A charged request: who sends it, null without a valid key, and what is left of the limits. */
interface Admitted {
  readonly principal: Principal | null
  /** False if the database could not say whether the key is valid. */
  readonly isConfirmed: boolean
  readonly rateLimit: RateLimitStatus
}

/** Maximum time that a request to an open path waits for the look-up of its key. */
const OPEN_MS_MAX = 250
const UNCONFIRMED = { principal: null, isConfirmed: false }

export class Admission {
  constructor(
    readonly keyring: Keyring,
    readonly limiters: Limiters,
    private readonly trustedProxies: BlockList | null,
    private readonly refresh: KeyRefresh,
  ) {}

  /**
   * Finds the key with this text and charges the request to it, or to the address if no valid key has the text. An unknown key is
   * looked up before anything is charged, so a valid key never costs its address a request. An address without requests left gets
   * no look-up, so that keys cannot be guessed at speed. `isOpen`: the path needs no key, so the request does not wait for a slow
   * database.
   */
  admit(text: string | undefined, address: string, isOpen = false): Admitted | Promise<Admitted> {
    const key = this.keyring.find(text)
    if (isUnknown(key, text)) return this.admitUnknown(text, address, isOpen)
    const isConfirmed = isOpen || !key?.isStored || this.refresh.confirm()
    if (isConfirmed === true) return this.charged(key, isConfirmed, address)
    return this.confirm(text).then((found) => this.charged(found.principal, found.isConfirmed, address))
  }

  /** Returns the key with this text after the database has confirmed or denied it; charges nothing. */
  async confirm(text: string | undefined): Promise<Omit<Admitted, 'rateLimit'>> {
    const found = this.keyring.find(text)
    const isConfirmed = isUnknown(found, text) ? await this.refreshKeys() : !found?.isStored || (await this.refresh.confirm())
    const key = this.keyring.find(text)
    return { principal: key, isConfirmed: isConfirmed && (key !== null || text === undefined || !this.keyring.withholds(text)) }
  }

  charge(principal: Principal | null, address: string): RateLimitStatus | Promise<RateLimitStatus> {
    if (principal === null) return this.limiters.anonymous.charge(clientOf(address))
    return this.limiters.of(principal).charge(principal.client)
  }

  /** Looks the key up, by one query for all waiting requests, and charges the address only if there is no such key. */
  private async admitUnknown(text: string, address: string, isOpen: boolean): Promise<Admitted> {
    const anonymous = await this.limiters.anonymous.foresee(clientOf(address))
    if (!anonymous.admitted) return { ...UNCONFIRMED, isConfirmed: true, rateLimit: anonymous }
    const confirmed = this.confirm(text)
    const { principal, isConfirmed } = await (isOpen ? withDeadline(confirmed, OPEN_MS_MAX, () => UNCONFIRMED) : confirmed)
    // Charges nothing: the key may be valid, and the address needs requests left for when the database answers again.
    if (principal === null && !isConfirmed && !isOpen) return { ...UNCONFIRMED, rateLimit: anonymous }
    return this.charged(principal, isConfirmed, address)
  }

  /** Reads keys that have changed. Resolves with false if the database does not answer. */
  private refreshKeys(): Promise<boolean> {
    return this.refresh.refresh().then(
      () => true,
      () => false,
    )
  }

  private charged(principal: Principal | null, isConfirmed: boolean, address: string): Admitted | Promise<Admitted> {
    const rateLimit = this.charge(principal, address)
    if (rateLimit instanceof Promise) return rateLimit.then((status) => ({ principal, isConfirmed, rateLimit: status }))
    return { principal, isConfirmed, rateLimit }
  }

  /** The client's address, which must be read before the first `await`: afterwards it is '' if the client has disconnected. */
  addressOf(request: Request, server: PeerAddresses | null): string {
    const peer = server?.requestIP(request)?.address ?? ''
    if (this.trustedProxies === null) return peer
    return clientAddress(this.trustedProxies, peer, request.headers.get('x-forwarded-for'))
  }
}

/** Returns whether the database may have a key with this text although this process knows none. */
function isUnknown(key: Key | null, text: string | undefined): text is string {
  return key === null && text !== undefined && idOf(text) !== ''
}
