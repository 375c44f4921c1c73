import { expect, test } from 'bun:test'
import { compileList } from '../../src/compile/list.ts'
import { compileChangedRows, Snapshot } from '../../src/memory/statements.ts'
import { defineEntity, identity, text } from '../../src/model/entity.ts'
import { order } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { useDatabase } from '../support/database.ts'

const { sql, poolOf } = useDatabase()
const database = poolOf()

test.each(['Total', 'Range', 'Page', 'First', 'Lines', 'Changed', 'Found', 'Groups'])(
  'an entity can have a name that statements of lists use for a subquery: %s',
  async (called) => {
    const entity = defineEntity(called, { id: identity(), name: text() })
    const { table } = entity
    await sql.unsafe(`create table ${table} (id bigint generated always as identity primary key, name text)`)
    await sql.unsafe(`insert into ${table} (name) select chr(64 + n) from generate_series(1, 12) as n`)
    const [{ relation } = { relation: '' }] = await sql<{ relation: string }[]>`select ${table}::regclass::oid::text as relation`
    const query = parseList(wholeView(entity), 'sort=Name&PageSize=5')
    const first = async (of: typeof query) => (await database.read(compileList(entity, of)))[0]?.slice(0, 2)
    expect(await first({ ...query, page: 2 })).toEqual(['6', 'F'])
    expect(await first({ ...query, seek: { side: 'after', position: ['B', '2'] } })).toEqual(['3', 'C'])
    expect(await database.read(compileChangedRows(entity, relation, new Snapshot('3:3:'), 5))).toHaveLength(1)
  },
)

test.each(['Name', '-Name', 'Name,Id', 'Name,-Id', '-Name,Id', 'Kind,Name', '-Kind,Name', 'Kind,-Name', '-Id'])(
  'a page by cursor, with sort=%s, has all rows after or before the row of the cursor',
  async (sort) => {
    const entity = defineEntity('Sought', { id: identity(), kind: text(), name: text() })
    await sql.unsafe(`create table if not exists ${entity.table} (id bigint primary key, kind text, name text)`)
    await sql.unsafe(`insert into ${entity.table} values (1, 'a', 'x'), (2, 'a', null), (3, null, 'y'), (4, null, null),
      (5, 'b', 'x'), (6, null, 'x'), (7, 'a', null), (8, 'a', 'y'), (9, null, null), (10, 'b', null) on conflict do nothing`)
    const query = parseList(wholeView(entity), `sort=${sort}&PageSize=50`)
    const rows = await database.read(compileList(entity, query))
    const idsOf = (of: typeof rows) => of.map(([id]) => id).filter((id) => id !== null)
    const ids = idsOf(rows)
    expect(ids).toHaveLength(10)
    const positions = rows.map((row) =>
      order(entity, query.sorts).map(({ property }) => row[entity.properties.indexOf(property)] ?? null),
    )
    for (const [at, position] of positions.entries()) {
      const page = async (side: 'after' | 'before') =>
        idsOf(await database.read(compileList(entity, { ...query, seek: { side, position } })))
      expect({ position, after: await page('after') }).toEqual({ position, after: ids.slice(at + 1) })
      expect({ position, before: await page('before') }).toEqual({ position, before: ids.slice(0, at) })
    }
  },
)
