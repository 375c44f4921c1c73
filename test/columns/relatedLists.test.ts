import { afterAll, beforeAll, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { Database } from '../../src/execute/database.ts'
import type { Property } from '../../src/model/entity.ts'
import { project } from '../../src/model/entity.ts'
import type { Filter, ListQuery } from '../../src/model/query.ts'
import type { SummaryQuery } from '../../src/model/summary.ts'
import { faultsOf } from '../support/columnInvariants.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { listOf } from '../support/randomTable.ts'
import { isUnsure, RelatedTables } from '../support/relatedTables.ts'

/** Another each time; a run is repeated with the one that it printed. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

let sql: postgres.Sql
let database: Database
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
})
afterAll(() => Promise.all([database.end(), sql.end()]))

function shown({ filters }: Pick<ListQuery, 'filters'>): string {
  return filters
    .map(({ property, operator, value, chain }) => `${shownPath(property)}${operator.sign}${value}${chain?.text ?? ''}`)
    .join(' & ')
}

function shownPath({ name, related }: Property): string {
  return related === null ? name : `${related.reference.name}(${related.view.text}).${shownPath(related.property)}`
}

test.each([0, 1, 2, 3])(
  "Lists by paths are PostgreSQL's, while all tables change: run %i",
  async (run) => {
    const random = new Random(SEED + run)
    const odd = { extremes: run === 0 ? 0 : 30, uncoded: run === 3 ? 10 : 0 }
    const tables = new RelatedTables(random, sql, database, [20, 120, 600], odd)
    await tables.create(run !== 1)
    const reasons: Record<string, number> = {}
    const asked: [RelatedTables['sides'][number], ListQuery][] = []
    for (let round = 0; round < 8; round++) {
      for (let list = 0; list < 10; list++) {
        const isAsked = asked.length > 0 && random.chance(50)
        const [side, query] = isAsked ? random.pick(asked) : draw(tables)
        if (!isAsked) asked.push([side, query])
        const difference = await tables.differenceOf(side.entity, query)
        if (typeof difference === 'string') expect([SEED, run, shown(query), difference]).toEqual([])
        const reason = difference === null || typeof difference === 'string' ? 'none' : difference.reason
        if (reason !== 'texts' || !query.filters.some(isUnsure)) reasons[reason] = (reasons[reason] ?? 0) + 1
      }
      for (const { columns } of tables.sides) expect([SEED, run, ...faultsOf(columns)]).toEqual([SEED, run])
      const side = random.pick(tables.sides)
      await tables.change(side, random.pick([1, 5, 30]))
      // A table that was loaded anew.
      if (random.chance(10)) side.columns = tables.load(side)
    }
    expect(reasons.none ?? 0).toBeGreaterThan(55)
  },
  300_000,
)

test.each([0, 1, 2])(
  "Summaries by paths are PostgreSQL's, while all tables change: run %i",
  async (run) => {
    const random = new Random(SEED + run)
    const odd = { extremes: run === 0 ? 0 : 20, uncoded: 0 }
    const tables = new RelatedTables(random, sql, database, [20, 120, 600], odd)
    await tables.create(run !== 1)
    let known = 0
    for (let left = 60; left > 0; left--) {
      const side = random.pick(tables.sides)
      const query = tables.summary(side.entity)
      const change = () => tables.change(random.pick(tables.sides), random.pick([1, 5, 30]))
      const difference = await tables.differenceOfGroups(side.entity, query, random.chance(40) ? change : undefined)
      if (difference === null) known++
      else if (difference !== 'unknown') expect([SEED, run, shownGroups(query), difference]).toEqual([])
    }
    expect(known).toBeGreaterThan(40)
  },
  300_000,
)

function shownGroups({ filters, keys, figures }: SummaryQuery): string {
  const by = keys.map(({ property, period, names }) => `${period}(${shownPath(property)}) ${names?.name}`)
  return `${shown({ filters })} by ${by} ${figures.map(({ name, property }) => `${name}(${shownPath(property)})`)}`
}

function draw(tables: RelatedTables): [RelatedTables['sides'][number], ListQuery] {
  const { random } = tables
  const side = random.pick(tables.sides)
  const related = random.times(3, () => tables.path(side.entity))
  const choice = random.chance(30) ? null : project(side.entity, new Set<Property>([...side.entity.properties, ...related]))
  const filters: Filter[] = tables.filters(side.entity)
  const query = listOf({ filters, sorts: side.rows.sorts() }, random.pick([1, 1, 2]), random.pick([5, 50]))
  return [side, { ...query, choice }]
}
