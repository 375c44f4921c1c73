import { Abandoned } from '../execute/listReads.ts'
import type { Reply } from '../respond/reply.ts'
import type { Baseline } from './entries.ts'
import type { ListCache } from './listCache.ts'
import { countList } from './listCounts.ts'

/** A reply that is being made, and the baseline it was asked for after. */
interface Asked {
  readonly baseline: Baseline
  readonly reply: Promise<Reply>
}

/** Lists that are being answered: an equal request that comes meanwhile has the same answer. */
export class EqualLists {
  private readonly asked = new Map<string, Asked>()

  constructor(private readonly cache: Pick<ListCache<Reply>, 'isFresh'>) {}

  /** The answer that is being made; null: there is none, or none that is as good as one that is asked for now. */
  join(key: string): Promise<Reply | null> | null {
    const asked = this.asked.get(key)
    return asked !== undefined && this.cache.isFresh(asked.baseline) ? this.answerOf(asked) : null
  }

  private async answerOf({ reply }: Asked): Promise<Reply | null> {
    const made = await reply.catch(nullIfAbandoned)
    if (made === null) return null
    countList('equal')
    return copyOf(made)
  }

  /** The reply, which equal requests share until it is made. */
  async share(key: string, baseline: Baseline, reply: Promise<Reply>): Promise<Reply> {
    const asked = { baseline, reply }
    this.asked.set(key, asked)
    try {
      return copyOf(await reply)
    } finally {
      if (this.asked.get(key) === asked) this.asked.delete(key)
    }
  }
}

/** Its client has left, and others have not. @throws any other error */
function nullIfAbandoned(error: unknown): null {
  if (error instanceof Abandoned) return null
  throw error
}

/** Its headers are another object, since every answer adds its own. */
export function copyOf(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers } }
}
