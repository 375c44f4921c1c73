import { expect, spyOn, test } from 'bun:test'
import { ConditionBitmaps } from '../../src/columns/conditionBitmaps.ts'
import type { Condition } from '../../src/columns/conditions.ts'
import { NarrowRows } from '../../src/columns/narrowRows.ts'
import { UnionBitmaps } from '../../src/columns/unionBitmaps.ts'
import { type Filter, unionFilter } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { faultsOf, heldBy } from '../support/columnInvariants.ts'
import { findList, ListComparison } from '../support/columnLists.ts'
import { Random } from '../support/random.ts'
import { listOf, RandomTable, take } from '../support/randomTable.ts'
import { reading } from '../support/reading.ts'

/** Seed of the random values, another one in each run; set SEED to the printed seed to repeat a run. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
/** More rows than a union gathers one by one. */
const ROWS = 40_000
const FIRST = 1_000_001

function rowOf(id: number, random: Random): Row {
  const label = random.chance(5) ? null : `label ${random.below(400)}`
  const level = random.chance(90) ? '7' : String(random.below(20))
  const at = random.chance(3) ? null : `20${10 + random.below(15)}-01-01 00:00:00+00`
  return [String(id), label, random.chance(80) ? 't' : 'f', at, `${random.below(1_000)}.25000000`, level]
}

function tableOf(random: Random): RandomTable {
  const table = new RandomTable(reading, random, 0, { extremes: 0, uncoded: 0 })
  for (let id = FIRST; id < FIRST + ROWS; id++) table.put(rowOf(id, random))
  return table
}

const filtersOf = (query: string) => parseList(wholeView(reading), query).filters
const unionOf = (...alternatives: (string | readonly Filter[])[]) =>
  unionFilter(
    reading,
    alternatives.map((one) => (typeof one === 'string' ? filtersOf(one) : one)),
  )

const SORTS = ['', '-At', '-Level,Amount']
/** Unions by the way in which their rows are found, with the other filters of the list. */
const UNIONS: [way: string, others: string, union: Filter][] = [
  ['gathered', '', unionOf(`Id=${FIRST + 5}`, `Id=<${FIRST + 9}`, 'Amount=7.25&Level=5')],
  ['gathered', 'On=true', unionOf(`Id=<${FIRST + 900}`, 'Amount=3.25', 'Amount=3.25&Level=7')],
  ['gathered, with a list of values', '', unionOf('Level[]=1&Level[]=2&Level[]=', `Id=${FIRST + 7}`, 'At=&On=false')],
  ['gathered, of an inner union', '', unionOf([unionOf('Amount=3.25', 'Amount=4.25')], 'Amount=4.25&Level=7')],
  ['or-ed', '', unionOf('On=true', 'Level=7')],
  ['or-ed', 'Amount=<500', unionOf('On=true&Level=7', 'Level=!=7', 'Label=')],
  ['or-ed and added', '', unionOf('Level=7', `Id=<${FIRST + 500}`, 'Label=!=label 7')],
  ['or-ed and added', 'On=false', unionOf('Level=7&On=false', 'Amount=3.25&Level=5')],
  ['or-ed, of parts of texts', '', unionOf('Label[contains]=L 33', 'Level=5')],
  ['or-ed, with texts in order', '', unionOf('Label=<label 2', 'On=false&Level=7')],
  ['or-ed, for many rows of another filter', `Id=<${FIRST + 5_000}`, unionOf('On=true', 'Level=!=7')],
  ['or-ed, of an inner union', '', unionOf([unionOf('On=true', 'Level=5'), ...filtersOf('Level=!=7')], 'Amount=<500')],
]

const ways = { distinct: 0, add: 0, or: 0, kept: 0, selected: 0 }

test.each([true, false])(
  `lists of a union have the rows of all its alternatives, before and after changes; with vectors: %p; SEED=${SEED}`,
  async (hasVectors) => {
    const random = new Random(SEED)
    const table = tableOf(random)
    const columns = table.load(undefined, hasVectors)
    const comparison = new ListComparison(table, columns)
    const spies = [
      count(NarrowRows.prototype, 'distinct', () => ways.distinct++),
      count(UnionBitmaps.prototype, 'add', () => ways.add++),
      count(UnionBitmaps.prototype, 'orAll', () => ways.or++),
      count(ConditionBitmaps.prototype, 'selectByUnion', () => ways.selected++),
      count(ConditionBitmaps.prototype, 'keptOf', (kept, condition) => {
        if (kept !== null && 'either' in (condition as Condition)) ways.kept++
      }),
    ]
    for (let round = 0; round < 2; round++) {
      for (const [way, others, union] of UNIONS)
        for (const sort of SORTS) {
          const { sorts } = parseList(wholeView(reading), `sort=${sort}`.replace(/^sort=$/, ''))
          const query = { filters: [...filtersOf(others), union], sorts }
          expect([SEED, way, ...(await comparison.differencesOf(query, 1))]).toEqual([SEED, way])
        }
      expect(faultsOf(columns)).toEqual([])
      take(columns, table.change(round === 0 ? 50 : 400))
      expect(faultsOf(columns)).toEqual([])
    }
    for (const spy of spies) spy.mockRestore()
    expect(Object.entries(ways).filter(([, times]) => times === 0)).toEqual([])
  },
)

/** Calls `note` with the result and the first argument of each call of a method. */
function count(prototype: object, name: string, note: (result: unknown, first: unknown) => void) {
  const methods = prototype as Record<string, (...args: unknown[]) => unknown>
  const method = methods[name] as (...args: unknown[]) => unknown
  return spyOn(methods, name).mockImplementation(function (this: unknown, ...args) {
    const result = method.apply(this, args)
    note(result, args[0])
    return result
  })
}

test('conditions that differ by person keep no bitmaps in a union; conditions that hundreds of persons share do', async () => {
  const random = new Random(SEED)
  const table = tableOf(random)
  const columns = table.load()
  const find = (...alternatives: string[]) => findList(columns, listOf({ filters: [unionOf(...alternatives)], sorts: [] }))
  await find('Level=7', 'On=true', 'Amount=1.25')
  await columns.indexesBuilt()
  for (let time = 0; time < 3; time++)
    for (let person = 0; person < 300; person++) {
      await find(`Id=${FIRST + person}`, `Amount=${person}.25`)
      await find('Level=7', 'On=true', `Amount=${person}.25`)
    }
  // Those that all persons have in common: of Level and of On.
  expect(heldBy(columns).bitmaps).toBe(2)
  for (let time = 0; time < 3; time++) await find('Level=!=7', 'On=true')
  expect(heldBy(columns).bitmaps).toBe(4)
})
