import { expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { defineEntity, identity, text } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseSort } from '../../src/parse/list.ts'

test.each([
  [
    'Descending is -Name.',
    ['name:desc', 'name desc', 'Name DESCENDING', 'name.desc', 'desc(name)', 'Name-', '-name:desc', 'Id,name,desc'],
  ],
  ['Ascending is Name, or +Name.', ['name:asc', 'asc(name)', 'Name ', 'Id,Name,asc']],
  ['Did you mean Name?', ['nmae:desc']],
])('a sort in the notation of another API is refused, and the hint is: %s', (hint, texts) => {
  for (const text of texts) expect(() => parseSort(wholeView(company), text, [])).toThrow(hint)
})

test('the error of a sort by an unknown name, even one with 3,000 colons, lists all names if none is similar', () => {
  for (const text of ['desc', `${':'.repeat(3_000)}desc`])
    expect(() => parseSort(wholeView(company), text, [])).toThrow(
      /^Companies cannot be sorted by "[^"]*"\. There are Id, Name and Enabled\.$/,
    )
})

test.each([
  ['Days', 'Period.Days'],
  ['-date', 'Start'],
  ['EmployeeName:desc', 'Employee'],
])('a sort by %s is refused with the property that was probably meant: %s', (text, name) => {
  expect(() => parseSort(wholeView(absence), text, [])).toThrow(`Did you mean ${name}?`)
})

test('the error of a sort by an unknown name lists a limited number of names', () => {
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field${index}`, text()]))
  const wide = defineEntity('Wide', { id: identity(), ...fields })
  expect(() => parseSort(wholeView(wide), 'nonsense', [])).toThrow(/ There are Id, Field0, .*, Field28 and 171 more\.$/)
})
