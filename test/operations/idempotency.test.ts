import { beforeAll, expect, test } from 'bun:test'
import { ListReads } from '../../src/execute/listReads.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { defineEntity, identity, text } from '../../src/model/entity.ts'
import type { Assignments } from '../../src/model/query.ts'
import { BODIES, ConcurrencyLimit, STREAMS, SUMMARIES } from '../../src/operations/concurrencyLimit.ts'
import { Idempotency } from '../../src/operations/idempotency.ts'
import { Resource } from '../../src/operations/resource.ts'
import { parsePartial } from '../../src/parse/assignments.ts'
import { useDatabase } from '../support/database.ts'
import { wholeAccess } from '../support/rights.ts'

const { sql, poolOf } = useDatabase()
const database = poolOf()
beforeAll(async () => {
  await sql`create table thing (id bigint primary key, name text, secret text, note text)`
  await sql`insert into thing values (1, 'A', 'hidden', 'x'), (2, 'B', 'hidden', 'y')`
})

/** Sends a PATCH with an Idempotency-Key to a server whose entity has these properties; returns the answer. */
async function rename(fields: Record<string, ReturnType<typeof text>>, id: string): Promise<unknown> {
  const thing = defineEntity('Thing', { id: identity(), ...fields })
  const resource = new Resource(thing, [thing], {
    ...{ database, longWrites: null, memory: null, cursors: new Cursors('secret') },
    listReads: new ListReads({ sharedPool: database, listPool: database, connections: 2, mayCancel: true }),
    ...{
      streamLimit: new ConcurrencyLimit(STREAMS),
      summaryLimit: new ConcurrencyLimit(SUMMARIES),
      bodyLimit: new ConcurrencyLimit(BODIES),
    },
  })
  const url = `http://localhost/Things/${id}`
  const headers = { 'content-type': 'application/json', 'idempotency-key': `rename-${id}` }
  const request = new Request(url, { method: 'PATCH', body: '{"Name":"Renamed"}', headers })
  const call = { request, url, query: '', id, access: wholeAccess(thing), rights: null, key: 'a', keyName: 'a' }
  return JSON.parse(String((await resource.update(call, parsePartial)).body))
}

test.each([
  ['1', { secret: text(), name: text() }, { id: 1, secret: 'hidden', name: 'Renamed' }],
  ['2', { name: text(), note: text(), secret: text() }, { id: 2, name: 'Renamed', note: 'y', secret: 'hidden' }],
])(
  'D43: a repeated write of thing %s returns stored values under their names, also if the server now has other properties',
  async (id, fields, expected) => {
    expect(await rename({ name: text(), secret: text() }, id)).toEqual({ id: Number(id), name: 'Renamed', secret: 'hidden' })
    expect(await rename(fields, id)).toEqual(expected)
  },
)

test('hashing 50,000 rows for an Idempotency-Key lets other requests run in between', async () => {
  const thing = defineEntity('Thing', { id: identity(), name: text() })
  const row: Assignments = new Map(thing.properties.slice(1).map((property) => [property, 'x'.repeat(200)]))
  const request = new Request('http://localhost/Things', { method: 'POST', headers: { 'idempotency-key': 'many' } })
  let turns = 0
  const counting = setInterval(() => turns++)
  const rows = Array.from({ length: 50_000 }, () => row)
  expect(await new Idempotency(thing, database).claimRows({ request, keyName: 'a' }, rows)).not.toBeNull()
  clearInterval(counting)
  expect(turns).toBeGreaterThan(0)
})
