// The response cache: lists and summaries by their target (path and query string), and by the version of the copy.
import { LruCache } from '../model/lruCache.ts'
import type { BytesReply } from '../respond/reply.ts'

/** Estimated bytes of a response without its body. */
const REPLY_BYTES = 1_500
/** Estimated bytes for each character of the target, which the links repeat. */
const TARGET_BYTES = 10

interface CachedReply {
  readonly version: number
  readonly reply: BytesReply
}

export class ResponseCache {
  private readonly replies: LruCache<CachedReply>

  constructor(bytesMax: number) {
    this.replies = new LruCache(bytesMax, ({ reply }, target) => REPLY_BYTES + reply.body.length + TARGET_BYTES * target.length)
  }

  /** Returns whether there is a response to this target, of any version; so its query string is valid. */
  has(target: string): boolean {
    return this.replies.get(target) !== undefined
  }

  get(target: string, version: number): BytesReply | null {
    const cached = this.replies.get(target)
    return cached?.version === version ? cached.reply : null
  }

  set(target: string, version: number, reply: BytesReply): void {
    this.replies.set(target, { version, reply })
  }
}
