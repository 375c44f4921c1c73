import { describe, expect, test } from 'bun:test'
import { bodies, bodyCases } from '../../bench/micro/body.ts'
import { columnCases } from '../../bench/micro/columns.ts'
import { compileCases } from '../../bench/micro/compile.ts'
import { jsonCases } from '../../bench/micro/json.ts'
import { type Case, measure } from '../../bench/micro/measure.ts'
import { queries, queryCases } from '../../bench/micro/query.ts'
import { windowCases } from '../../bench/micro/window.ts'
import type { Decision } from '../../src/model/limits.ts'
import type { Assignments, ListQuery } from '../../src/model/query.ts'
import type { Statement } from '../../src/model/sql.ts'
import { FILTERS_MAX } from '../../src/parse/filter.ts'
import type { Parameter } from '../../src/parse/queryString.ts'

const TURNS = [0, 1, 2, 63, 64]

const named = (cases: Case[], name: string) => cases.filter((each) => each.name === name)

/** What the case makes in that turn, as its own type, which only the test knows. */
function make<T>(cases: Case[], name: string, operation: string, turn: number): T {
  const found = named(cases, name).find((each) => each.operation === operation)
  if (!found) throw new Error(`no case ${name}, ${operation}`)
  return found.work(turn) as T
}

const fewColumnCases = () => columnCases(2_000)

describe('every part gives a cost for each of its cases', () => {
  for (const [part, casesOf] of Object.entries({
    bodyCases,
    fewColumnCases,
    compileCases,
    jsonCases,
    queryCases,
    windowCases,
  }))
    test(part, async () => {
      const cases = await casesOf()
      const costs = await measure(cases, 0.05, 1)
      expect(costs.map(({ name, operation }) => [name, operation])).toEqual(
        cases.map(({ name, operation }) => [name, operation]),
      )
      expect(new Set(costs.map(({ name, operation }) => `${name}: ${operation}`)).size).toBe(cases.length)
      for (const { ns, bestNs, ratio } of costs) expect([ns > 0, bestNs > 0, ratio > 0]).toEqual([true, true, true])
    })
})

test('a case is done once in each turn, and the first of a name is the measure of the others', async () => {
  const turns: number[] = []
  const work = (turn: number) => turns.push(turn)
  const costs = await measure(
    [
      { name: 'a', operation: 'once', work },
      { name: 'b', operation: 'alone', work: () => Promise.resolve(), awaited: true },
    ],
    0.1,
    3,
  )
  expect(turns).toEqual(turns.map((_, index) => index))
  expect(turns.length).toBeGreaterThan(3)
  expect(costs.map(({ ratio }) => ratio)).toEqual([1, 1])
})

test('all that print a row print the same', () => {
  const cases = jsonCases()
  for (const name of new Set(cases.map((each) => each.name)))
    for (const turn of TURNS) {
      const [first, ...others] = named(cases, name).map(({ work }) => JSON.parse(work(turn) as string))
      expect(others.length).toBeGreaterThan(0)
      for (const other of others) expect(other).toEqual(first)
    }
})

test('the decoder finds what the platform finds in the same query string', () => {
  const cases = queryCases()
  for (const { name } of queries)
    for (const turn of TURNS) {
      const ours = make<Parameter[]>(cases, name, 'parseQueryString', turn)
      expect(ours.map((parameter) => [parameter.name, parameter.value])).toEqual(
        make<[string, string][]>(cases, name, 'URLSearchParams', turn),
      )
    }
})

test('the worst query string has as many filters as there may be, and sorts by everything', () => {
  const { name, entity } = queries.at(-1) as (typeof queries)[number]
  const query = make<ListQuery>(queryCases(), name, 'parseList', 0)
  expect([query.filters.length, query.sorts.length]).toEqual([FILTERS_MAX, entity.properties.length])
  expect(query.kept.length).toBeWithin(7_000, 8 * 1024)
})

test('a warm shape has one text and other values, a cold one never the text of before', () => {
  const cases = compileCases()
  const lists = new Set(cases.filter(({ operation }) => operation.startsWith('compileList')).map(({ name }) => name))
  const made = (name: string, operation: string, turns: number) =>
    Array.from({ length: turns }, (_, turn) => make<Statement>(cases, name, operation, turn))
  for (const name of lists) {
    const warm = made(name, 'compileList, warm', 20)
    expect(new Set(warm.map(({ text }) => text)).size).toBe(1)
    expect(new Set(warm.map(({ values }) => values.join())).size).toBe(20)
  }
  expect(new Set(made('one filter', 'compileList, cold', 3_000).map(({ text }) => text)).size).toBe(3_000)
  expect(lists.size).toBe(3)
})

test('the statements are those of their names', () => {
  const cases = compileCases()
  const text = (name: string) => make<Statement>(cases, name, named(cases, name)[0]?.operation as string, 3).text
  expect(text('one Absence by id')).toStartWith('select "id", "status"')
  expect(text('new Company')).toStartWith('insert into "company" ("name", "enabled")')
  expect(text('Enabled of one Company')).toMatch(/^update "company" as t set "enabled" = \$1 from .* where id = \$2 /)
})

test('a body read becomes the changes of all its writable properties', async () => {
  const cases = await bodyCases()
  for (const { name, entity, content } of bodies) {
    const writable = entity.properties.filter((property) => property.writable)
    expect(make<Assignments>(cases, name, 'parseComplete', 0).size).toBe(writable.length)
    const given = writable.filter(({ name: property }) => (property.split('.')[0] as string) in content)
    expect([...make<Assignments>(cases, name, 'parsePartial', 0).keys()].map((property) => property.name)).toEqual(
      given.map((property) => property.name),
    )
    const read = await make<Promise<object>>(cases, name, 'Request, readBody', 0)
    expect(Object.keys(read)).toEqual(Object.keys(content))
  }
})

test('the window admits as many as the limit, then refuses', () => {
  const admit = windowCases()[0] as Case
  const decisions = Array.from({ length: 751 }, (_, turn) => (admit.work(turn) as Decision).admitted)
  expect(decisions).toEqual([...Array(750).fill(true), false])
})
