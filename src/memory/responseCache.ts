// The response cache: lists and summaries by their target (path and query), valid while no row of the table has changed.
import { LruCache } from '../model/lruCache.ts'
import type { BytesReply, Reply } from '../respond/reply.ts'
import type { TableCopy } from './tableCopy.ts'

/** Estimated bytes of a response without its body: of itself, and of each character of its target, which its links repeat. */
const [REPLY_BYTES, TARGET_BYTES] = [1_500, 10]

interface Answer {
  /** Version of the copy that it was made from. */
  readonly version: number
  readonly reply: BytesReply
}

type Found<Query> = { readonly kept: Reply; readonly query: null } | { readonly kept: null; readonly query: Query }

export class ResponseCache {
  private readonly answers: LruCache<Answer>

  constructor(bytesMax: number) {
    this.answers = new LruCache(bytesMax, ({ reply }, target) => REPLY_BYTES + reply.body.length + TARGET_BYTES * target.length)
  }

  /** Makes the copy current, then finds the answer to this target or, without one, parses its query. @throws ApiError */
  async find<Query>(target: string, copy: TableCopy, parse: () => Query): Promise<Found<Query>> {
    // Parsed first, so that a fault is named whatever the database does; a target that was answered before has none.
    const parsed = this.answers.get(target) === undefined ? parse() : null
    await copy.refresh()
    const answer = this.answers.get(target)
    // A copy that was lost meanwhile has asked nothing.
    if (copy.search !== null && answer?.version === copy.version) return { kept: withOwnHeaders(answer.reply), query: null }
    return { kept: null, query: parsed ?? parse() }
  }

  /** Keeps an answer that was made as of the copy, and returns one to send. */
  keep(target: string, { version }: TableCopy, reply: BytesReply): Reply {
    this.answers.set(target, { version, reply })
    return withOwnHeaders(reply)
  }
}

/** With headers of its own, since each sending adds some. */
function withOwnHeaders(reply: BytesReply): Reply {
  return { ...reply, headers: { ...reply.headers } }
}
