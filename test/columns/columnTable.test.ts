import { describe, expect, test } from 'bun:test'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { Grouping } from '../../src/columns/grouping.ts'
import type { FoundPage } from '../../src/columns/listSearch.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { type Filter, order } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { parseSummary } from '../../src/parse/summary.ts'
import { codeUnitTexts } from '../support/codeUnitOrder.ts'
import { faultsOf, heldBy } from '../support/columnInvariants.ts'
import { findList, ListComparison } from '../support/columnLists.ts'
import { Random } from '../support/random.ts'
import { idsOf, listOf, RandomTable, take, totalOf } from '../support/randomTable.ts'
import { reading } from '../support/reading.ts'

/** Seed of the random values, another one in each run; set SEED to the printed seed to repeat a run. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

for (const hasVectors of [true, false])
  describe(`tables in columns ${hasVectors ? 'with' : 'without'} vectors, SEED=${SEED}`, () => {
    for (const [entity, rows] of [
      [absence, 40],
      [absence, 900],
      [company, 3_000],
      [reading, 900],
      [reading, 6_000],
    ] as const)
      test(`${rows} ${entity.plural}: lists have exactly the rows that the filters match, before, while and after indexes are built`, async () => {
        const random = new Random(SEED)
        const table = new RandomTable(entity, random, rows)
        const columns = table.load({ has: () => true }, hasVectors)
        const comparison = new ListComparison(table, columns)
        const lists = rows > 2_000 ? 15 : 30
        expect(await comparison.differences(lists)).toEqual([])
        for (let round = 0; round < 4; round++) {
          take(columns, table.change(120))
          expect(columns.rows).toBe(table.rows.length)
          expect(await comparison.differences(lists)).toEqual([])
          expect(faultsOf(columns)).toEqual([])
        }
        await columns.indexesBuilt()
        expect(faultsOf(columns)).toEqual([])
      })
  })

describe('tables in columns with a few rows:', () => {
  const everything = { has: () => true }
  const texts = codeUnitTexts(() => [])
  const readings = (column: number, values: readonly (string | null)[]) => {
    const columns = new ColumnTable(reading, values.length, texts, everything)
    for (const [index, value] of values.entries())
      columns.put((['0', null, 't', null, null, null] as Row).with(0, String(index + 1)).with(column, value))
    return columns
  }
  const totals = (columns: ColumnTable, queries: readonly string[]) =>
    queries.map((query) => totalOf(columns, parseList(wholeView(reading), query).filters))
  const [LABEL, AT, AMOUNT, LEVEL] = [1, 3, 4, 5]

  test('a filter for the text "null" finds other rows than a filter for rows without a value', async () => {
    const columns = readings(LABEL, [null, null, 'null', 'Ada', ''])
    const queries = ['Label=', 'Label=null', 'Label=!=null', 'Label=!=', 'Label[]=null', 'Label[]=']
    // The third time, their bitmaps are kept.
    for (let times = 0; times < 3; times++) expect(totals(columns, queries)).toEqual([3, 1, 4, 2, 1, 3])
    columns.put(['6', 'null', 't', null, null, null])
    columns.remove('1')
    expect(totals(columns, queries)).toEqual([2, 2, 3, 3, 2, 2])
  })

  test('a row with a new text is added to the kept bitmaps of the conditions that the text matches', async () => {
    const names = ['old', 'older', null, 'o']
    const columns = readings(LABEL, names)
    const queries = ['=new', '=!=new', '[]=new', '[contains]=EW', '[begins]=n', '=>n', '=<=new', '=>=old', '=', '=!=old']
    const lists = queries.map((query) => listOf(parseList(wholeView(reading), `Label${query}`)))
    const found = async () => {
      const totals: unknown[] = []
      for (const list of lists) {
        const page = await findList(columns, list)
        totals.push(typeof page === 'string' ? page : page.total)
      }
      return totals
    }
    for (let times = 0; times < 3; times++) expect(await found()).toEqual([0, 4, 0, 0, 0, 3, 0, 2, 1, 3])
    expect(heldBy(columns).bitmaps).toBeGreaterThan(5)
    columns.put(['5', 'new', 't', null, null, null])
    expect(await found()).toEqual([1, 4, 1, 1, 1, 4, 1, 2, 1, 4])
    columns.put(['1', 'newer', 't', null, null, null])
    expect(await found()).toEqual([1, 4, 1, 2, 2, 4, 1, 1, 1, 5])
    expect(faultsOf(columns)).toEqual([])
  })

  test('an operand of [] finds a row whose value is the same instant in another notation', async () => {
    const columns = readings(AT, ['2024-01-31 09:00:00+00', '2024-01-31 10:00:00+00', null])
    const query = parseList(
      wholeView(reading),
      'At[]=2024-01-31T10:00:00%2B01:00&At[]=2024-01-31T09:00:00Z&At[]=2024-01-31T09:00:00.5Z',
    )
    const found = await findList(columns, listOf(query))
    expect(idsOf(found)).toEqual([1])
  })

  test('a cursor at an instant beyond the 32-bit codes of a column comes after all instants, and before rows without a value', async () => {
    const times = ['1931-12-13 20:45:53+00', null, '2068-01-19 03:14:07+00', null, '2020-01-01 00:00:00+00']
    const columns = readings(AT, times)
    const page = async (sort: string, side: 'after' | 'before', at: string) => {
      const { filters, sorts } = parseList(wholeView(reading), `sort=${sort}`)
      const position = [at, ...sorts.slice(1).map(() => 't'), '3']
      return idsOf(await findList(columns, listOf({ filters, sorts }, 1, 5, { side, position })))
    }
    for (const [sort, first, none] of [
      ['At', [1, 5, 3], [4, 2]],
      ['At,On', [1, 5, 3], [2, 4]],
    ] as const)
      for (const far of ['2068-01-19 03:14:08+00', '9999-12-31 00:00:00+00', 'infinity']) {
        expect([sort, far, await page(sort, 'before', far)]).toEqual([sort, far, [...first]])
        expect([sort, far, await page(sort, 'after', far)]).toEqual([sort, far, [2, 4]])
        expect([sort, far, await page(`-${sort}`, 'before', far)]).toEqual([sort, far, [...none]])
      }
    for (const near of ['-infinity', '0044-03-15 00:00:00+00 BC', '1931-12-13 20:45:52+00']) {
      expect([near, await page('At', 'before', near)]).toEqual([near, []])
      expect([near, await page('-At', 'after', near)]).toEqual([near, []])
    }
  })

  test('a page by cursor begins at the next id, also for ids up to 2^53 - 1', async () => {
    const ids = Array.from({ length: 3_000 }, (_, index) => Number.MAX_SAFE_INTEGER - 2_999 + index)
    const columns = new ColumnTable(reading, ids.length, texts, everything)
    for (const id of ids) columns.put([String(id), null, 't', null, null, '7'])
    for (const sort of ['Id', '-Id', 'Level', '-Level', 'Level,-Id', '-Level,Id'])
      for (const at of [1_500, 1_501]) {
        const { filters, sorts } = parseList(wholeView(reading), `sort=${sort}`)
        const own = order(reading, sorts)
        const all = own.at(-1)?.descending ? ids.toReversed() : ids
        const position = [...own.slice(1).map(() => '7'), String(all[at])]
        const page = async (side: 'after' | 'before') =>
          idsOf(await findList(columns, listOf({ filters, sorts }, 1, 5, { side, position })))
        expect([sort, at, await page('after')]).toEqual([sort, at, all.slice(at + 1, at + 7)])
        expect([sort, at, await page('before')]).toEqual([sort, at, all.slice(at - 6, at)])
      }
  })

  test('numbers close to 0 and beyond the range of floats compare as in PostgreSQL, with NaN as the greatest', () => {
    const columns = readings(AMOUNT, ['-1.00000000', '1.00000000', 'NaN', null, '0.00000000', '-0.00000001'])
    const [high, low] = [`${'9'.repeat(150)}e40`, `-${'9'.repeat(150)}e40`]
    const signs = ['=', '<', '<=', '>', '>=']
    const of = (operand: string) => {
      const queries = signs.map((sign) => `Amount=${sign}${operand}`)
      return totals(columns, queries)
    }
    expect([high, low, '-0', '-0.000000001'].map(of)).toEqual([
      [0, 4, 4, 1, 1],
      [0, 0, 0, 5, 5],
      [1, 2, 3, 2, 3],
      [0, 2, 2, 3, 3],
    ])
  })

  test('a list by a property is left to PostgreSQL while a row has a number that is too long for a code', async () => {
    const amounts = ['1.00000000', '10000000000.12345678', '2.00000000']
    const columns = readings(AMOUNT, amounts)
    const bySort = listOf(parseList(wholeView(reading), 'sort=Amount'))
    const others = (): unknown[] => [
      totals(columns, ['Amount=>1', 'Amount=', 'Amount[]=1', 'On=true']),
      columns.lists.find(bySort),
    ]
    const refused = [['values', 'values', 'values', 3], 'values']
    expect(others()).toEqual(refused)
    const found = columns.lists.find(listOf(parseList(wholeView(reading), ''))) as FoundPage
    expect(amounts.map((_, index) => [found.rows.print(index, AMOUNT), found.rows.hasValue(index, AMOUNT)])).toEqual(
      amounts.map((text) => [text, true]),
    )
    columns.put(['2', null, 't', null, '10000000001.00000000', null])
    expect(others()).toEqual(refused)
    columns.put(['2', null, 't', null, '3.00000000', null])
    expect([totals(columns, ['Amount=>1']), idsOf(await findList(columns, bySort))]).toEqual([[2], [1, 3, 2]])
    columns.put(['2', null, 't', null, amounts[1] as string, null])
    columns.remove('2')
    expect([totals(columns, ['Amount=>1']), idsOf(await findList(columns, bySort))]).toEqual([[1], [1, 3]])
    const at = { side: 'after', position: [amounts[1] as string, '2'] } as const
    expect(columns.lists.find(listOf(bySort, 1, 5, at))).toBe('values')
  })

  test('a filter whose operator is not a comparison in the column’s order is left to PostgreSQL', () => {
    const columns = readings(LEVEL, ['1'])
    const [filter] = parseList(wholeView(reading), 'Level=1').filters as [Filter]
    expect(totalOf(columns, [{ ...filter, operator: { ...filter.operator, sides: null } }])).toBe('values')
  })

  test('an id that a float cannot hold exactly is refused', () => {
    const columns = readings(LEVEL, ['1'])
    expect(() => columns.put(['9007199254740993', null, 't', null, null, null])).toThrow('the id 9007199254740993 is greater')
    expect([columns.rows, faultsOf(columns)]).toEqual([1, []])
  })
})

describe('a summary that is computed in steps', () => {
  const ROWS = 40_000
  const amountOf = (id: number, amount: string) => [String(id), null, 't', null, amount, null] as Row

  test.each([
    ['change', (columns: ColumnTable, id: number) => columns.put(amountOf(id, '3.00000000'))],
    [
      'are removed and others take their places',
      (columns: ColumnTable, id: number) => {
        columns.remove(String(id))
        columns.put(amountOf(ROWS + id, '3.00000000'))
      },
    ],
  ])('D70: counts the rows as they were when it began, although rows %s between the steps', (_, change) => {
    const columns = new RandomTable(reading, new Random(SEED), 0).load(undefined, true, ROWS)
    for (let id = 1; id <= ROWS; id++) columns.put(amountOf(id, '2.00000000'))
    const grouping = columns.group(parseSummary(wholeView(reading), 'sum=Amount', 'json')) as Grouping
    const steps = grouping.steps()
    expect(steps.next().done).toBe(false)
    // The first step has read some of these rows; the other rows would be read by later steps.
    for (const id of [1, 2, ROWS - 1, ROWS]) change(columns, id)
    while (!steps.next().done);
    expect(grouping.page(0, 1).next().value).toEqual([[String(ROWS), '80000.00000000']])
  })
})
