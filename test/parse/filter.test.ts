import { expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Filter } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { addFilter, parseFilter } from '../../src/parse/filter.ts'

// What filters mean, and which are refused, is in test/api/filtering.test.ts.

test('D71: all parameters Id[], id[] and Id[any] of one property make one filter with all their values', () => {
  const filters: Filter[] = []
  for (const [name, value] of [
    ['Id[]', '9'],
    ['id[ANY]', '7'],
    ['ID[]', '9'],
    ['Id[]', ''],
  ] as const)
    addFilter(filters, parseFilter(wholeView(company), { name, value, raw: '' }))
  expect(filters.map(({ property, anyOf }) => [property.name, anyOf])).toEqual([['Id', ['7', '9', null]]])
  for (let value = 10; value < 107; value++)
    addFilter(filters, parseFilter(wholeView(company), { name: 'Id[]', value: `${value}`, raw: '' }))
  const more = () => addFilter(filters, parseFilter(wholeView(company), { name: 'Name[]', value: 'x', raw: '' }))
  expect(more).toThrow('A request may have up to 100 values in parameters such as Name[].')
})

test('the order of an empty value and the text null in one filter does not matter', () => {
  const valuesOf = (...values: string[]) => {
    const filters: Filter[] = []
    for (const value of values) addFilter(filters, parseFilter(wholeView(company), { name: 'Name[]', value, raw: '' }))
    return filters[0]?.value
  }
  expect(valuesOf('null', '')).toBe(valuesOf('', 'null') as string)
})

test('D21: a property in an object is named with a dot, and the object itself cannot be filtered by', () => {
  const parse = (name: string) => () => parseFilter(wholeView(absence), { name, value: '1', raw: '' })
  expect(parse('Days')).toThrow('Absences has no parameter "Days".')
  for (const name of ['period', 'Period[]', 'Period[Days]', 'Period[gte]', 'Period[0]'])
    expect(parse(name)).toThrow('Period is an object: filter by one of Period.Prefered, Period.Days, Period.Hours.')
})
