import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { Slices } from '../../src/columns/slices.ts'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import { Abandoned } from '../../src/execute/listReads.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { findList } from '../support/columnLists.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { caller, idsOf, listOf } from '../support/randomTable.ts'
import { textStream } from '../support/textStream.ts'

let sql: postgres.Sql
let database: Database
let ended: Database
/** What answers. */
let of: Database
let table: ColumnTable
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
  ended = new Database({ url, poolSize: 1, prepare: true })
  await ended.end()
})
afterAll(() => Promise.all([database.end(), sql.end()]))
beforeEach(() => {
  of = database
  const texts = {
    database: { read: (statement: Parameters<Database['read']>[0]) => of.read(statement) },
    slices: new Slices(),
    readOrder: () => textStream(sql, company.table, 'name'),
  }
  table = new ColumnTable(company, 4, texts, { has: () => true })
  for (const [index, name] of ['b', 'C', 'a', null].entries()) table.put(rowOf(1 + index, name))
})

const rowOf = (id: number, name: string | null): Row => [String(id), name, 't']

/** Returns the total and the ids of a list from the table, or the reason for which the table cannot answer it. */
function listed(query: string) {
  const found = table.lists.find(parseList(wholeView(company), query))
  return typeof found === 'string' ? found : { total: found.total, ids: idsOf(found) }
}

/** Waits until the order of names is read. */
async function ordered() {
  await findList(table, parseList(wholeView(company), 'sort=Name'))
}

test('no list waits while the order of texts is read for the first time; afterwards, lists are found in memory', async () => {
  for (let id = 5; id < 500; id++) table.put(rowOf(id, `name ${id}`))
  expect(table.prepare(parseList(wholeView(company), 'sort=Name'), caller)).toBeNull()
  expect(listed('sort=Name')).toBe('texts')
  await until(async () => {
    await table.prepare(parseList(wholeView(company), 'sort=Name'), caller)
    return listed('sort=Name') !== 'texts'
  })
  expect(listed('sort=Name&pageSize=5')).toEqual({ total: 499, ids: [3, 1, 2, 10, 100] })
})

test('a list waits for the order of four texts, since one statement finds it', async () => {
  await table.prepare(parseList(wholeView(company), 'sort=Name'), caller)
  expect(listed('sort=Name')).toEqual({ total: 4, ids: [3, 1, 2, 4] })
})

test('a list waits for the ranks of texts that were added after the order was read', async () => {
  await ordered()
  for (let id = 5; id < 500; id++) table.put(rowOf(id, `name ${id}`))
  expect(listed('sort=-Name')).toBe('texts')
  await until(async () => {
    await table.prepare(parseList(wholeView(company), 'sort=-Name'), caller)
    return listed('sort=-Name') !== 'texts'
  })
  expect(listed('sort=-Name&pageSize=5')).toEqual({ total: 499, ids: [4, 99, 98, 97, 96] })
})

test('placeNew() finds the ranks of new texts before a list needs them', async () => {
  await ordered()
  table.put(rowOf(5, 'Ca'))
  expect(listed('sort=Name')).toBe('texts')
  table.texts.placeNew()
  await until(() => listed('sort=Name') !== 'texts')
  expect(listed('sort=Name')).toEqual({ total: 5, ids: [3, 1, 2, 5, 4] })
})

test('a page by cursor begins at the right row, also if no row has the text of the cursor any more', async () => {
  const query = parseList(wholeView(company), 'sort=Name')
  for (const [side, ids] of [
    ['after', [1, 2, 4]],
    ['before', [3]],
  ] as const) {
    const found = await findList(table, listOf(query, 1, 5, { side, position: ['ä', '7'] }))
    expect([side, idsOf(found)]).toEqual([side, [...ids]])
  }
})

test('a list stops waiting for the order of texts if PostgreSQL fails; the order is found when PostgreSQL is back', async () => {
  await ordered()
  of = ended
  table.put(rowOf(5, 'bb'))
  for (const query of ['sort=Name', 'Name=<bb', 'Name=<a1']) {
    expect(await table.prepare(parseList(wholeView(company), query), caller)).toBeUndefined()
    expect(listed(query)).toBe('texts')
  }
  of = database
  await table.prepare(parseList(wholeView(company), 'Name=<a1'), caller)
  expect(listed('Name=<a1')).toEqual({ total: 1, ids: [3] })
})

test('a search for the texts that contain an operand takes several turns of the event loop', async () => {
  const large = new ColumnTable(
    company,
    300_000,
    { database, slices: new Slices(), readOrder: () => textStream(sql, company.table, 'name') },
    { has: () => true },
  )
  for (let id = 5; id < 300_000; id++) large.put(rowOf(id, `name ${id}`))
  await large.prepare(parseList(wholeView(company), 'Name[contains]=b'), caller)
  const query = parseList(wholeView(company), 'Name[contains]=AM')
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  while (large.lists.find(query) === 'texts') await large.prepare(query, caller)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
  const found = large.lists.find(query)
  expect(typeof found === 'string' ? found : found.total).toBe(299_995)
})

test('a list whose client leaves while texts are searched is given up, and not sent to PostgreSQL', async () => {
  const leaving = new AbortController()
  const request = new Request('http://localhost', { signal: leaving.signal })
  leaving.abort()
  await expect(table.prepare(parseList(wholeView(company), 'Name[contains]=a'), { key: 'a', request })).rejects.toThrow(Abandoned)
})
