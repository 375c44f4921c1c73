import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ListReads } from '../../src/execute/listReads.ts'
import { LongWrites } from '../../src/execute/longWrites.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { copied, defineEntity, identity, reference, text } from '../../src/model/entity.ts'
import { BODIES, ConcurrencyLimit, STREAMS, SUMMARIES } from '../../src/operations/concurrencyLimit.ts'
import { Resource } from '../../src/operations/resource.ts'
import { parsePartial } from '../../src/parse/assignments.ts'
import { useDatabase } from '../support/database.ts'
import { wholeAccess } from '../support/rights.ts'
import type { Json } from '../support/server.ts'

// Entity whose rows copy a name from rows of the same table, and clients may write the name.
const unit = defineEntity('Unit', {
  id: identity(),
  name: text(),
  parentId: reference('Unit'),
  parent: copied('parentId', 'name'),
})

const { url, sql, poolOf } = useDatabase()
const database = poolOf()
const longWrites = new LongWrites({ url, poolSize: 2, prepare: true })
const units = new Resource(unit, [unit], {
  database,
  longWrites,
  listReads: new ListReads({ sharedPool: database, listPool: database, connections: 2, mayCancel: true }),
  cursors: new Cursors('secret'),
  memory: null,
  streamLimit: new ConcurrencyLimit(STREAMS),
  summaryLimit: new ConcurrencyLimit(SUMMARIES),
  bodyLimit: new ConcurrencyLimit(BODIES),
})
beforeAll(async () => {
  await sql.unsafe(`
    create table unit (
      id bigint generated always as identity primary key,
      name text collate "und-x-icu",
      name_key text generated always as (coalesce('=' || name, '')) stored,
      parent_id bigint,
      parent text collate "und-x-icu" generated always as (substr(nullif(parent_key, ''), 2)) stored,
      parent_key text,
      unique (id, name_key),
      foreign key (parent_id, parent_key) references unit (id, name_key) on update cascade
    )`)
})
afterAll(() => longWrites.end())

async function ask(method: 'create' | 'patch' | 'get', id: string, body?: object) {
  const headers = { 'content-type': 'application/json' }
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body), headers }
  const url = `http://localhost/Units/${id}`
  const call = {
    request: new Request(url, init),
    url,
    query: '',
    id,
    access: wholeAccess(unit),
    rights: null,
    key: 'a',
    keyName: 'a',
  }
  const reply = await (method === 'patch' ? units.update(call, parsePartial) : units[method](call))
  return { tag: reply.headers.ETag as string, row: JSON.parse(String(reply.body)) as Json }
}

test('D41: concurrent renames of rows, each the parent of the next, return each row with the ETag of its state', async () => {
  const ids: string[] = []
  for (let depth = 0; depth < 8; depth++) {
    const { row } = await ask('create', '', { name: `unit ${depth}`, parentId: ids.at(-1) ? Number(ids.at(-1)) : null })
    ids.push(String(row.id))
  }
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(ids.map((id) => ask('patch', id, { name: `${id} in ${round}` })))
    const now = await Promise.all(ids.map((id) => ask('get', id)))
    expect(now.slice(1).map(({ row }) => row.parent)).toEqual(ids.slice(0, -1).map((id) => `${id} in ${round}`))
    // A row that its parent's rename has changed since has another tag.
    for (const [index, { tag, row }] of answers.entries()) if (tag === now[index]?.tag) expect(row).toEqual(now[index].row)
  }
})
