import { beforeAll, expect, test } from 'bun:test'
import { ListReads } from '../../src/execute/listReads.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { defineEntity, identity, text } from '../../src/model/entity.ts'
import { BODIES, ConcurrencyLimit, STREAMS, SUMMARIES } from '../../src/operations/concurrencyLimit.ts'
import { Resource } from '../../src/operations/resource.ts'
import { noteAnswered } from '../../src/operations/streams.ts'
import type { Streamed } from '../../src/respond/reply.ts'
import { useDatabase } from '../support/database.ts'
import { wholeAccess } from '../support/rights.ts'

const { sql, poolOf } = useDatabase()
const statements: string[] = []
const database = poolOf({ onStatement: (statement) => statements.push(statement) })
const thing = defineEntity('Thing', { id: identity(), name: text() })
const resource = new Resource(thing, [thing], {
  database,
  longWrites: null,
  memory: null,
  cursors: new Cursors('secret'),
  listReads: new ListReads({ sharedPool: database, listPool: database, connections: 2, mayCancel: true }),
  streamLimit: new ConcurrencyLimit(STREAMS),
  summaryLimit: new ConcurrencyLimit(SUMMARIES),
  bodyLimit: new ConcurrencyLimit(BODIES),
})
beforeAll(async () => {
  await sql`create table thing (id bigint primary key, name text)`
  await sql`insert into thing select n, 'x' from generate_series(1, 900) as n`
})

/** Streams all things; returns the number of lines, and of statements. */
async function stream(): Promise<{ lines: number; reads: number }> {
  statements.length = 0
  const url = 'http://localhost/Things'
  const request = new Request(url, { headers: { accept: 'application/x-ndjson' } })
  const call = { request, url, query: '', id: '', access: wholeAccess(thing), rights: null, key: 'a', keyName: 'a' }
  const { texts, slot } = (await resource.list(call)).body as Streamed
  let all = ''
  for await (const piece of texts) all += piece
  slot.release()
  return { lines: all.split('\n').length - 1, reads: statements.length }
}

test('a stream reads its rows by one statement, but by several smaller ones while other requests are answered', async () => {
  // Sets the time of the last answer, which earlier tests of this process have set, to long ago, and then to the future.
  noteAnswered(Number.NEGATIVE_INFINITY)
  expect(await stream()).toEqual({ lines: 900, reads: 1 })
  noteAnswered(Number.POSITIVE_INFINITY)
  const { lines, reads } = await stream()
  noteAnswered(Number.NEGATIVE_INFINITY)
  expect([lines, reads > 1]).toEqual([900, true])
})
