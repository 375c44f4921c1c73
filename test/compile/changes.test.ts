import { expect, test } from 'bun:test'
import { compileNewest } from '../../src/compile/changes.ts'
import company from '../../src/entities/company.ts'
import { connect, createDatabase } from '../support/postgres.ts'

test('the newest place is found by the order of numbers, not of their digits', async () => {
  const sql = connect(await createDatabase())
  await sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select n, 'company', n, 'u', 'k', '{}' from generate_series(8, 101) as n`
  const newest = compileNewest([company])
  const [last] = await sql.unsafe(newest.text, newest.values as string[]).values()
  expect(last?.[1]).toBe('101')
  await sql.end()
})
