import { expect, test } from 'bun:test'
import { CHANGE_COLUMNS, compileChanges, compileHistory, compileNewest } from '../../src/compile/changes.ts'
import company from '../../src/entities/company.ts'
import { compileWaiting } from '../../src/hooks/store.ts'
import { connect, createDatabase } from '../support/postgres.ts'

test('the first page begins after the deleted events, whether they are still there or not', async () => {
  const sql = connect(await createDatabase())
  await sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select n, 'company', 1, 'u', 'k', '{}' from generate_series(1, 9) as n`
  await sql`update change_feed set deleted_position = 6, deleted_number = 1000`
  for (const { text, values } of [compileChanges([company], null, 2), compileHistory(company, '1', null, 2)]) {
    const rows = await sql.unsafe(text, values as string[]).values()
    expect(rows.map((row) => row[CHANGE_COLUMNS.indexOf('position')])).toEqual(['7', '8'])
  }
})

test('positions are ordered as numbers, not by their digits', async () => {
  const sql = connect(await createDatabase())
  await sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select n, 'company', n, 'u', 'k', '{}' from generate_series(8, 101) as n`
  const newest = compileNewest([company])
  const [last] = await sql.unsafe(newest.text, newest.values as string[]).values()
  expect(last?.[1]).toBe('101')
  const first = compileWaiting(['*'], [company], { position: '8', number: '999' }, 2)
  const rows = await sql.unsafe(first?.text ?? '', first?.values as string[]).values()
  expect(rows.map(([position]) => position)).toEqual(['9', '10'])
})
