import { expect, test } from 'bun:test'
import { makeAbsences } from '../../bench/lists/absences.ts'
import { loadTable } from '../../bench/lists/table.ts'
import absence from '../../src/entities/absence.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { run } from '../support/process.ts'

test('bench/lists.ts measures lists by kind, and compares them with a plain search before and after changes', async () => {
  const options = ['--rows', '2000', '--lists', '10', '--before', '20', '--changes', '100', '--memory', '64']
  const program = run([process.execPath, '--no-env-file', 'bench/lists.ts', ...options])
  expect([await program.ended, program.output()]).toEqual([0, expect.any(String)])
  const lines = program.output().split('\n')
  for (const rows of ['independent', 'together'])
    expect(program.output()).toContain(`2,000 absences, ${rows}: made and loaded in`)
  expect(program.output()).toMatch(/^found by: \w+/m)
  for (const kind of ['range', 'employee', 'by-days', 'any-of', 'a changed row'])
    expect([kind, lines.filter((line) => line.startsWith(`${kind} `)).length]).toEqual([kind, 2])
})

test('the plain search and the table in memory find the same rows, also if values are missing', () => {
  const absences = makeAbsences(1_000, false)
  const table = loadTable(absence, absences.count, 64 * 2 ** 20, absences.addAll)
  for (const query of [
    'sort=-Start&page=20',
    'Status=&sort=End',
    'Type=!=Holiday&Period.Days=>2.5&sort=-Period.Days,Start&page=2',
  ]) {
    const list = parseList(wholeView(absence), query)
    const found = table.find(list)
    if (typeof found === 'string') throw new Error(`${query}: ${found}`)
    const ids = Array.from({ length: found.rows.length }, (_, index) => Number(found.rows.print(index, 0)))
    expect([query, { total: found.total, ids }]).toEqual([query, absences.search(list)])
  }
  expect(absences.search(parseList(wholeView(absence), 'EmployeeId=3')).total).toBeGreaterThan(0)
})
