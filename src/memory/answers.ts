import { LruCache } from '../model/lruCache.ts'
import type { BytesReply, Reply } from '../respond/reply.ts'
import type { TableCopy } from './tableCopy.ts'

/** An estimate, in bytes: a reply beside its body. */
const REPLY_BYTES = 1_500

interface Answer {
  /** Version of the copy as which it was made. */
  readonly version: number
  readonly reply: BytesReply
}

/** Answers by their target (path and query), valid while no row of the table has changed. */
export class Answers {
  private readonly answers: LruCache<Answer>

  constructor(bytesMax: number) {
    this.answers = new LruCache(bytesMax, ({ reply }, target) => REPLY_BYTES + reply.body.length + 2 * target.length)
  }

  /** Returns whether the target was answered before, and so is valid. */
  knows(target: string): boolean {
    return this.answers.get(target) !== undefined
  }

  /** The answer to this target as of the copy; null: there is none. */
  get(target: string, { version }: TableCopy): Reply | null {
    const answer = this.answers.get(target)
    return answer?.version === version ? own(answer.reply) : null
  }

  /** Keeps an answer that was made as of the copy, and returns one to send. */
  keep(target: string, { version }: TableCopy, reply: BytesReply): Reply {
    this.answers.set(target, { version, reply })
    return own(reply)
  }
}

/** With headers of its own, since each sending adds some. */
function own(reply: BytesReply): Reply {
  return { ...reply, headers: { ...reply.headers } }
}
