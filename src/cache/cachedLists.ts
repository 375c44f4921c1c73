import type { ReadFence } from '../changes/readFence.ts'
import { compileList, isNarrow, ownerOf } from '../compile/list.ts'
import { Abandoned, type ListReads } from '../execute/listReads.ts'
import type { Asker } from '../model/asker.ts'
import type { Entity } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import type { ListQuery } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { Found } from '../respond/page.ts'
import type { BytesReply, Reply } from '../respond/reply.ts'
import type { Baseline } from './entries.ts'
import { copyOf, EqualLists } from './equalLists.ts'
import type { ListCache } from './listCache.ts'
import { countList } from './listCounts.ts'
import type { ListSource } from './listSource.ts'
import { type PagePlan, pageInColumns, planPage } from './pagePlan.ts'
import { Pending } from './pending.ts'
import { selectionOf } from './selection.ts'

/** An estimate, in bytes: a reply beside its body. */
const REPLY_BYTES = 1_500
/** A list of one other row's with fewer rows is counted sooner than kept. */
const WIDE_MIN = 1_000
const WIDE_BYTES_MAX = 256 * 1024
/** Where the page has moved meanwhile it is looked for again, so many times in all; then the database counts. */
const ATTEMPTS_MAX = 3

/** The parts that lists of one entity are cached with. */
export interface CacheAccess {
  readonly cache: ListCache<Reply>
  readonly fence: ReadFence
  /** The bit of the entity's table in the flags of in-flight writes. */
  readonly tableMask: number
}

/** What was found, and what is needed to keep it; null: it is not kept. */
interface Located extends Found {
  readonly baseline: Baseline | null
  readonly snapshot: string | null
}

/**
 * Lists from the cache where it is certain to be right, else from the database.
 *
 * What is kept is right only by the order of these steps. The baseline is taken **before** the statement is sent (step 6 of
 * docs/cache.md); the statement brings its snapshot; the total under that snapshot is asked for **after** the answer, once
 * in-flight writes that it may show are published (steps 11 and 12); and where the plan does not hold under it, everything
 * begins again with a new baseline (step 14).
 */
export class CachedLists implements ListSource {
  private readonly equals: EqualLists
  /** By selection: totals that are being counted. */
  private readonly counting = new Pending<unknown>()
  /** Narrow lists that were found to have many rows. */
  private readonly wide = new LruCache<true>(WIDE_BYTES_MAX, (_, key) => 64 + 2 * key.length)

  constructor(
    private readonly entity: Entity,
    private readonly reads: ListReads,
    private readonly access: CacheAccess,
  ) {
    this.equals = new EqualLists(access.cache)
  }

  kept(key: string): Reply | null {
    const reply = this.access.cache.page(key)
    if (reply === null) return null
    countList('page')
    return copyOf(reply)
  }

  async find(key: string, query: ListQuery, asker: Asker, respond: (found: Found) => BytesReply): Promise<Reply> {
    const before = this.equals.join(key)
    const joined = before && (await before)
    if (joined !== null) return joined
    if (!isNarrow(query) || this.wide.get(key) !== undefined) return this.findPrepared(key, query, asker, respond)
    const found = await this.countAndRead(query, null, asker)
    if (found.total >= WIDE_MIN) this.wide.set(key, true)
    return respond(found)
  }

  /** Waits first for what the list then needs not ask the database; a copy that has lost track may be found so only after that. */
  private async findPrepared(
    key: string,
    query: ListQuery,
    asker: Asker,
    respond: (found: Found) => BytesReply,
    isAgain = false,
  ): Promise<Reply> {
    const { cache, tableMask } = this.access
    const preparing = cache.prepare(this.entity, query, tableMask)
    if (preparing !== null) {
      const hasWaited = await preparing
      // Nothing is awaited between this and the baseline: that takes of the time which the next list is asked about.
      const turn = cache.turn(this.entity, asker.key)
      if (turn !== null) await turn
      if ((hasWaited || turn !== null) && asker.request.signal.aborted) throw new Abandoned()
      const meanwhile = this.equals.join(key)
      const reply = meanwhile && (await meanwhile)
      if (reply !== null) return reply
    }
    const baseline = cache.baseline(selectionOf(this.entity, query.filters, tableMask))
    if (!baseline) return respond(await this.countAndRead(query, null, asker))
    if (!isAgain && cache.hasLostTrack(baseline)) return this.findPrepared(key, query, asker, respond, true)
    return this.equals.share(key, baseline, this.make(key, query, baseline, asker, respond))
  }

  private async make(
    key: string,
    query: ListQuery,
    first: Baseline,
    asker: Asker,
    respond: (found: Found) => BytesReply,
  ) {
    const { baseline, snapshot, ...found } = await this.locate(query, first, asker)
    const reply = respond(found)
    if (baseline) this.access.cache.keepPage(key, baseline, snapshot, reply, REPLY_BYTES + reply.body.length)
    return reply
  }

