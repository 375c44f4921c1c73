// The response cache: it finds lists and summaries by their target (path and query string) and the version of their tables'
// copies.
import type { Entity } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import type { BytesReply } from '../respond/reply.ts'
import type { Version } from './questionQueue.ts'

/** Estimated bytes of a response without its body. */
const REPLY_BYTES = 1_500
/** Estimated bytes for each character of the target, because links of the response repeat the target. */
const TARGET_BYTES = 10

interface CachedReply {
  /** Tables on whose rows the response depends. The first is the table that is listed or summarized. */
  readonly tables: readonly Entity[]
  readonly version: Version
  readonly reply: BytesReply
}

export class ResponseCache {
  private readonly replies: LruCache<CachedReply>

  constructor(bytesMax: number) {
    this.replies = new LruCache(bytesMax, ({ reply }, target) => REPLY_BYTES + reply.body.length + TARGET_BYTES * target.length)
  }

  /**
   * Returns the tables that the cached response to this target needs, even if its version is outdated; null if no response is
   * cached. A target with a cached response was parsed before, so it is valid.
   */
  tablesOf(target: string): readonly Entity[] | null {
    return this.replies.get(target)?.tables ?? null
  }

  /**
   * Returns the cached response to this target; null if there is none of this version. `version`: null if the copies are not of
   * one snapshot, and then no response fits.
   */
  get(target: string, version: Version | null): BytesReply | null {
    const cached = this.replies.get(target)
    return cached !== undefined && cached.version === version ? cached.reply : null
  }

  set(target: string, tables: readonly Entity[], version: Version, reply: BytesReply): void {
    this.replies.set(target, { tables, version, reply })
  }
}
