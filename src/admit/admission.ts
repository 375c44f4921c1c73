import type { BlockList } from 'node:net'
import { addressBehind, type Client, clientOf } from './address.ts'
import { idOf } from './apiKey.ts'
import type { KeyNews } from './keyNews.ts'
import type { Key, Keyring } from './keyring.ts'
import type { RateLimitStatus } from './limiter.ts'
import type { Limiters } from './limiters.ts'

/** What admission needs of the server. */
export interface PeerAddresses {
  requestIP(request: Request): { address: string } | null
}

/** Who sends a request, once the database was asked. */
export interface Settled {
  readonly key: Key | null
  /** False: it is not known whether there is such a key, or still is. */
  readonly isConfirmed: boolean
}

/** Finds the key of a request, and charges the request to it. */
export class Admission {
  constructor(
    private readonly keyring: Keyring,
    private readonly limiters: Limiters,
    private readonly trustedProxies: BlockList | null,
    /** Null: the keyring has all keys there are. */
    private readonly news: KeyNews | null = null,
  ) {}

  /** The key with this text; null: there is none, or it is not valid. */
  keyOf(text: string | undefined): Key | null {
    return this.keyring.find(text)
  }

  /** Another once keys have come, gone or changed. */
  get keysSerial(): number {
    return this.keyring.serial
  }

  /**
   * Null: `key`, which is what `keyOf` has found, holds. Else the database is asked: for a key that was just made, or
   * whether the known keys are still valid.
   */
  settle(
    text: string | undefined,
    key: Key | null,
    request: Request,
    server: PeerAddresses | null,
  ): Promise<Settled> | null {
    const { news } = this
    if (news === null || text === undefined) return null
    if (key === null) return this.isUnknown(text, request, server) ? confirmed(news.find(text)) : null
    const holds = key.isStored ? news.confirm() : true
    return holds === true ? null : this.askAgain(text, holds, news)
  }

  /** Charges a request to its key or, so that keys cannot be guessed at speed, to its address. */
  charge(key: Key | null, request: Request, server: PeerAddresses | null): RateLimitStatus | Promise<RateLimitStatus> {
    if (key === null) return this.limiters.anonymous.charge(this.clientBehind(request, server))
    return this.limiters.of(key).charge(key.client)
  }

  /** Whether the id in a text is unknown, and the address may still ask: it is charged where there is no such key. */
  private isUnknown(text: string, request: Request, server: PeerAddresses | null): boolean {
    const id = idOf(text)
    if (id === '' || this.keyring.has(id)) return false
    return this.limiters.anonymous.peek(this.clientBehind(request, server)).admitted
  }

  private async askAgain(text: string, holds: Promise<boolean> | boolean, news: KeyNews): Promise<Settled> {
    const isConfirmed = await holds
    const key = this.keyring.find(text)
    // The keys that came meanwhile may have been read before this one was made: then they lack it, but not as an ended one.
    if (key === null && !this.keyring.has(idOf(text))) return confirmed(news.find(text))
    return { key, isConfirmed }
  }

  /** The address that a request comes from, behind trusted proxies; '' where its connection has gone. */
  addressOf(request: Request, server: PeerAddresses | null): string {
    const peer = server?.requestIP(request)?.address ?? ''
    if (this.trustedProxies === null) return peer
    return addressBehind(this.trustedProxies, peer, request.headers.get('x-forwarded-for'))
  }

  private clientBehind(request: Request, server: PeerAddresses | null): Client {
    return clientOf(this.addressOf(request, server))
  }
}

function confirmed(found: Promise<Key | null>): Promise<Settled> {
  return found.then(
    (key) => ({ key, isConfirmed: true }),
    () => ({ key: null, isConfirmed: false }),
  )
}
