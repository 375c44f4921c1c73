// Conditions of a table's filters, also of those on the rows that its references name: these are sets of ids of another table.
import type { Filter, Property, View } from '../model/entity.ts'
import { matchesNone } from '../model/query.ts'
import type { ColumnStore } from './columnStore.ts'
import type { ConditionBitmaps } from './conditionBitmaps.ts'
import { type Coded, type Condition, conditionsOf, type KnownTexts, type Reason, type ReferredRows } from './conditions.ts'
import { type IdRange, IdSet, idRangeOf } from './idSet.ts'
import { IndexMissing } from './indexes.ts'
import type { TableChanges } from './tableChanges.ts'
import type { RowConditions, Tables } from './tables.ts'

interface ConditionParts {
  readonly coded: Coded
  readonly store: ColumnStore
  readonly bitmaps: ConditionBitmaps
  readonly texts: KnownTexts
  readonly changes: TableChanges
}

/** Filters by paths that begin with the same reference: they are about the same row. */
interface PathFilters {
  readonly reference: Property
  readonly view: View
  /** Filters of the row that the reference names. */
  readonly filters: Filter[]
}

export class TableConditions implements RowConditions {
  constructor(private readonly parts: ConditionParts) {}

  /** Returns the conditions of filters; or why codes cannot decide. They hold until this or another table changes. */
  of(filters: readonly Filter[], tables: Tables): Condition[] | Reason {
    const own: Filter[] = []
    const paths: PathFilters[] = []
    for (const filter of filters) {
      const { related } = filter.property
      if (related === null) {
        own.push(filter)
        continue
      }
      const { reference, view, property } = related
      const known = paths.find((one) => one.reference === reference && one.view === view)
      if (known) known.filters.push({ ...filter, property })
      else paths.push({ reference, view, filters: [{ ...filter, property }] })
    }
    const conditions = conditionsOf(this.parts.coded, own, this.parts.texts)
    if (typeof conditions === 'string') return conditions
    for (const path of paths) {
      const condition = this.ofPath(path, tables)
      if (typeof condition === 'string') return condition
      conditions.push(condition)
    }
    return conditions
  }

  private ofPath({ reference, view, filters }: PathFilters, tables: Tables): Condition | Reason {
    const { coded } = this.parts
    const column = coded.entity.properties.indexOf(reference)
    if (coded.uncoded[column] > 0) return 'values'
    const other = tables(view.table)
    if (other === undefined) return 'related'
    // Rows without a reference match if they match all of the filters; then the others are those whose row does not.
    const isComplement = filters.every(matchesNone)
    const rows = isComplement
      ? other.conditions.rowsOf(view.filters, filters, tables)
      : other.conditions.rowsOf([...filters, ...view.filters], [], tables)
    if (typeof rows === 'string') return rows
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

/** Rows that meet some conditions, and, if there are others, not all of these. */
class ConditionRows implements ReferredRows {
  readonly key: string
  readonly version: string
  private found: IdSet | null = null

  constructor(
    private readonly parts: ConditionParts,
    private readonly range: IdRange,
    private readonly met: readonly Condition[],
    private readonly unmet: readonly Condition[],
  ) {
    const all = [...met, ...unmet]
    // With their lengths, keys do not run into each other.
    this.key = `${met.length}${all.map(({ key }) => ` ${key.length} ${key}`).join('')}`
    const own = parts.changes.versionOf(all.map(({ column }) => column))
    this.version = [own, ...all.flatMap(({ referred }) => referred?.version ?? [])].join(' ')
  }

  /** @throws KernelFull; IndexMissing */
  ids(): IdSet {
    this.found ??= this.find()
    return this.found
  }

  private find(): IdSet {
    const { store, bitmaps } = this.parts
    // Bitmaps of its own: the table may be the one that asks.
    const places = [store.reserveBitmap(), store.reserveBitmap(), store.reserveBitmap()] as const
    try {
      const met = bitmaps.rowsOf(this.met, places[0], places[1])
      if (met === null) throw new IndexMissing()
      if (this.unmet.length === 0) return IdSet.ofRows(store, this.range, met.bits, met.count)
      const unmet = bitmaps.rowsOf(this.unmet, places[2], places[1])
      if (unmet === null) throw new IndexMissing()
      const count = store.kernel.wasm.andNot(met.bits, unmet.bits, places[0], store.bitmapBytes)
      return IdSet.ofRows(store, this.range, places[0], count)
    } finally {
      for (const bits of places) store.freeBitmap(bits)
    }
  }
}
