import { expect, test } from 'bun:test'
import { compileList } from '../../src/compile/list.ts'
import { compileChangedRows, Snapshot } from '../../src/memory/statements.ts'
import { defineEntity, identity, text } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { useDatabase } from '../support/database.ts'

const { sql, poolOf } = useDatabase()
const database = poolOf()

test.each(['Total', 'Place', 'Page', 'First', 'Lines', 'Changed', 'Found', 'Groups'])(
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
