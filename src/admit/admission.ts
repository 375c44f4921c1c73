// Admission of a request: finds its key, and charges the request to its limits.
import type { BlockList } from 'node:net'
import { withDeadline } from '../os/time.ts'
import { addressBehind, clientOf } from './address.ts'
import { idOf } from './apiKey.ts'
import type { KeyRefresh } from './keyRefresh.ts'
import type { Key, Keyring } from './keyring.ts'
import type { RateLimitStatus } from './limiter.ts'
import type { Limiters } from './limiters.ts'

export interface PeerAddresses {
  requestIP(request: Request): { address: string } | null
}

/** A request that was charged. */
interface Admitted {
  readonly key: Key | null
  /** False: it is not known whether there is such a key, or still is. */
  readonly isConfirmed: boolean
  readonly rateLimit: RateLimitStatus
}

/** Maximum time that a request which needs no key waits for the look-up of one. */
const OPEN_MS_MAX = 250
const UNCONFIRMED = { key: null, isConfirmed: false }

export class Admission {
  constructor(
    readonly keyring: Keyring,
    readonly limiters: Limiters,
    private readonly trustedProxies: BlockList | null,
    private readonly refresh: KeyRefresh,
  ) {}

  /**
   * Finds the key with this text, and charges the request to it; without a valid key, to its address. An unknown key is looked up
   * first, so that a valid one costs its address nothing, unless the address has no request left: so keys cannot be guessed at
   * speed. `isOpen`: no key is needed, so the request does not wait for a database that is slow.
   */
  admit(text: string | undefined, address: string, isOpen = false): Admitted | Promise<Admitted> {
    const key = this.keyring.find(text)
    if (isUnknown(key, text)) return this.admitUnknown(text, address, isOpen)
    const isConfirmed = isOpen || !key?.isStored || this.refresh.confirm()
    if (isConfirmed === true) return this.charged(key, isConfirmed, address)
    return this.confirm(text).then((found) => this.charged(found.key, found.isConfirmed, address))
  }

  /** The key with this text once it is known whether it is still valid; charges nothing. */
  async confirm(text: string | undefined): Promise<Omit<Admitted, 'rateLimit'>> {
    const found = this.keyring.find(text)
    const isConfirmed = isUnknown(found, text) ? await this.asks() : !found?.isStored || (await this.refresh.confirm())
    const key = this.keyring.find(text)
    return { key, isConfirmed: isConfirmed && (key !== null || text === undefined || !this.keyring.withholds(text)) }
  }

  charge(key: Key | null, address: string): RateLimitStatus | Promise<RateLimitStatus> {
    if (key === null) return this.limiters.anonymous.charge(clientOf(address))
    return this.limiters.of(key).charge(key.client)
  }

  /** Looks the key up, together with all others that wait; charges the address after that, unless there is such a key. */
  private async admitUnknown(text: string, address: string, isOpen: boolean): Promise<Admitted> {
    const left = await this.limiters.anonymous.foresee(clientOf(address))
    if (!left.admitted) return { ...UNCONFIRMED, isConfirmed: true, rateLimit: left }
    const confirmed = this.confirm(text)
    const { key, isConfirmed } = await (isOpen ? withDeadline(confirmed, OPEN_MS_MAX, () => UNCONFIRMED) : confirmed)
    // The key may be a valid one, and the address has to have requests left for it when it can be looked up.
    if (key === null && !isConfirmed && !isOpen) return { ...UNCONFIRMED, rateLimit: left }
    return this.charged(key, isConfirmed, address)
  }

  /** Reads keys that have changed. False: the database does not answer. */
  private asks(): Promise<boolean> {
    return this.refresh.refresh().then(
      () => true,
      () => false,
    )
  }

  private charged(key: Key | null, isConfirmed: boolean, address: string): Admitted | Promise<Admitted> {
    const rateLimit = this.charge(key, address)
    if (rateLimit instanceof Promise) return rateLimit.then((status) => ({ key, isConfirmed, rateLimit: status }))
    return { key, isConfirmed, rateLimit }
  }

  /** The address that a request comes from, read as it arrives: '' where its client has left already. */
  addressOf(request: Request, server: PeerAddresses | null): string {
    const peer = server?.requestIP(request)?.address ?? ''
    if (this.trustedProxies === null) return peer
    return addressBehind(this.trustedProxies, peer, request.headers.get('x-forwarded-for'))
  }
}

/** Returns whether the database may have a key with this text though no known one has it. */
function isUnknown(key: Key | null, text: string | undefined): text is string {
  return key === null && text !== undefined && idOf(text) !== ''
}
