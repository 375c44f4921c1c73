// The response cache: lists and summaries by their target (path and query string), and by the version of their tables' copies.
import type { Entity } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import type { BytesReply } from '../respond/reply.ts'
import type { Version } from './questionQueue.ts'

/** Estimated bytes of a response without its body. */
const REPLY_BYTES = 1_500
/** Estimated bytes for each character of the target, which the links repeat. */
const TARGET_BYTES = 10

interface CachedReply {
  /** The tables that the response needs, its own first. */
  readonly tables: readonly Entity[]
  readonly version: Version
  readonly reply: BytesReply
}

export class ResponseCache {
  private readonly replies: LruCache<CachedReply>

  constructor(bytesMax: number) {
    this.replies = new LruCache(bytesMax, ({ reply }, target) => REPLY_BYTES + reply.body.length + TARGET_BYTES * target.length)
  }

  /** Returns the tables that the response to this target needs, of any version; null: unknown. A known target has no faults. */
  tablesOf(target: string): readonly Entity[] | null {
    return this.replies.get(target)?.tables ?? null
  }

  /** Returns the response to this target. `version`: null for copies that are not of one moment, which have none. */
  get(target: string, version: Version | null): BytesReply | null {
    const cached = this.replies.get(target)
    return cached !== undefined && cached.version === version ? cached.reply : null
  }

  set(target: string, tables: readonly Entity[], version: Version, reply: BytesReply): void {
    this.replies.set(target, { tables, version, reply })
  }
}
