import { describe, expect, test } from 'bun:test'
import { compileList } from '../../src/compile/list.ts'
import { shapeOf, valuesOf } from '../../src/compile/parts.ts'
import { compileGet } from '../../src/compile/row.ts'
import { compileStreamBatch } from '../../src/compile/stream.ts'
import { compileSummary } from '../../src/compile/summary.ts'
import type { Entity } from '../../src/model/entity.ts'
import { type Filter, unionFilter, united } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { viewOf, wholeView } from '../../src/model/view.ts'
import { withFewIds } from '../../src/operations/fewIds.ts'
import { parseList } from '../../src/parse/list.ts'
import { parseSummary } from '../../src/parse/summary.ts'
import { useDatabase } from '../support/database.ts'
import { entities } from '../support/entities.ts'
import { Random } from '../support/random.ts'
import { listOf } from '../support/randomTable.ts'
import { RelatedTables, type Side } from '../support/relatedTables.ts'

/** Seed of the random values, another one in each run; set SEED to the printed seed to repeat a run. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

const { sql, poolOf } = useDatabase('empty')
const database = poolOf()
const absence = entities.find(({ name }) => name === 'Absence') as Entity
const filtersOf = (query: string) => parseList(wholeView(absence), query).filters

/** Ids of the rows that match, as a stream has them. */
async function idsOf(entity: Entity, filters: readonly Filter[]): Promise<number[]> {
  const form = { may: null, choice: null, hasMark: false, isForExcel: false, hasDecimalComma: false }
  const statement = compileStreamBatch(entity, { filters, sorts: [], ...form }, [entity.id], null, 100_000)
  return (await database.read(statement)).map(([id]) => Number(id))
}

describe('a union finds the rows of its alternatives, each once, and combines with any other filter', () => {
  test.each([0, 1, 2])('in lists, streams, rows by id and summaries: run %i', async (run) => {
    const random = new Random(SEED + run)
    const tables = new RelatedTables(random, sql, database, [20, 120, 300], { extremes: 10, uncoded: 0 })
    await tables.create()
    const sizes: number[] = []
    for (let left = 60; left > 0; left--) {
      const { entity, rows } = random.pick(tables.sides) as Side
      const union = tables.union(entity)
      const others = random.times(1, () => tables.filter(entity))
      const filters = random.chance(50) ? [...others, union] : [union, ...others]
      const found = new Set<number>()
      for (const alternative of union.either ?? [])
        for (const id of await idsOf(entity, [...others, ...alternative])) found.add(id)
      const wanted = [...found].sort((one, other) => one - other)
      sizes.push(wanted.length)
      const what = [SEED, run, shapeOf(filters), ...valuesOf(filters)]
      expect([what, await idsOf(entity, filters)]).toEqual([what, wanted])
      // As arrays, if they are few: with all forms of paths, in SQL of its own.
      const listed = filters.map((filter) => (filter.either ? { ...filter, hasFewIds: true } : filter))
      expect([what, await idsOf(entity, listed)]).toEqual([what, wanted])
      const asked = await withFewIds({ filters }, entity, database)
      expect([what, await idsOf(entity, asked.filters)]).toEqual([what, wanted])
      const pages = { 1: wanted.slice(0, 5), 2: wanted.slice(5, 10), 3: wanted.slice(10, 15) }
      for (const [page, ids] of Object.entries(pages)) {
        const list = await database.read(compileList(entity, listOf({ filters, sorts: [] }, Number(page), 5)))
        const own = list.filter(([id]) => id !== null).map(([id]) => Number(id))
        expect([what, page, own]).toEqual([what, page, ids])
        if (list.length > 0) expect([what, Number(list[0]?.at(-1))]).toEqual([what, wanted.length])
      }
      const middle = wanted[Math.floor(wanted.length / 2)] ?? 0
      const seek = { side: 'after', position: [String(middle)] } as const
      const after = await database.read(compileList(entity, listOf({ filters, sorts: [] }, 1, 5, seek)))
      const later = after.filter(([id]) => id !== null).map(([id]) => Number(id))
      expect([what, later]).toEqual([what, wanted.filter((id) => id > middle).slice(0, 6)])
      for (const [id] of random.times(6, () => random.pick(rows.rows)) as Row[]) {
        const read = await database.read(compileGet(entity, id as string, filters))
        expect([what, id, read.length > 0]).toEqual([what, id, found.has(Number(id))])
      }
      const summary = { ...parseSummary(wholeView(entity), '', 'json'), filters }
      const [groups] = await database.read(compileSummary(entity, summary, null))
      expect([what, groups?.[1]]).toEqual([what, String(wanted.length)])
    }
    // Random alternatives may have few rows, but mostly have some.
    expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(15)
  })
})

test('a filter by a related property sees only the related rows that a union of the right to read admits', async () => {
  const random = new Random(SEED)
  const tables = new RelatedTables(random, sql, database, [20, 120, 300], { extremes: 0, uncoded: 0 })
  await tables.create()
  const [, people, visits] = tables.sides as [Side, Side, Side]
  for (let left = 30; left > 0; left--) {
    const union = tables.union(people.entity, 1)
    const view = viewOf(people.entity, new Set(people.entity.properties), [union], 'people')
    const [filter] = parseList({ ...wholeView(visits.entity), related: () => view }, 'PersonId.Label=!=').filters as [Filter]
    const visible = new Set(await idsOf(people.entity, [union]))
    const place = visits.entity.properties.findIndex(({ name }) => name === 'PersonId')
    const label = people.entity.properties.findIndex(({ name }) => name === 'Label')
    const hasLabel = (id: string | null | undefined) => visible.has(Number(id)) && Boolean(people.rows.row(Number(id))?.[label])
    const wanted = visits.rows.rows.filter((row) => hasLabel(row[place])).map(([id]) => Number(id))
    const what = [SEED, shapeOf([filter]), ...valuesOf([filter])]
    expect([what, await idsOf(visits.entity, [filter])]).toEqual([what, wanted.sort((one, other) => one - other)])
  }
})

test('unions that differ only in values share one statement; unions that differ otherwise do not', () => {
  const shape = (...alternatives: string[]) => shapeOf([unionFilter(absence, alternatives.map(filtersOf))])
  const own = shape('EmployeeId=7', 'EmployeeId.ManagerId=7&Status=New')
  expect(shape('EmployeeId=8', 'EmployeeId.ManagerId=9&Status=Old')).toBe(own)
  for (const other of [
    shape('EmployeeId=7&Status=New', 'EmployeeId.ManagerId=7'),
    shape('EmployeeId=7', 'EmployeeId.ManagerId=7', 'Status=New'),
    shape('EmployeeId=', 'EmployeeId.ManagerId=7&Status=New'),
    shapeOf(filtersOf('EmployeeId=7&EmployeeId.ManagerId=7&Status=New')),
  ])
    expect(other).not.toBe(own)
})

test('united() merges equal alternatives, and returns no filter if one alternative has none', () => {
  const [own, team] = [filtersOf('EmployeeId=7'), filtersOf('EmployeeId.ManagerId=7')]
  expect(united(absence, [own, filtersOf('EmployeeId=7')])).toEqual(own)
  expect(united(absence, [own, team, own])).toEqual([unionFilter(absence, [own, team])])
  expect(united(absence, [own, []])).toEqual([])
  expect(() => unionFilter(absence, [own, []])).toThrow('every row')
  expect(() => unionFilter(absence, [])).toThrow('has alternatives')
})
