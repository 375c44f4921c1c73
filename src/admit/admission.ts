// Admission of a request: finds its key, and charges the request to its limits.
import type { BlockList } from 'node:net'
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

export class Admission {
  constructor(
    readonly keyring: Keyring,
    readonly limiters: Limiters,
    private readonly trustedProxies: BlockList | null,
    private readonly refresh: KeyRefresh,
  ) {}

  /**
   * Finds the key with this text and charges the request to it or, so that keys cannot be guessed at speed, to its address. For
   * an unknown key the address is charged first, and then the database is asked whether its keys have changed. `isOpen`: no key
   * is needed, so the database is not asked.
   */
  admit(text: string | undefined, address: string, isOpen = false): Admitted | Promise<Admitted> {
    const key = this.keyring.find(text)
    if (!isOpen && isUnknown(key, text)) return this.admitUnknown(text, address)
    const isConfirmed = isOpen || !key?.isStored || this.refresh.confirm()
    if (isConfirmed === true) return this.charged(key, isConfirmed, address)
    return this.confirm(text).then((found) => this.charged(found.key, found.isConfirmed, address))
  }

  /** The key with this text once it is known whether it is still valid; charges nothing. */
  async confirm(text: string | undefined): Promise<Omit<Admitted, 'rateLimit'>> {
    const found = this.keyring.find(text)
    const isConfirmed = isUnknown(found, text) ? await this.asks() : !found?.isStored || (await this.refresh.confirm())
    return { key: this.keyring.find(text), isConfirmed }
  }

  charge(key: Key | null, address: string): RateLimitStatus | Promise<RateLimitStatus> {
    if (key === null) return this.limiters.anonymous.charge(clientOf(address))
    return this.limiters.of(key).charge(key.client)
  }

  /** Has the key looked up where the address may still try one, and charges it, too, where it is found. */
  private async admitUnknown(text: string, address: string): Promise<Admitted> {
    const rateLimit = await this.charge(null, address)
    if (!rateLimit.admitted) return { key: null, isConfirmed: true, rateLimit }
    const isConfirmed = await this.asks()
    const key = this.keyring.find(text)
    return { key, isConfirmed, rateLimit: key === null ? rateLimit : await this.charge(key, address) }
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
