// Conditions of a table's filters. A filter on rows that a reference leads to becomes a condition on the ids of these rows.
import type { Filter, Property, View } from '../model/entity.ts'
import { isOfOtherRows, matchesNone } from '../model/query.ts'
import { ChainSearch } from './chainRows.ts'
import type { ColumnStore } from './columnStore.ts'
import type { ConditionBitmaps } from './conditionBitmaps.ts'
import {
  type Coded,
  type ColumnCondition,
  type Condition,
  conditionsOf,
  type KnownTexts,
  keyOf,
  leavesOf,
  type Reason,
  type ReferredRows,
  type UnionCondition,
} from './conditions.ts'
import { FewIds, type IdRange, IdSet, type Ids, idRangeOf } from './idSet.ts'
import { type Indexes, IndexMissing } from './indexes.ts'
import { relatedFilter } from './pathFilters.ts'
import type { TableChanges } from './tableChanges.ts'
import type { RowConditions, Tables } from './tables.ts'

interface ConditionParts {
  readonly coded: Coded
  readonly store: ColumnStore
  readonly indexes: Indexes
  readonly bitmaps: ConditionBitmaps
  readonly texts: KnownTexts
  readonly changes: TableChanges
}

/** Filters by paths that begin with the same reference, and therefore apply to the same row. */
interface PathFilters {
  readonly reference: Property
  readonly view: View
  /** Filters of the row to which the reference leads. */
  readonly filters: Filter[]
}

export class TableConditions implements RowConditions {
  constructor(private readonly parts: ConditionParts) {}

  /**
   * Returns the conditions of filters, or the reason why codes cannot decide them. The conditions are valid until this or another
   * table changes.
   */
  of(filters: readonly Filter[], tables: Tables): Condition[] | Reason {
    const { coded, texts } = this.parts
    if (!filters.some((filter) => filter.either || isOfOtherRows(filter))) return conditionsOf(coded, filters, texts)
    const own: Filter[] = []
    const unions: Filter[] = []
    const chains: Filter[] = []
    const paths: PathFilters[] = []
    for (const filter of filters) {
      if (filter.either) {
        unions.push(filter)
        continue
      }
      const { related } = filter.property
      if (related === null) {
        if (filter.operator.isChain) chains.push(filter)
        else own.push(filter)
        continue
      }
      const { reference, view } = related
      const known = paths.find((one) => one.reference === reference && one.view === view)
      if (known) known.filters.push(relatedFilter(filter))
      else paths.push({ reference, view, filters: [relatedFilter(filter)] })
    }
    const conditions = conditionsOf(coded, own, texts)
    if (typeof conditions === 'string') return conditions
    const others = [
      ...chains.map((chain) => this.ofChain(chain, tables)),
      ...paths.map((path) => this.ofPath(path, tables)),
      ...unions.map((union) => this.ofUnion(union, tables)),
    ]
    const all: Condition[] = conditions
    for (const other of others) {
      if (typeof other === 'string') return other
      all.push(other)
    }
    return all
  }

  private ofUnion({ either = [] }: Filter, tables: Tables): UnionCondition | Reason {
    const alternatives: Condition[][] = []
    for (const filters of either) {
      const own = this.of(filters, tables)
      if (typeof own === 'string') return own
      alternatives.push(own)
    }
    const keys = alternatives.map((own) => ` ${own.length}${keyOf(own)}`)
    return { either: alternatives, key: `either${keys.join('')}` }
  }

  private ofChain({ property, value, chain }: Filter, tables: Tables): ColumnCondition | Reason {
    const { coded, store } = this.parts
    if (!chain) throw new Error(`a chain of ${property.name} without its rows`)
    const column = coded.entity.properties.indexOf(property)
    if (coded.uncoded[column] > 0) return 'values'
    const visible = this.of(chain.filters, tables)
    if (typeof visible === 'string') return visible
    const id = Number(property.kind.printFilter(value as string))
    // If no row refers to this id, the range of ids need not include it.
    const isReferred = id >= store.leastOf(column) && id <= store.greatestOf(column)
    const range = idRangeOf(store, isReferred ? id : null)
    if (range === null) return 'related'
    const rows = new ChainRows(this.parts, { id: isReferred ? id : null, range, column, visible })
    return referring(column, rows, false)
  }

  private ofPath({ reference, view, filters }: PathFilters, tables: Tables): ColumnCondition | Reason {
    const { coded } = this.parts
    const column = coded.entity.properties.indexOf(reference)
    if (coded.uncoded[column] > 0) return 'values'
    const other = tables(view.table)
    if (other === undefined) return 'related'
    // If all filters match "no value", rows without a reference match, too. Then the condition is a complement: it excludes the
    // rows whose referred row fails a filter.
    const isComplement = filters.every(matchesNone)
    const rows = isComplement
      ? other.conditions.rowsOf(view.filters, filters, tables)
      : other.conditions.rowsOf([...filters, ...view.filters], [], tables)
    if (typeof rows === 'string') return rows
    return referring(column, rows, isComplement)
  }

