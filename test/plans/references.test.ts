import { beforeAll, expect, test } from 'bun:test'
import { compileDeleteBlockers, compileRemove } from '../../src/compile/remove.ts'
import absence from '../../src/entities/absence.ts'
import employee from '../../src/entities/employee.ts'
import { referringColumns } from '../../src/model/copies.ts'
import { useServer } from '../support/start.ts'

// Most absences are of one employee, so PostgreSQL expects to find those of any other one soon, wherever it begins to read.

const server = useServer()
const referring = referringColumns(employee, [employee, absence])
beforeAll(async () => {
  for (const FirstName of ['Most', 'Few', 'None']) await server.post('/Employees', { FirstName })
  await server.sql`
    insert into absence (employee_id, employee_key)
    select id, display_name_key from generate_series(1, 20000) as n join employee on id = case when n > 19990 then 2 else 1 end`
  await server.sql`analyze absence`
})

const planOf = async (text: string, values: string[]) => {
  const lines = await server.sql.unsafe(`explain ${text}`, values)
  return lines.map((line) => line['QUERY PLAN']).join('\n')
}

test.each([1, 1_001])(
  'the statement that counts the rows that refer to an employee uses the index, up to %d rows',
  async (most) => {
    const { text, values } = compileDeleteBlockers(employee, '2', referring, most)
    const plan = await planOf(text, values as string[])
    expect(plan).toContain('absence_employee_id_sorted')
    expect(plan).not.toContain('Seq Scan on absence')
  },
)

test('a deletion uses the index to find the rows that refer to the employee', async () => {
  const plan = { id: '2', values: new Map(), versions: null, claim: null, keyId: 'key', guard: null }
  const { text } = compileRemove(employee, plan, referring)
  const [, looked = ''] = /found_now\('([^']*)'/.exec(text) ?? []
  const found = await planOf(looked.replace('$1', "'{2,3}'::bigint[]"), [])
  expect(found).toContain('absence_employee_id_sorted')
  expect(found).not.toContain('Seq Scan on absence')
})
