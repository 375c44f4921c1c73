import { beforeAll, describe, expect, test } from 'bun:test'
import { compileList } from '../../src/compile/list.ts'
import { compileStreamBatch, streamColumns } from '../../src/compile/stream.ts'
import { compileSummary } from '../../src/compile/summary.ts'
import { defineEntity, identity, text } from '../../src/model/entity.ts'
import type { Seek } from '../../src/model/query.ts'
import type { Statement } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList, parseStream } from '../../src/parse/list.ts'
import { parseSummary } from '../../src/parse/summary.ts'
import { useDatabase } from '../support/database.ts'

const note = defineEntity('Note', { id: identity(), title: text(), body: text(), author: text() })
const ROWS = 3_000

const { sql } = useDatabase()
beforeAll(async () => {
  await sql.unsafe('create table note (id bigint primary key, title text, body text, author text)')
  await sql`
    insert into note select n, case when n % 7 > 0 then 'Título ' || n end, 'Body ' || n % 10, 'Author ' || n % 50
    from generate_series(1, ${ROWS}) as n`
  await sql`create index note_author_id on note (author, id)`
  await sql`vacuum analyze note`
})

/** 16 filters by parts of one text, and some of another. */
const TITLES = Array.from({ length: 8 }, (_, index) => `Title[contains]=${'TITULO '.slice(index % 6)}&Title[begins]=titulo`)
const FILTERS = [...TITLES, 'Body[contains]=body 1', 'Author=!=Author 1'].join('&')
/** Ids of the rows that match, in order. */
const MATCHING = Array.from({ length: ROWS }, (_, index) => index + 1).filter(
  (id) => id % 7 > 0 && id % 10 === 1 && id % 50 !== 1,
)

const listOf = (query: string, seek: Seek | null = null) =>
  compileList(note, { ...parseList(wholeView(note), `${FILTERS}&${query}`), seek })
const after = (...position: (string | null)[]): Seek => ({ side: 'after', position })
function batchOf(query: string, position: readonly string[] | null): Statement {
  const stream = parseStream(wholeView(note), `${FILTERS}&${query}`, 'ndjson')
  return compileStreamBatch(note, stream, streamColumns(note, stream), position, 100)
}

const statements: [string, () => Statement][] = [
  ['the first page of a list', () => listOf('')],
  ['the first page of a sorted list', () => listOf('sort=-Author')],
  ['a later page of a list', () => listOf('sort=Author&page=3')],
  ['the last page of a list', () => listOf('sort=Author,Title&page=11')],
  ['a page of a list by a cursor', () => listOf('sort=Author', after('Author 21', '1000'))],
  ['a page of a list by a cursor without a value', () => listOf('sort=-Body,Title', after(null, 'x', '1000'))],
  ['the first batch of a stream', () => batchOf('sort=Author', null)],
  ['a later batch of a stream', () => batchOf('sort=Author', ['Author 21', '1000'])],
  [
    'a page of a summary',
    () => compileSummary(note, parseSummary(wholeView(note), `${FILTERS}&groupBy=Author`, 'json'), { offset: 0, size: 5 }),
  ],
  ['all groups of a summary', () => compileSummary(note, parseSummary(wholeView(note), `${FILTERS}&groupBy=Title`, 'csv'), null)],
]

interface PlanNode {
  readonly Plans?: readonly PlanNode[]
  readonly Output?: readonly string[]
  readonly 'Actual Loops': number
  readonly 'Node Type': string
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]
/** The expression that folds the text of a column, as a plan shows it. */
const foldOf = (column: string) => new RegExp(`normalize\\((note(_\\d+)?\\.)?${column}, nfd\\)`, 'gi')

describe('each text of a row is folded at most once for all filters of a statement', () => {
  test.each(statements)('in %s', async (_, compile) => {
    const { text, values } = compile()
    const [row] = await sql.unsafe(`explain (analyze, verbose, format json) ${text}`, values as string[])
    const nodes = nodesOf(row?.['QUERY PLAN'][0].Plan)
    for (const column of ['title', 'body']) {
      let folds = 0
      for (const { Plans, ...node } of nodes) {
        const times = JSON.stringify(node).match(foldOf(column))?.length ?? 0
        if (times === 0) continue
        // A Result node without a table computes the folded text once for each row of another node.
        expect([column, times, node['Node Type'], node.Output?.length]).toEqual([column, 1, 'Result', 1])
        folds += node['Actual Loops']
      }
      expect(folds).toBeGreaterThan(0)
      expect(folds).toBeLessThanOrEqual(ROWS)
    }
  })
})

test('lists filtered by parts of texts have the right rows and totals on each page, by number or cursor', async () => {
  const read = async ({ text, values }: Statement) =>
    (await sql.unsafe(text, values as string[]).values()).map((row) => [Number(row[0]), Number(row.at(-1))])
  const size = 7
  const pages = Math.ceil(MATCHING.length / size)
  expect(pages).toBeGreaterThan(20)
  for (const [sort, ids] of [
    ['Id', MATCHING],
    ['-Id', MATCHING.toReversed()],
  ] as const)
    for (const page of [1, 2, 17, pages]) {
      const expected = ids.slice((page - 1) * size, page * size).map((id) => [id, MATCHING.length])
      const query = `sort=${sort}&PageSize=${size}`
      expect(await read(listOf(`${query}&page=${page}`))).toEqual(expected)
      const before = ids[(page - 1) * size - 1]
      const next = before && (await read(listOf(query, after(String(before)))))
      if (next) expect(next.slice(0, size)).toEqual(expected)
    }
  expect(await read(listOf('Title=none'))).toEqual([])
  expect(await read(listOf('page=100'))).toEqual([[0, MATCHING.length]])
})
