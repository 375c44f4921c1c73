import type { BlockList } from 'node:net'
import { addressBehind, type Client, clientOf } from './address.ts'
import type { Key, Keyring } from './keyring.ts'
import type { RateLimiter } from './limiter.ts'
import type { Standing } from './meter.ts'

/** The one thing of a server that is needed here. */
interface PeerAddresses {
  requestIP(request: Request): { address: string } | null
}

/** Who asks, and how often they may. */
export class Admission {
  constructor(
    private readonly keyring: Keyring,
    private readonly limiter: RateLimiter,
    private readonly trustedProxies: BlockList | null,
  ) {}

  /** The key of a request; null: it has none, or one that is not valid. */
  keyOf(text: string | undefined): Key | null {
    return this.keyring.find(text)
  }

  /** Charges a request to its key or, so that keys cannot be guessed at speed, to its address. */
  charge(key: Key | null, request: Request, server: PeerAddresses | null): Standing | Promise<Standing> {
    return key === null ? this.limiter.chargeAddress(this.clientBehind(request, server)) : this.limiter.chargeKey(key)
  }

  /** What `charge` would say, without charging. */
  look(key: Key | null, request: Request, server: PeerAddresses | null): Standing {
    return key === null ? this.limiter.lookAddress(this.clientBehind(request, server)) : this.limiter.lookKey(key)
  }

  private clientBehind(request: Request, server: PeerAddresses | null): Client {
    const peer = server?.requestIP(request)?.address ?? ''
    if (this.trustedProxies === null) return clientOf(peer)
    return clientOf(addressBehind(this.trustedProxies, peer, request.headers.get('x-forwarded-for')))
  }
}
