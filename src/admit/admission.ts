import type { BlockList } from 'node:net'
import { addressBehind, type Client, clientOf } from './address.ts'
import { idOf } from './apiKey.ts'
import type { KeyNews } from './keyNews.ts'
import type { Key, Keyring } from './keyring.ts'
import type { RateLimiter } from './limiter.ts'
import type { Standing } from './meter.ts'

/** The one thing of a server that is needed here. */
interface PeerAddresses {
  requestIP(request: Request): { address: string } | null
}

/** Who asks, once the database was asked. */
export interface Settled {
  readonly key: Key | null
  /** False: whether there is such a key, or still is, cannot be told. */
  readonly isConfirmed: boolean
}

/** Who asks, and how often they may. */
export class Admission {
  constructor(
    private readonly keyring: Keyring,
    private readonly limiter: RateLimiter,
    private readonly trustedProxies: BlockList | null,
    /** Null: the keys known here are all there are. */
    private readonly news: KeyNews | null = null,
  ) {}

  /** The key of a request; null: it has none, or one that is not valid. */
  keyOf(text: string | undefined): Key | null {
    return this.keyring.find(text)
  }

  /**
   * Null: `key`, which is what `keyOf` has found, holds. Else the database is asked: for a key that has just been made,
   * or whether those known are still valid.
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
    return holds === true ? null : this.askAgain(text, holds)
  }

  /** Charges a request to its key or, so that keys cannot be guessed at speed, to its address. */
  charge(key: Key | null, request: Request, server: PeerAddresses | null): Standing | Promise<Standing> {
    return key === null ? this.limiter.chargeAddress(this.clientBehind(request, server)) : this.limiter.chargeKey(key)
  }

  /** Whether nothing is known of the id in a text, and the address may try some more: it is charged where there is no key. */
  private isUnknown(text: string, request: Request, server: PeerAddresses | null): boolean {
    const id = idOf(text)
    if (id === '' || this.keyring.has(id)) return false
    return this.limiter.lookAddress(this.clientBehind(request, server)).admitted
  }

  private async askAgain(text: string, holds: Promise<boolean> | boolean): Promise<Settled> {
    const isConfirmed = await holds
    return { key: this.keyring.find(text), isConfirmed }
  }

  private clientBehind(request: Request, server: PeerAddresses | null): Client {
    const peer = server?.requestIP(request)?.address ?? ''
    if (this.trustedProxies === null) return clientOf(peer)
    return clientOf(addressBehind(this.trustedProxies, peer, request.headers.get('x-forwarded-for')))
  }
}

function confirmed(found: Promise<Key | null>): Promise<Settled> {
  return found.then(
    (key) => ({ key, isConfirmed: true }),
    () => ({ key: null, isConfirmed: false }),
  )
}
