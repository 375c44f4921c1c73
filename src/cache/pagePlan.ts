import { compileFromAnchor } from '../compile/anchors.ts'
import { compileRows, compileSnapshot } from '../compile/list.ts'
import { compileRowsById } from '../compile/rowsById.ts'
import type { Start } from '../compile/seek.ts'
import type { Entity } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import type { Statement } from '../model/sql.ts'
import type { Baseline, TotalAtSnapshot } from './entries.ts'
import { unseenBy } from './freshness.ts'
import { type IndexCache, isUnshifted } from './indexCache.ts'
import { orderingOf, touches } from './selection.ts'

/** Skipping up to 1,024 rows costs less than an index that would have to be built. */
const SKIP_MAX = 1_024
/** An index has at most so many anchors, and none nearer to another than so many rows. */
const ANCHORS_MAX = 4_096
const STEP_MIN = 256

const BEGINNING: Start = { side: 'behind', position: null }
const END: Start = { side: 'before', position: null }
const ALWAYS = () => true

/** How the rows of a page are found without counting all that lie before them. */
export interface PagePlan {
  readonly statement: Statement
  /** Set where the statement asks for these rows, and gets them in no order. */
  readonly ids: readonly number[] | null
  /** Whether it led to those rows under the snapshot that the statement ran under. */
  holds(atSnapshot: TotalAtSnapshot): boolean
}

/** By ids that columns say; else from the beginning, the end, or an anchor, whichever is near; null: an index is needed. */
export function planPage(
  entity: Entity,
  query: ListQuery,
  indexes: IndexCache,
  baseline: Baseline,
  total: number,
): PagePlan | null {
  const { page, pageSize, seek } = query
  const offset = (page - 1) * pageSize
  const byIds = seek === null && !isShortWalk(query) ? planByIds(entity, query, baseline) : null
  if (byIds !== null) return byIds
  if (seek !== null || page === 1) return { statement: compileRows(entity, query), ids: null, holds: ALWAYS }
  const from = (start: Start, skip: number, size: number, holds: PagePlan['holds']): PagePlan => {
    return { statement: compileFromAnchor(entity, query, start, skip, size), ids: null, holds }
  }
  const step = stepFor(total, indexes.anchorsMax)
  if (offset <= Math.max(SKIP_MAX, step)) return from(BEGINNING, offset, pageSize, ALWAYS)
  const size = Math.min(pageSize, Math.max(total - offset, 0))
  const skip = Math.max(total - offset - size, 0)
  if (skip <= SKIP_MAX) return from(END, skip, size, (atSnapshot) => atSnapshot.total === total)
  const ordering = orderingOf(entity, query.sorts)
  const anchor = indexes.anchorBefore(baseline, ordering, offset)
  if (anchor === null || offset - anchor.rows > 2 * step) return null
  const start: Start = { side: 'behind', position: anchor.position }
  return from(start, offset - anchor.rows, pageSize, (atSnapshot) =>
    isUnshifted(baseline, ordering, anchor, atSnapshot),
  )
}

/** The first page of all rows, in the order of an index: the database reads as many rows as it answers. */
function isShortWalk({ filters, sorts, page }: ListQuery): boolean {
  return page === 1 && filters.length === 0 && sorts.length <= 1 && sorts.every(({ property }) => property.indexed)
}

/** Null: columns do not say which rows lie on the page. */
function planByIds(entity: Entity, query: ListQuery, { selection, columns }: Baseline): PagePlan | null {
  const ids = columns?.page(query)
  if (!ids || columns === null) return null
  const { snapshot } = columns
  return {
    statement: ids.length === 0 ? compileSnapshot() : compileRowsById(entity, ids),
    ids,
    // The rows lie where they lay if nothing of the selection has changed that the columns had not.
    holds: ({ seen }) => !unseenBy(snapshot, seen).some((change) => touches(selection, change)),
  }
}

/** How many rows lie from one anchor to the next. Few numbers are possible, since each is a statement's text. */
export function stepFor(total: number, anchorsMax: number): number {
  return Math.max(STEP_MIN, 2 ** Math.ceil(Math.log2(total / Math.min(ANCHORS_MAX, anchorsMax))))
}
