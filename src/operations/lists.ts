import type { Look, Sight } from '../cache/entries.ts'
import { indexKey, type ListCache } from '../cache/listCache.ts'
import { Recent } from '../cache/recent.ts'
import { type Ordering, orderingOf, selectionOf } from '../cache/selection.ts'
import { compileAnchors, compileFromAnchor } from '../compile/anchors.ts'
import { compileList, compileRows, isNarrow } from '../compile/list.ts'
import type { Start } from '../compile/seek.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import type { Statement } from '../model/sql.ts'
import { parseList } from '../parse/list.ts'
import { type Found, respondPage } from '../respond/page.ts'
import type { Reply, TextReply } from '../respond/reply.ts'
import type { ReadFence } from './readFence.ts'

/** Of a reply beside its body, roughly. */
const REPLY_BYTES = 1_500
/** So many rows are cheap to leave out. */
const SKIP_MAX = 1_024
/** Notes of one order: at most so many, and none nearer to another than this. */
const ANCHORS_MAX = 4_096
const STEP_MIN = 256
/** Fewer rows of one other row are counted sooner than remembered. */
const WIDE_MIN = 1_000
const WIDE_BYTES_MAX = 256 * 1024
/** What has moved meanwhile is looked for again; then the database counts. */
const ATTEMPTS_MAX = 3

const BEGINNING: Start = { side: 'behind', position: null }
const END: Start = { side: 'before', position: null }

/** What lists are told from, and what says which writes they may not know of. */
export interface Knowledge {
  readonly views: ListCache<Reply>
  readonly fence: ReadFence
  /** The bit of the entity's table in the marks of writes. */
  readonly tables: number
  /** Those of the tables that it copies from. */
  readonly copied: number
}

/** From where the rows of a page are found without counting all that lie before them. */
interface Route {
  readonly statement: Statement
  /** Whether it still led to those rows, with what the answer has seen. */
  holds(sight: Sight): boolean
}

/** What was found, and what of it can be kept: null, nothing. */
interface Kept extends Found {
  readonly look: Look | null
  readonly snapshot: string | null
}

/** The lists of one entity: from memory where that is certain to be true, else from the database. */
export class Lists {
  /** Asked for, and not answered: whoever asks the same meanwhile gets the same answer. */
  private readonly asked = new Map<string, { look: Look; reply: Promise<Reply> }>()
  /** By selection: being counted. */
  private readonly counting = new Map<string, Promise<unknown>>()
  /** By selection and order: positions being read, and whether that came to something. */
  private readonly noting = new Map<string, Promise<boolean>>()
  /** Narrow lists that were found to be of many rows. */
  private readonly wide = new Recent<true>(WIDE_BYTES_MAX, (_, key) => 64 + 2 * key.length)

  /** Without `knowledge` every list is read from the database. */
  constructor(
    private readonly entity: Entity,
    private readonly database: Database,
    private readonly cursors: Cursors,
    private readonly knowledge: Knowledge | null,
  ) {}

  /** `text`: the query string. `url`: what links begin with. @throws ApiError */
  read(text: string, url: string): Promise<Reply> | Reply {
    const key = `${url}?${text}`
    const ready = this.knowledge?.views.page(key)
    return ready ? copyOf(ready) : this.readAnew(key, text, url)
  }

  private async readAnew(key: string, text: string, url: string): Promise<Reply> {
    const { knowledge } = this
    if (!knowledge) {
      const query = parseList(this.entity, text, this.cursors)
      const rows = await this.database.read(compileList(this.entity, query))
      return this.respond(query, { rows, total: Number(rows[0]?.[0] ?? 0) }, url)
    }
    const { views } = knowledge
    const before = this.asked.get(key)
    if (before && views.isFresh(before.look)) return copyOf(await before.reply)
    const query = parseList(this.entity, text, this.cursors)
    const isQuick = isNarrow(query) && this.wide.get(key) === undefined
    const look = isQuick ? null : views.look(selectionOf(this.entity, query.filters, knowledge.tables))
    if (!look) {
      const found = await this.count(knowledge, query, null)
      if (isQuick && found.total >= WIDE_MIN) this.wide.set(key, true)
      return this.respond(query, found, url)
    }
    const asked = { look, reply: this.ask(knowledge, key, query, look, url) }
    this.asked.set(key, asked)
    try {
      return copyOf(await asked.reply)
    } finally {
      if (this.asked.get(key) === asked) this.asked.delete(key)
    }
  }

  private async ask(knowledge: Knowledge, key: string, query: ListQuery, first: Look, url: string): Promise<Reply> {
    const { look, snapshot, ...found } = await this.find(knowledge, query, first)
    const reply = encoded(this.respond(query, found, url))
    if (look) knowledge.views.keepPage(key, look, snapshot, reply, REPLY_BYTES + reply.body.length)
    return reply
  }

  private respond(query: ListQuery, found: Found, url: string): TextReply {
    return respondPage(this.entity, query, found, url, this.cursors)
  }

