import { describe, expect, test } from 'bun:test'
import type { Change } from '../../src/changes/change.ts'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { Kernel } from '../../src/columns/kernel.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Entity } from '../../src/model/entity.ts'
import { Random } from '../support/random.ts'
import { RandomTable } from '../support/randomTable.ts'

const SEED = Number(process.env.COLUMNS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const MEMORY = 256 * 2 ** 20

console.log(`COLUMNS_SEED=${SEED}`)

/** Everything that differs between the columns and the predicate; the changes in `missing` are not in the columns yet. */
function differences(table: RandomTable, columns: ColumnTable, missing: readonly Change[]): string[] {
  return table.random
    .times(60, () => table.filters(columns))
    .flatMap(({ filters, bounds }) => {
      const total = table.count(filters) - table.sum(filters, missing)
      const counted = columns.count(filters, bounds)
      const shown = filters
        .map(({ property, operator, value }) => `${property.name}${operator.prefix}${value}`)
        .join(' & ')
      if (counted !== total) return [`${shown}: ${counted}, not ${total}`]
      if (missing.length > 0) return []
      const { sorts, offset, size } = table.place(total)
      const page = columns.page(filters, sorts, offset, size, bounds)
      const ids = table.ids(filters, sorts).slice(offset, offset + size)
      if (page === null) return table.hasOdd(filters) ? [] : [`${shown}: no page`]
      const sorted = sorts.map(({ property, direction }) => `${property.name} ${direction}`).join()
      return page.ids.join() === ids.join() && page.total === total
        ? []
        : [`${shown} by ${sorted} from ${offset}: ${page.total} ${page.ids}, not ${total} ${ids}`]
    })
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const left = [...items]
  return items.map(() => left.splice(random.below(left.length), 1)[0] as T)
}

for (const hasVectors of [true, false])
  describe(hasVectors ? 'with vectors' : 'without vectors', () => {
    for (const entity of [absence, company] as Entity[])
      test(`${entity.plural}: counts and pages are the predicate's, whatever the order of changes`, () => {
        const random = new Random(SEED)
        const table = new RandomTable(entity, random, 1_500)
        const columns = new ColumnTable(entity, new Kernel(MEMORY, hasVectors))
        for (const row of table.rows) columns.add(row)
        table.rank(columns)
        expect(differences(table, columns, [])).toEqual([])
        for (let round = 0; round < 6; round++) {
          const changes = shuffled(random, table.change(150))
          const half = random.below(changes.length)
          columns.take(changes.slice(0, half))
          table.rank(columns)
          expect(differences(table, columns, changes.slice(half))).toEqual([])
          columns.take(changes.slice(half))
          table.rank(columns)
          expect([columns.rows, columns.waiting]).toEqual([table.rows.length, 0])
          expect(differences(table, columns, [])).toEqual([])
        }
      })
  })
