import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { Kernel, KernelFull } from '../../src/columns/kernel.ts'
import { ListSearch } from '../../src/columns/listSearch.ts'
import { Slices } from '../../src/columns/slices.ts'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import { Abandoned } from '../../src/execute/listReads.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { idsOf } from '../support/randomTable.ts'

let database: Database
let ended: Database
/** What answers. */
let of: Database
let kernel: Kernel
let table: ColumnTable
let search: ListSearch
beforeAll(async () => {
  const url = await createDatabase()
  database = new Database({ url, poolSize: 2, prepare: true })
  ended = new Database({ url, poolSize: 1, prepare: true })
  await ended.end()
})
afterAll(() => database.end())
beforeEach(() => {
  of = database
  kernel = new Kernel(16 * 2 ** 20)
  table = new ColumnTable(company, kernel)
  search = new ListSearch(company, table, { database: { read: (statement) => of.read(statement) }, slices: new Slices() })
  for (const [index, name] of ['b', 'C', 'a', null].entries()) table.put(rowOf(1 + index, name))
})

const keyId = { key: 'a', request: new Request('http://localhost') }

const rowOf = (id: number, name: string | null): Row => [String(id), name, 't']

/** The total and the page of a list as the table has them; null: it has none. */
function listed(query: string) {
  const found = search.find(parseList(company, query))
  return found && { total: found.total, ids: idsOf(found) }
}

test('many new texts are not waited for, but soon known', async () => {
  for (let id = 5; id < 1_000; id++) table.put(rowOf(id, `name ${id}`))
  expect(search.prepare(parseList(company, 'sort=Name'), keyId)).toBeNull()
  expect(listed('sort=Name')).toBeNull()
  await until(() => listed('sort=Name') !== null)
  expect(listed('sort=Name')?.ids.slice(0, 3)).toEqual([3, 1, 2])
})

test('without the database a list waits for an error at most, and nothing is known', async () => {
  of = ended
  for (const query of ['sort=Name', 'Name=<b']) {
    expect(await search.prepare(parseList(company, query), keyId)).toBeUndefined()
    expect(listed(query)).toBeNull()
  }
  of = database
  await search.prepare(parseList(company, 'Name=<b'), keyId)
  expect(listed('Name=<b')?.ids).toEqual([3])
})

test('where the memory does not do for an order there is none', async () => {
  await search.prepare(parseList(company, 'Name=<b&sort=Name'), keyId)
  expect(() => {
    for (;;) kernel.reserve(8_192)
  }).toThrow(KernelFull)
  expect(listed('Name=<b')).toBeNull()
  expect(listed('sort=Name')).toBeNull()
  expect(listed('Name=b')?.ids).toEqual([1])
})

test('the texts that contain an operand are looked for in turns of the event loop', async () => {
  for (let id = 5; id < 300_000; id++) table.put(rowOf(id, `name ${id}`))
  await search.prepare(parseList(company, 'Name[contains]=b'), keyId)
  const query = parseList(company, 'Name[contains]=AM')
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  while (search.find(query) === null) await search.prepare(query, keyId)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
  expect(search.find(query)?.total).toBe(299_995)
})

test('a list whose client has left while texts are searched is given up, not handed to the database', async () => {
  const leaving = new AbortController()
  const request = new Request('http://localhost', { signal: leaving.signal })
  leaving.abort()
  await expect(search.prepare(parseList(company, 'Name[contains]=a'), { key: 'a', request })).rejects.toThrow(Abandoned)
})
