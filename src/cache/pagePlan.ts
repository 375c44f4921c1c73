import type { FoundPage } from '../columns/foundPage.ts'
import type { TableCopy } from '../columns/tableCopy.ts'
import { compileRows, compileRowsById, compileSnapshot } from '../compile/list.ts'
import { compilePageFromEnd, type End } from '../compile/pageFromEnd.ts'
import type { Batchable } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { CodedRows } from '../respond/codedRows.ts'
import type { Baseline, TotalAtSnapshot } from './entries.ts'
import { unseenBy } from './freshness.ts'
import { touches } from './selection.ts'

const ALWAYS = () => true

/** How the rows of a page are found without counting all that lie before them. */
export interface PagePlan {
  readonly statement: Batchable
  /** Set where the statement asks for these rows, and gets them in no order. */
  readonly ids: readonly number[] | null
  /** Whether it led to the page under the snapshot that the statement ran under, of which it got these rows, in their order. */
  holds(atSnapshot: TotalAtSnapshot, rows: readonly Row[]): boolean
}

/** Where columns say which rows lie on the page; null: they do not, or the database finds them sooner. */
export function pageInColumns(query: ListQuery, { columns }: Baseline): FoundPage | null {
  return query.seek === null && !isShortWalk(query) ? (columns?.page(query) ?? null) : null
}

/** By ids that columns said; else counted from the beginning or the end, whichever is nearer. */
export function planPage(entity: Entity, query: ListQuery, baseline: Baseline, found: FoundPage | null): PagePlan {
  if (found !== null) return planByIds(entity, found, baseline)
  const { page, pageSize, seek } = query
  const total = baseline.total as number
  if (seek !== null || page === 1) return { statement: compileRows(entity, query), ids: null, holds: ALWAYS }
  const offset = (page - 1) * pageSize
  const size = Math.min(pageSize, Math.max(total - offset, 0))
  const rest = Math.max(total - offset - size, 0)
  if (offset <= rest) return fromEnd('first', offset, pageSize, ALWAYS)
  return fromEnd('last', rest, size, (atSnapshot) => atSnapshot.total === total)

  function fromEnd(end: End, skip: number, rows: number, holds: PagePlan['holds']): PagePlan {
    return { statement: compilePageFromEnd(entity, query, end, skip, rows), ids: null, holds }
  }
}

/** The first page of all rows, in the order of an index: the database reads as many rows as it answers. */
function isShortWalk({ filters, sorts, page }: ListQuery): boolean {
  return page === 1 && filters.length === 0 && sorts.length <= 1 && sorts.every(({ property }) => property.indexed)
}

function planByIds(entity: Entity, { ids, rows: coded }: FoundPage, { selection, columns }: Baseline): PagePlan {
  const { snapshot } = columns as TableCopy
  return {
    statement: ids.length === 0 ? compileSnapshot() : compileRowsById(entity, ids),
    ids,
    // The rows lie where they lay if nothing of the selection has changed that the columns had not; nor have they
    // by writes from elsewhere that are not known yet.
    holds: ({ seen }, rows) =>
      !unseenBy(snapshot, seen).some((change) => touches(selection, change)) && areAs(entity, rows, coded),
  }
}

/** Whether these rows, each behind a snapshot, are as they were in columns. */
function areAs({ properties }: Entity, rows: readonly Row[], coded: CodedRows): boolean {
  return rows.every((row, index) => properties.every((_, place) => row[1 + place] === coded.print(index, place)))
}