  rowsOf(filters: readonly Filter[], but: readonly Filter[], tables: Tables): ReferredRows | Reason {
    const range = idRangeOf(this.parts.store)
    if (range === null) return 'related'
    const met = this.of(filters, tables)
    if (typeof met === 'string') return met
    const unmet = this.of(but, tables)
    if (typeof unmet === 'string') return unmet
    return new ConditionRows(this.parts, range, met, unmet)
  }
}

/** Returns the condition that a reference leads to one of these rows; with `isComplement`, to none of them. */
function referring(column: number, rows: ReferredRows, isComplement: boolean): ColumnCondition {
  return {
    column,
    by: 'codes',
    least: Number.NEGATIVE_INFINITY,
    greatest: Number.POSITIVE_INFINITY,
    among: null,
    referred: rows,
    isComplement,
    key: `${column} ${isComplement ? '!' : ''}.${rows.key}`,
    codesEnd: Number.POSITIVE_INFINITY,
  }
}

/** Rows that meet all conditions in `met`. If `unmet` has conditions, rows that meet all of these are left out. */
class ConditionRows implements ReferredRows {
  readonly key: string
  readonly version: string
  private found: Ids | null = null

  constructor(
    private readonly parts: ConditionParts,
    private readonly range: IdRange,
    private readonly met: readonly Condition[],
    private readonly unmet: readonly Condition[],
  ) {
    const all = [...met, ...unmet]
    this.key = `${met.length}${keyOf(all)}`
    this.version = versionOf(parts, all)
  }

  /** @throws KernelFull; IndexMissing */
  ids(): Ids {
    this.found ??= this.find()
    return this.found
  }

  private find(): Ids {
    const { store, bitmaps } = this.parts
    const few = this.unmet.length === 0 ? bitmaps.slotsOf(this.met) : null
    if (few !== null) {
      const ids = Array.from(few, (slot) => store.idAt(slot))
      return new FewIds(
        ids.sort((one, other) => one - other),
        this.range,
      )
    }
    // These bitmaps are reserved, because the shared ones may be in use: the list that needs these ids may be a list of the same
    // table.
    const buffers = [store.reserveBitmap(), store.reserveBitmap(), store.reserveBitmap()] as const
    try {
      const met = bitmaps.rowsOf(this.met, buffers[0], buffers[1])
      if (met === null) throw new IndexMissing()
      if (this.unmet.length === 0) return bitmaps.writer.idsOf(met, this.range)
      const unmet = bitmaps.rowsOf(this.unmet, buffers[2], buffers[1])
      if (unmet === null) throw new IndexMissing()
      const count = store.kernel.wasm.andNot(met.bits, unmet.bits, buffers[0], store.bitmapBytes)
      return bitmaps.writer.idsOf({ bits: buffers[0], count }, this.range)
    } finally {
      for (const bits of buffers) store.freeBitmap(bits)
    }
  }
}

interface ChainTop {
  /** Id of the row at which chains end; null if no row refers to it. */
  readonly id: number | null
  readonly range: IdRange
  readonly column: number
  /** Conditions of the rows through which chains may lead. */
  readonly visible: readonly Condition[]
}

/** A row, and all rows whose chain of references leads to it. */
class ChainRows implements ReferredRows {
  readonly key: string
  readonly version: string
  private found: Ids | null = null

  constructor(
    private readonly parts: ConditionParts,
    private readonly top: ChainTop,
  ) {
    const { id, column, visible } = top
    this.key = `under ${id} ${column}${keyOf(visible)}`
    this.version = versionOf(parts, visible, column)
  }

  /** @throws KernelFull; IndexMissing */
  ids(): Ids {
    this.found ??= this.find()
    return this.found
  }

  private find(): IdSet {
    const { id, range, column, visible } = this.top
    if (id === null) return IdSet.empty(range)
    const { store, indexes, bitmaps } = this.parts
    const index = indexes.want(column, 'codes')
    if (visible.length === 0) return new ChainSearch({ store, column, range, visible: null }).find(id, index)
    const buffers = [store.reserveBitmap(), store.reserveBitmap()] as const
    try {
      const rows = bitmaps.rowsOf(visible, ...buffers)
      if (rows === null) throw new IndexMissing()
      return new ChainSearch({ store, column, range, visible: rows.bits }).find(id, index)
    } finally {
      for (const bits of buffers) store.freeBitmap(bits)
    }
  }
}

/** Returns a text that stays the same only while the same rows meet the conditions and have the same values in the columns. */
function versionOf({ changes }: ConditionParts, conditions: readonly Condition[], ...columns: readonly number[]): string {
  const leaves = conditions.flatMap(leavesOf)
  const own = changes.versionOf([...columns, ...leaves.map(({ column }) => column)])
  return [own, ...leaves.flatMap(({ referred }) => referred?.version ?? [])].join(' ')
}
