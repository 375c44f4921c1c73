// Compares lists of a random table that columns find with the same lists by a plain predicate.
import type { ColumnTable } from '../../src/columns/columnTable.ts'
import type { Reason } from '../../src/columns/conditions.ts'
import type { FoundPage } from '../../src/columns/listSearch.ts'
import type { Way } from '../../src/columns/pageSearch.ts'
import { isSurelyFolded } from '../../src/model/fold.ts'
import { JsonWriter } from '../../src/model/jsonWriter.ts'
import { type Filter, type FiltersAndSorts, type ListQuery, withoutUnions } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { rowWriter } from '../../src/respond/json.ts'
import { codedWriter } from '../../src/respond/page.ts'
import { caller, idsOf, listOf, type RandomTable } from './randomTable.ts'

/** Maximum attempts to find a list while indexes are built: each attempt may begin to build one more index. */
const BUILDS_MAX = 8
/** Maximum attempts to find a list while the order of texts is read. */
const READS_MAX = 5_000

/** Number of lists by the way in which they were found. */
export type Ways = Record<Way, number>

/** Finds a list after its texts are known. `isPatient`: waits until the indexes that the list needs are built, too. */
export async function findList(columns: ColumnTable, query: ListQuery, isPatient = true): Promise<FoundPage | Reason> {
  let builds = 0
  let reads = 0
  for (;;) {
    await columns.prepare(query, caller)
    const found = columns.lists.find(query)
    if (found === 'index' && isPatient && builds++ < BUILDS_MAX) await columns.indexesBuilt()
    else if (found === 'texts' && !isUnsure(query) && reads++ < READS_MAX) await Bun.sleep(1)
    else return found
  }
}

/** Returns whether only PostgreSQL knows how an operand is folded. */
export function isUnsure({ filters }: Pick<ListQuery, 'filters'>): boolean {
  return withoutUnions(filters).some(({ operator, value }) => operator.folded !== null && !isSurelyFolded(value as string))
}

/** Compares random lists of columns with lists of the plain table, and counts the lists by the way in which they were found. */
export class ListComparison {
  readonly ways: Ways = { index: 0, walk: 0, checkpoints: 0, gathered: 0 }
  /** Number of lists that need an index which was not built yet. */
  early = 0
  /** Number of lists of rows before or after a position. */
  seeks = 0
  private readonly asked: FiltersAndSorts[] = []

  constructor(
    private readonly table: RandomTable,
    private readonly columns: ColumnTable,
  ) {}

  async differences(lists: number): Promise<string[]> {
    const found: string[] = []
    for (let left = lists; left > 0 && found.length < 3; left--) {
      const { random } = this.table
      // Some lists are repeated after rows have changed, so that their bitmaps are used again.
      const isAsked = this.asked.length > 0 && random.chance(40)
      const query = isAsked ? random.pick(this.asked) : { filters: this.table.filters(), sorts: this.table.sorts() }
      if (!isAsked) this.asked.push(query)
      found.push(...(await this.differencesOf(query)))
    }
    return found
  }

  /** Compares some pages of a list. */
  async differencesOf(query: FiltersAndSorts, pages = 2): Promise<string[]> {
    const { random } = this.table
    const all = this.table.idsOf(query)
    const found: string[] = []
    // All pages have the same filters, so that their bitmaps are used again.
    for (let left = pages; left > 0; left--) {
      const pageSize = random.pick([5, 10, 50])
      const last = Math.ceil(all.length / pageSize)
      const page = random.pick([1, Math.max(1, last), last + 1, 1 + random.below(last + 1)])
      const seek = random.chance(40) && this.table.rows.length > 0 ? this.table.seek(query.sorts) : null
      const fault = await this.faultOf(listOf(query, page, pageSize, seek), all)
      if (fault !== null)
        found.push(`${shown(query)} ${seek ? `${seek.side} ${seek.position}` : `page ${page} of ${pageSize}`}: ${fault}`)
    }
    return found
  }

  private async faultOf(query: ListQuery, all: readonly number[]): Promise<string | null> {
    const { table, columns } = this
    const found = await findList(columns, query, table.random.chance(80))
    if (found === 'index') {
      this.early++
      return null
    }
    if (typeof found === 'string') return this.isExcused(query, found) ? null : `nothing is found because of its ${found}`
    this.ways[found.way]++
    const wanted = this.wanted(query, all)
    if (found.total !== all.length) return `${found.total} rows, not ${all.length}, by ${found.way}`
    const ids = idsOf(found)
    if (ids.join() !== wanted.join()) return `${ids}, not ${wanted}, by ${found.way}`
    return misprinted(table, found)
  }

  private wanted({ page, pageSize, seek, sorts }: ListQuery, all: readonly number[]): readonly number[] {
    if (seek === null) return all.slice((page - 1) * pageSize, page * pageSize)
    this.seeks++
    const { before, same } = this.table.positionOf(all, sorts, seek.position)
    // One more row than the page tells whether there is another page.
    if (seek.side === 'after') return all.slice(before + same, before + same + pageSize + 1)
    return all.slice(Math.max(0, before - pageSize - 1), before)
  }

  private isExcused(query: ListQuery, reason: Reason): boolean {
    if (reason === 'values') return this.table.hasUncoded(query)
    return isUnsure(query)
  }
}

function shown({ filters, sorts }: FiltersAndSorts): string {
  return `${shownFilters(filters)} by ${sorts.map(({ property, descending }) => `${descending ? '-' : ''}${property.name}`).join()}`
}

function shownFilters(filters: readonly Filter[]): string {
  const shown = filters.map(({ property, operator, value, either }) =>
    either ? `(${either.map(shownFilters).join(' or ')})` : `${property.name}${operator.sign}${value}`,
  )
  return shown.join(' & ')
}

/** Returns a row of the page whose text or JSON differs from the row of the table; null if all rows are equal. */
export function misprinted(table: RandomTable, page: FoundPage): string | null {
  const { entity } = table
  const writer = new JsonWriter()
  for (const [index, id] of idsOf(page).entries()) {
    const own = table.row(id) as Row
    const printed = own.map((_, column) => page.rows.print(index, column))
    if (JSON.stringify(own) !== JSON.stringify(printed)) return `${printed} is printed for ${own}`
    codedWriter(wholeView(entity), null)(page.rows, index, writer)
    const written = new TextDecoder('utf-8', { ignoreBOM: true }).decode(writer.take())
    if (written !== rowWriter(wholeView(entity))(own)) return `${written} is written for ${own}`
  }
  return null
}
