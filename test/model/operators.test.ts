import { expect, test } from 'bun:test'
import { errorTable } from '../../src/errors.ts'
import { operators } from '../../src/model/operators.ts'

test('the table of operators has exactly those of spec 4.2, Filtering 5, and of D71, D72 and D91', () => {
  expect(operators.map(({ sign }) => sign)).toEqual(['=', '!=', '<', '<=', '>', '>=', '[]', '[begins]', '[contains]', '[under]'])
})

test('the error page of InvalidFilter names all operators', () => {
  for (const { sign } of operators) expect(errorTable.InvalidFilter.explanation).toContain(` ${sign}`)
})