  private async locate(query: ListQuery, first: Baseline, asker: Asker): Promise<Located> {
    const { cache } = this.access
    const counting = first.total === null ? this.counting.get(first.selection.key) : undefined
    // Not awaited where there is none: a list that is asked for in the same moment must find this one's count.
    let baseline: Baseline | null = counting ? await this.afterCount(counting, first) : first
    for (let attempt = 1; baseline?.total != null && attempt <= ATTEMPTS_MAX; attempt++) {
      const found = pageInColumns(query, baseline)
      if (found !== null && cache.isState(baseline)) {
        countList('columns')
        return { rows: found.rows, total: baseline.total, baseline, snapshot: null }
      }
      const plan = planPage(this.entity, query, baseline, found)
      const located = await this.follow(plan, query, baseline, asker)
      if (located !== 'moved') {
        if (located !== null) countList(plan.ids === null ? 'total' : 'columns')
        return located ?? this.countAndRead(query, baseline, asker)
      }
      baseline = cache.baseline(baseline.selection)
    }
    return this.countAndRead(query, baseline, asker)
  }

  /** A baseline with the total that another page or order of the selection has counted. */
  private async afterCount(counting: Promise<unknown>, { selection }: Baseline): Promise<Baseline | null> {
    // The failure of that page is not this one's.
    await counting.catch(() => undefined)
    return this.access.cache.baseline(selection)
  }

  /** Reads the page by its plan. 'moved': the plan did not hold; null: the total under the page's snapshot is not known. */
  private async follow(
    plan: PagePlan,
    query: ListQuery,
    baseline: Baseline,
    asker: Asker,
  ): Promise<Located | 'moved' | null> {
    const { cache, fence, tableMask } = this.access
    if (plan.ids !== null) return this.readByIds(plan, plan.ids, baseline)
    const rows = await this.noting(baseline, this.reads.read(plan.statement, asker))
    const snapshot = rows[0]?.[0] ?? null
    // All rows there are: in-flight writes need not be published to count them.
    if (query.seek === null && query.page === 1 && rows.length < query.pageSize) {
      await fence.rows(tableMask, snapshot)
      return { rows, total: rows.length, baseline, snapshot }
    }
    const atSnapshot = snapshot === null ? null : await cache.totalAt(baseline, snapshot)
    if (atSnapshot === null) return null
    return plan.holds(atSnapshot, rows) ? { rows, total: atSnapshot.total, baseline, snapshot } : 'moved'
  }

  /** Reads rows of which it is known where they lie. 'moved', null: as `follow`. */
  private async readByIds(
    plan: PagePlan,
    ids: readonly number[],
    baseline: Baseline,
  ): Promise<Located | 'moved' | null> {
    const read = await this.reads.readQuick(plan.statement)
    const rows = inOrder(read, ids)
    const snapshot = read[0]?.[0] ?? null
    if (rows.length < ids.length || snapshot === null) return 'moved'
    const atSnapshot = await this.access.cache.totalAt(baseline, snapshot)
    if (atSnapshot === null) return null
    return plan.holds(atSnapshot, rows) ? { rows, total: atSnapshot.total, baseline, snapshot } : 'moved'
  }

  /** The total and the page in one statement; the total is kept from then on. */
  private async countAndRead(query: ListQuery, baseline: Baseline | null, asker: Asker): Promise<Located> {
    const { cache, fence, tableMask } = this.access
    const statement = compileList(this.entity, query, 'totalAndSnapshot')
    const reading = this.noting(baseline, this.reads.read(statement, asker, ownerOf(query)))
    const isNew = baseline !== null && baseline.total === null
    const rows = await (isNew ? this.counting.start(baseline.selection.key, reading) : reading)
    const [total = '0', snapshot = null] = rows[0]?.[0]?.split(' ') ?? []
    await fence.rows(tableMask, snapshot)
    countList('database')
    if (baseline && snapshot !== null) cache.learnTotal(baseline, Number(total), snapshot)
    return { rows, total: Number(total), baseline, snapshot }
  }

  /** Notes what a statement costs, above all one that took too long and was ended: others like it will cost the same. */
  private async noting(baseline: Baseline | null, reading: Promise<Row[]>): Promise<Row[]> {
    const startMs = performance.now()
    try {
      return await reading
    } finally {
      if (baseline !== null) this.access.cache.noteCost(baseline, performance.now() - startMs)
    }
  }
}

/** The rows, each behind a snapshot, in the order of these ids; without those that are not there. */
function inOrder(rows: readonly Row[], ids: readonly number[]): Row[] {
  const byId = new Map(rows.map((row) => [Number(row[1]), row]))
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined)
}