  private async find(knowledge: Knowledge, query: ListQuery, first: Look): Promise<Kept> {
    const { views, fence, tables } = knowledge
    let look: Look | null = first
    const counting = this.counting.get(first.selection.key)
    if (first.total === null && counting) {
      // Of another page or order, whose failure is not this one's.
      await counting.catch(() => undefined)
      look = views.look(first.selection)
    }
    for (let attempt = 1; look?.total != null && attempt <= ATTEMPTS_MAX; attempt++) {
      const route = this.routeTo(views, query, look, look.total)
      if (route === null) {
        if (!(await this.notes(views, query, look, look.total))) break
        look = views.look(look.selection)
        continue
      }
      const rows = await this.database.read(route.statement)
      const snapshot = rows[0]?.[0] ?? null
      // All there are: no need to know what others are writing.
      if (query.seek === null && query.page === 1 && rows.length < query.pageSize) {
        await fence.rows(tables, snapshot)
        return { rows, total: rows.length, look, snapshot }
      }
      const sight = snapshot === null ? null : await views.sight(look, snapshot)
      if (sight === null) break
      if (route.holds(sight)) return { rows, total: sight.total, look, snapshot }
      look = views.look(look.selection)
    }
    return this.count(knowledge, query, look)
  }

  /** The total and the page in one statement; what it counts is known from then on. */
  private async count({ views, fence, tables }: Knowledge, query: ListQuery, look: Look | null): Promise<Kept> {
    const reading = this.database.read(compileList(this.entity, query, 'totalAndSnapshot'))
    const rows = await (look && look.total === null ? shared(this.counting, look.selection.key, reading) : reading)
    const [total = '0', snapshot = null] = rows[0]?.[0]?.split(' ') ?? []
    await fence.rows(tables, snapshot)
    if (look && snapshot !== null) views.learnTotal(look, Number(total), snapshot)
    return { rows, total: Number(total), look, snapshot }
  }

  /** Null: every known place is too far. */
  private routeTo(views: ListCache<Reply>, query: ListQuery, look: Look, total: number): Route | null {
    const { entity } = this
    const { page, pageSize, seek } = query
    if (seek !== null || page === 1) return { statement: compileRows(entity, query), holds: () => true }
    const offset = (page - 1) * pageSize
    const route = (start: Start, skip: number, size: number, holds: Route['holds']): Route => {
      return { statement: compileFromAnchor(entity, query, start, skip, size), holds }
    }
    const step = stepFor(total, views.anchorsMax)
    if (offset <= Math.max(SKIP_MAX, step)) return route(BEGINNING, offset, pageSize, () => true)
    const size = Math.min(pageSize, Math.max(total - offset, 0))
    const skip = Math.max(total - offset - size, 0)
    if (skip <= SKIP_MAX) return route(END, skip, size, (sight) => sight.total === total)
    const ordering = orderingOf(entity, query.sorts)
    const place = views.anchorBefore(look, ordering, offset)
    if (place !== null && offset - place.rows <= 2 * step) {
      const start: Start = { side: 'behind', position: place.position }
      return route(start, offset - place.rows, pageSize, (sight) => views.isUnshifted(look, ordering, place, sight))
    }
    return null
  }

  /**
   * Learns positions in the order of the page, once for all who need them meanwhile: one scan of an index. False: they
   * are not worth it yet, or it came to nothing.
   */
  private notes(views: ListCache<Reply>, query: ListQuery, look: Look, total: number): Promise<boolean> | boolean {
    const ordering = orderingOf(this.entity, query.sorts)
    const key = indexKey(look.selection, ordering)
    const noting = this.noting.get(key)
    if (noting) return noting
    return views.isIndexWorthwhile(look, ordering) && shared(this.noting, key, this.note(views, query, look, ordering, total))
  }

  private async note(views: ListCache<Reply>, query: ListQuery, look: Look, ordering: Ordering, total: number) {
    const step = stepFor(total, views.anchorsMax)
    const rows = await this.database.read(compileAnchors(this.entity, query, step)).catch((error) => {
      if (error instanceof ApiError) return null
      throw error
    })
    const snapshot = rows?.[0]?.[0]
    // Too much for one statement, or the database is away: pages are found as before.
    const noted = rows && snapshot ? { positions: rows.map((row) => row.slice(1)), step, snapshot } : null
    return views.learnIndex(look, ordering, noted)
  }
}

/** The promise, found under `key` until it is settled. */
function shared<T>(promises: Map<string, Promise<T> | Promise<unknown>>, key: string, promise: Promise<T>): Promise<T> {
  promises.set(key, promise)
  const forget = () => void (promises.get(key) === promise && promises.delete(key))
  promise.then(forget, forget)
  return promise
}

/** How many rows lie from one noted position to the next. Few are possible, since each is a statement's text. */
function stepFor(total: number, anchorsMax: number): number {
  return Math.max(STEP_MIN, 2 ** Math.ceil(Math.log2(total / Math.min(ANCHORS_MAX, anchorsMax))))
}

/** As bytes, which each answer would make anew from a text. */
function encoded(reply: TextReply) {
  return { ...reply, body: Buffer.from(reply.body) }
}

/** Its headers are another object, since every answer adds its own. */
function copyOf(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers } }
}
