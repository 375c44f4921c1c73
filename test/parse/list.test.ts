import { expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { parseSort } from '../../src/parse/list.ts'

test.each([
  [
    'Descending is -Name.',
    ['name:desc', 'name desc', 'Name DESCENDING', 'name.desc', 'desc(name)', 'Name-', '-name:desc', 'Id,name,desc'],
  ],
  ['Ascending is Name, or +Name.', ['name:asc', 'asc(name)', 'Name ', 'Id,Name,asc']],
  ['Did you mean Name?', ['nmae:desc']],
])('InvalidSort: %s', (hint, texts) => {
  for (const text of texts) expect(() => parseSort(company, text, [])).toThrow(hint)
})

test('a direction alone has no hint, nor has a text of thousands of signs', () => {
  for (const text of ['desc', `${':'.repeat(3_000)}desc`])
    expect(() => parseSort(company, text, [])).toThrow(/^Companies cannot be sorted by "[^"]*"\.$/)
})
